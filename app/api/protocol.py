"""HTTP as uvicorn speaks it, with an end to its patience: slow or endless heads, and answers that nobody takes."""

import asyncio
import fcntl
import secrets
import struct
import termios
from typing import Any, Final

from httptools import HttpParserError
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from app.api.answers import problem
from app.api.errors import HeadTooLarge
from app.api.limits import ConnectionLimits
from app.api.problems import HEAD_TOO_LARGE
from app.api.waiting import ABANDONED, WHOLE

LONGEST_PIPELINE: Final = 100  # requests that wait for the answer to an earlier one; each takes memory


class PatientProtocol(HttpToolsProtocol):
    """One connection. uvicorn itself has limits on neither the time nor the size of a head."""

    def __init__(self, *, limits: ConnectionLimits, **given: Any) -> None:  # noqa: ANN401 - uvicorn's own
        super().__init__(**given)
        self._limits = limits
        self._head_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._not_taken = 0  # bytes of the answer, at the last look
        self._arrived = 0  # bytes of the newest data
        self._began_within = 0  # bytes of the data in which the newest request begins
        self._apart = 0  # bytes since then, or since the last piece of a body: head, trailers, whatever is no body
        self._is_head_open = False  # a head has begun and not ended
        self._is_too_large = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
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
        super().on_headers_complete()

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

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no sound request, and close."""
        if not self._is_idle():
            self.transport.close()  # a second answer would be taken for a part of the first
        elif self._is_too_large:
            self.transport.write(self._refusal())
            self.transport.close()
        else:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        """The client is slow to take the answer: the application waits, and we look whether it takes any of it."""
        super().pause_writing()
        self._look_at_reader()

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        self._reader_moves()
        super().resume_writing()

    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        return getattr(self.cycle, "response_complete", True)  # before the first request there is none

    def _await_head(self) -> None:
        """Whoever has nothing under way must bring a whole head soon, whatever else it may be sending."""
        self._head_timer = self.loop.call_later(self._limits.head_seconds, self.timeout_keep_alive_handler)

    def _head_arrived(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refusal(self) -> bytes:
        request_id = secrets.token_hex(6)
        detail = str(HeadTooLarge(self._limits.max_head_bytes))
        answer = problem(HEAD_TOO_LARGE, detail, request_id, "", [(b"x-request-id", request_id.encode())])
        headers = [*self.server_state.default_headers, *answer.raw_headers, (b"connection", b"close")]
        lines = [b"%b: %b\r\n" % header for header in headers]
        return b"".join([STATUS_LINE[answer.status_code], *lines, b"\r\n", bytes(answer.body)])

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
