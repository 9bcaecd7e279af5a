"""uvicorn's HTTP protocol with limits: on slow or large request heads, and on answers that the client does not read.

It can hold a refusal back, by a timer and without a task, and send a whole answer with one write.
"""

import asyncio
import fcntl
import re
import secrets
import struct
import termios
from typing import Any, Final

from httptools import HttpParserError
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from app.api.context import CONTEXT, Headers, RequestContext
from app.api.errors import HeadTooLarge, InvalidHTTP
from app.api.fast_path.http import Answer
from app.api.middleware.request import NOSNIFF, REQUEST_ID
from app.api.problems import detail_of, kind_of
from app.api.responses import problem
from app.server.connection_limits import SPARE_CONNECTIONS, ConnectionLimits, RefusalDelay

EXTRA_SECONDS: Final = 1.0  # for a head, on a connection beyond the limit
# A name, an address or nothing, and a port. No comma: a proxy may have joined two headers.
is_host = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+;=%-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{0,5})?").fullmatch
MAX_PIPELINE: Final = 100  # requests that wait for the answer to an earlier one; each takes memory


class LimitedProtocol(HttpToolsProtocol):
    """One connection. uvicorn itself limits neither the time nor the size of a head."""

    def __init__(self, *, limits: ConnectionLimits, delay: RefusalDelay, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(**given)
        self._limits = limits
        self._delay = delay  # shared with all connections of the worker
        self._running: RequestResponseCycle | None = None  # the request that the application answers now
        self._held: tuple[RequestResponseCycle, Answer, asyncio.TimerHandle] | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._unread = 0  # bytes of the answer that the client had not read at the last check
        self._arrived = 0  # bytes of the newest data
        self._began_within = 0  # bytes of the data in which the newest request begins
        self._apart = 0  # bytes since then, or since the last piece of a body: head and trailers
        self._is_head_open = False  # a head has begun and not ended
        self._refused: HeadTooLarge | InvalidHTTP | None = None  # why the newest head is refused
        self._host = b""  # of the last good head: most clients send the same again
        self._is_extra = False  # there are too many connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Wait for the first head; abort a connection far beyond the limit."""
        super().connection_made(transport)
        self._is_extra = len(self.connections) > self._limits.max_connections
        if len(self.connections) > self._limits.max_connections + SPARE_CONNECTIONS:
            transport.abort()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel all timers, and tell the request that is being answered."""
        if self._running is not None:
            self._running.scope[CONTEXT].is_client_gone = True  # type: ignore[typeddict-item]  # ours
        self._release()
        self._head_arrived()
        self._stop_checking()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, and check the limits."""
        self._arrived = len(data)
        self._apart += len(data)
        super().data_received(data)
        if self._apart > self._limits.max_head_bytes and not self.transport.is_closing():
            self._refused = HeadTooLarge(self._limits.max_head_bytes)
            self.send_400_response("")
        if self._head_timer is None and self._is_idle():
            self._await_head()

    def on_message_begin(self) -> None:
        """Note where a head begins."""
        super().on_message_begin()
        self._is_head_open = True
        self._apart = 0
        self._began_within = self._arrived

    def on_headers_complete(self) -> None:
        """Check a head, and give the request its context. Only a head that may be too large is measured."""
        limit = self._limits.max_head_bytes
        if self._apart + self._began_within > limit and self._head_bytes() > limit:
            self._refused = HeadTooLarge(limit)
            raise self._refused  # the parser stops, and uvicorn calls send_400_response
        hosts, host = 0, b""
        for name, value in self.headers:  # a loop, which a comprehension's call would double
            if name == b"host":
                hosts += 1
                host = value
        if hosts != 1 or host != self._host:
            self._check_hosts()
        if len(self.pipeline) >= MAX_PIPELINE:
            raise HttpParserError("too many requests wait for the answers to earlier ones")
        self._is_head_open = False
        self._head_arrived()
        self.scope[CONTEXT] = RequestContext(  # type: ignore[typeddict-unknown-key]  # ours
            write=self.answer_at_once, hold_back=self.hold_back, exceeds_connections=self._is_extra
        )
        super().on_headers_complete()
        if self._is_extra:
            self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Restart the count of bytes outside bodies."""
        self._apart = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the body is complete: a reader need not wait."""
        self.scope[CONTEXT].is_body_complete = True  # type: ignore[typeddict-item]  # ours
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Close the connection if the rest of a body is not read; else go on."""
        super().on_response_complete()
        if self.cycle.scope[CONTEXT].is_abandoned:  # type: ignore[typeddict-item]  # ours
            self.transport.close()
        elif self._is_head_open and self._head_timer is None:
            self._await_head()

    def answer_at_once(self, answer: Answer, more: Headers) -> bool:
        """Send an answer with one write; False if the client has yet to read what was sent before.

        uvicorn writes the head and the body apart, and each write wakes the client. Measured with wrk on a quiet
        machine (medians of 10 alternating runs): 16,394 requests/s with one write, 15,236 with two.
        """
        cycle = self._running
        assert cycle is not None
        if self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        if not cycle.disconnected:
            has_body = cycle.scope["method"] != "HEAD"
            self.transport.write(self._serialise(answer, more, closes=not cycle.keep_alive, has_body=has_body))
            cycle.message_event.set()
            if not cycle.keep_alive:
                self.transport.close()
            cycle.on_response()
        return True

    def hold_back(self, answer: Answer) -> None:
        """Refuse the current request after a delay: a client that retries at once has to wait."""
        cycle = self._running
        assert cycle is not None
        cycle.response_started = cycle.response_complete = True  # so uvicorn keeps nothing of the rest of the body
        cycle.body = bytearray()
        if cycle.disconnected:
            return
        if not cycle.scope[CONTEXT].is_body_complete:  # type: ignore[typeddict-item]  # ours
            self.flow.pause_reading()
        self._held = (cycle, answer, self.loop.call_later(self._delay.seconds(), self._send_held))
        self._delay.waiting += 1

    def shutdown(self) -> None:
        """Stop: end an endless answer, and send a refusal that is held back now."""
        if self._running is not None and (stop := self._running.scope[CONTEXT].stop) is not None:  # type: ignore[typeddict-item]  # ours
            stop.set()
        if self._held is None:
            super().shutdown()
        else:
            self._held[0].keep_alive = False
            self._send_held()

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request, and close."""
        del msg  # uvicorn's own text
        if self._is_idle():  # else a second answer would be taken for a part of the first
            self.transport.write(self._refusal(self._refused or InvalidHTTP()))
        self.transport.close()

    def pause_writing(self) -> None:
        """The client is slow to read: the application waits, and a timer checks that it reads at all."""
        super().pause_writing()
        self._check_reader()

    def resume_writing(self) -> None:
        """The client has read most of it."""
        self._stop_checking()
        super().resume_writing()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Start a request, or let it wait for the refusal of the one before."""
        if self._held is not None:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, app))
            return
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _release(self) -> tuple[RequestResponseCycle, Answer] | None:
        """Return the refusal that was held back, if there is one, and cancel its timer."""
        if self._held is None:
            return None
        cycle, answer, timer = self._held
        self._held = None
        self._delay.waiting -= 1
        timer.cancel()
        return cycle, answer

    def _send_held(self) -> None:
        held = self._release()
        assert held is not None
        cycle, answer = held
        if self.flow.write_paused:  # it sends requests and does not read answers
            self.transport.abort()
            return
        self.transport.write(
            self._serialise(answer, closes=not cycle.keep_alive, has_body=cycle.scope["method"] != "HEAD")
        )
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _is_idle(self) -> bool:
        """Return whether no request is being answered."""
        if self._held is not None:
            return False
        return getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _await_head(self) -> None:
        """Close the connection if no complete head arrives in time."""
        seconds = min(self._limits.head_seconds, EXTRA_SECONDS) if self._is_extra else self._limits.head_seconds
        self._head_timer = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _check_hosts(self) -> None:
        """Refuse a head that a proxy may take for another host's (RFC 9112, 3.2); HTTP/1.0 needs no Host."""
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) == 1 and is_host(hosts[0]):
            self._host = hosts[0]
            return
        if not hosts and self.parser.get_http_version() != "1.1":
            return
        found = "no" if not hosts else "more than one" if len(hosts) > 1 else "an invalid"
        self._refused = InvalidHTTP(f"the request has {found} Host header")
        raise self._refused

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refusal(self, error: Exception) -> bytes:
        """Return the answer to something that is not a valid request."""
        request_id = secrets.token_hex(6)
        headers = [(REQUEST_ID, request_id.encode()), NOSNIFF]
        answer = problem(kind_of(error), detail_of(error), request_id, "", headers)
        return self._serialise(answer, closes=True)

    def _serialise(self, answer: Answer, more: Headers = (), *, closes: bool, has_body: bool = True) -> bytes:
        """Return the bytes of an answer."""
        headers = [*self.server_state.default_headers, *answer.raw_headers, *more]
        lines = [b"%b: %b\r\n" % header for header in headers] + ([b"connection: close\r\n"] if closes else [])
        return b"".join([STATUS_LINE[answer.status_code], *lines, b"\r\n", bytes(answer.body) if has_body else b""])

    def _check_reader(self) -> None:
        self._unread = self._unread_bytes()
        self._reader_timer = self.loop.call_later(self._limits.reader_seconds, self._check_again)

    def _check_again(self) -> None:
        if self._unread_bytes() < self._unread:
            self._check_reader()
        else:
            self.transport.abort()  # it would count as a request in progress for ever

    def _stop_checking(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def _unread_bytes(self) -> int:
        """Return the bytes that wait here and in the kernel, which reports a slow reader late."""
        number = self.transport.get_extra_info("socket").fileno()
        waiting: int = struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, b"\0" * 4))[0]
        return waiting + self.transport.get_write_buffer_size()
