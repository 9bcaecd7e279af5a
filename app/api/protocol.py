"""HTTP as uvicorn speaks it, with an end to its patience: slow or endless heads, and answers that nobody takes.

Who is refused waits for it: the answer is held back by a timer, without a task, and the body is not kept. What is
answered as a whole goes out with one write: uvicorn makes two, and each wakes the client.
"""

import asyncio
import fcntl
import secrets
import struct
import termios
from typing import Any, Final

from httptools import HttpParserError
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from app.api.answers import AT_ONCE, Answer, Headers, problem
from app.api.boundary import NOSNIFF, REQUEST_ID
from app.api.delaying import HOLD_BACK, Delay
from app.api.errors import HeadTooLarge, InvalidHTTP
from app.api.limits import SPARE_CONNECTIONS, ConnectionLimits
from app.api.problems import detail_of, kind_of
from app.api.shedding import EXTRA
from app.api.waiting import ABANDONED, WHOLE

EXTRA_SECONDS: Final = 1.0  # for a head, beyond the number of connections that a worker should have
LONGEST_PIPELINE: Final = 100  # requests that wait for the answer to an earlier one; each takes memory


class PatientProtocol(HttpToolsProtocol):
    """One connection. uvicorn itself has limits on neither the time nor the size of a head."""

    def __init__(self, *, limits: ConnectionLimits, delay: Delay, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(**given)
        self._limits = limits
        self._delay = delay  # shared with all connections of the worker
        self._running: RequestResponseCycle | None = None  # what the application answers now
        self._held: tuple[RequestResponseCycle, Answer, asyncio.TimerHandle] | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._not_taken = 0  # bytes of the answer, at the last look
        self._arrived = 0  # bytes of the newest data
        self._began_within = 0  # bytes of the data in which the newest request begins
        self._apart = 0  # bytes since then, or since the last piece of a body: head, trailers, whatever is no body
        self._is_head_open = False  # a head has begun and not ended
        self._is_too_large = False
        self._is_extra = False  # there are too many connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first head, if there is room for one more."""
        super().connection_made(transport)
        self._is_extra = len(self.connections) > self._limits.max_connections
        if len(self.connections) > self._limits.max_connections + SPARE_CONNECTIONS:
            transport.abort()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._let_go()
        self._head_arrived()
        self._reader_moves()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read, and see that whatever goes on does so in limits."""
        self._arrived = len(data)
        self._apart += len(data)
        super().data_received(data)
        if self._apart > self._limits.max_head_bytes and not self.transport.is_closing():
            self._is_too_large = True
            self.send_400_response("")
        if self._head_timer is None and self._is_idle():
            self._await_head()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._is_head_open = True
        self._apart = 0
        self._began_within = self._arrived

    def on_headers_complete(self) -> None:
        """A head is there. It is only measured if so much has come that it may be too large."""
        limit = self._limits.max_head_bytes
        if self._apart + self._began_within > limit and self._head_bytes() > limit:
            self._is_too_large = True
            raise HeadTooLarge(limit)  # the parser stops, and uvicorn calls send_400_response
        if len(self.pipeline) >= LONGEST_PIPELINE:
            raise HttpParserError("too many requests wait for the answers to earlier ones")
        self._is_head_open = False
        self._head_arrived()
        self.scope[HOLD_BACK] = self.hold_back  # type: ignore[typeddict-unknown-key]  # ours
        self.scope[AT_ONCE] = self.answer_at_once  # type: ignore[typeddict-unknown-key]  # ours
        super().on_headers_complete()
        if self._is_extra:
            self.scope[EXTRA] = True  # type: ignore[typeddict-unknown-key]  # ours
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """A piece of a body is there."""
        self._apart = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """All of a request is there: whoever reads it need not wait."""
        self.scope[WHOLE] = True  # type: ignore[typeddict-unknown-key]  # ours
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """An answer was given. If the request was given up, so is the connection."""
        super().on_response_complete()
        if ABANDONED in self.cycle.scope:
            self.transport.close()
        elif self._is_head_open and self._head_timer is None:
            self._await_head()

    def answer_at_once(self, answer: Answer, more: Headers) -> bool:
        """Answer the request under way; False if the client has yet to take what was sent before."""
        cycle = self._running
        assert cycle is not None
        if self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        if not cycle.disconnected:
            has_body = cycle.scope["method"] != "HEAD"
            self.transport.write(self._whole(answer, more, closes=not cycle.keep_alive, has_body=has_body))
            cycle.message_event.set()
            if not cycle.keep_alive:
                self.transport.close()
            cycle.on_response()
        return True

    def hold_back(self, answer: Answer) -> None:
        """Answer the request under way so, but not yet: it is refused, and who asks again at once has to wait."""
        cycle = self._running
        assert cycle is not None
        cycle.response_started = cycle.response_complete = True  # so uvicorn keeps nothing that comes of its body
        cycle.body = bytearray()
        if cycle.disconnected:
            return
        if WHOLE not in cycle.scope:
            self.flow.pause_reading()
        self._held = (cycle, answer, self.loop.call_later(self._delay.seconds(), self._tell))
        self._delay.waiting += 1

    def shutdown(self) -> None:
        """The service stops: who is refused hears it now."""
        if self._held is None:
            super().shutdown()
        else:
            self._held[0].keep_alive = False
            self._tell()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no sound request, and close."""
        del msg  # uvicorn's own words
        if self._is_idle():  # else a second answer would be taken for a part of the first
            error = HeadTooLarge(self._limits.max_head_bytes) if self._is_too_large else InvalidHTTP()
            self.transport.write(self._refusal(error))
        self.transport.close()

    def pause_writing(self) -> None:
        """The client is slow to take the answer: the application waits, and we look whether it takes any of it."""
        super().pause_writing()
        self._look_at_reader()

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        self._reader_moves()
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Begin with a request, or let it wait for the refusal of the one before."""
        if self._held is not None:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, app))
            return
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _let_go(self) -> tuple[RequestResponseCycle, Answer] | None:
        """The refusal that was held back, if there is one; from now on it is not."""
        if self._held is None:
            return None
        cycle, answer, timer = self._held
        self._held = None
        self._delay.waiting -= 1
        timer.cancel()
        return cycle, answer

    def _tell(self) -> None:
        held = self._let_go()
        assert held is not None
        cycle, answer = held
        if self.flow.write_paused:  # it asks on and takes no answers
            self.transport.abort()
            return
        self.transport.write(self._whole(answer, closes=not cycle.keep_alive, has_body=cycle.scope["method"] != "HEAD"))
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        if self._held is not None:
            return False
        return getattr(self.cycle, "response_complete", True)  # before the first request there is none

    def _await_head(self) -> None:
        """Whoever has nothing under way must bring a whole head soon, whatever else it may be sending."""
        seconds = min(self._limits.head_seconds, EXTRA_SECONDS) if self._is_extra else self._limits.head_seconds
        self._head_timer = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refusal(self, error: Exception) -> bytes:
        """What is told where there is no request that could be answered."""
        request_id = secrets.token_hex(6)
        headers = [(REQUEST_ID, request_id.encode()), NOSNIFF]
        answer = problem(kind_of(error), detail_of(error), request_id, "", headers)
        return self._whole(answer, closes=True)

    def _whole(self, answer: Answer, more: Headers = (), *, closes: bool, has_body: bool = True) -> bytes:
        """An answer as it is sent."""
        headers = [*self.server_state.default_headers, *answer.raw_headers, *more]
        lines = [b"%b: %b\r\n" % header for header in headers] + ([b"connection: close\r\n"] if closes else [])
        return b"".join([STATUS_LINE[answer.status_code], *lines, b"\r\n", bytes(answer.body) if has_body else b""])

    def _look_at_reader(self) -> None:
        self._not_taken = self._untaken_bytes()
        self._reader_timer = self.loop.call_later(self._limits.reader_seconds, self._look_again)

    def _look_again(self) -> None:
        if self._untaken_bytes() < self._not_taken:
            self._look_at_reader()
        else:
            self.transport.abort()  # it would hold its place among the requests under way for ever

    def _reader_moves(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _untaken_bytes(self) -> int:
        """What waits here and in the kernel, which tells of a slow reader only when it has much room again."""
        number = self.transport.get_extra_info("socket").fileno()
        waiting: int = struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, b"\0" * 4))[0]
        return waiting + self.transport.get_write_buffer_size()
