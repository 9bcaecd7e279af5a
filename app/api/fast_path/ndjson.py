"""NDJSON: split a body into lines as it arrives, and answer line by line."""

from collections.abc import AsyncIterator, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.context import CONTEXT
from app.api.errors import ClientGone, TooSlow
from app.api.fast_path.http import next_piece
from app.api.responses import NDJSON


class TooLong:
    """Stands for a line beyond the limit, which was not kept."""


Line = bytes | TooLong
Answers = Callable[[Sequence[Line]], AsyncIterator[bytes]]


class LineSplitter:
    """Splits chunks into lines. It skips blank lines, and keeps nothing of a line beyond the limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun = bytearray()
        self._is_too_long = False

    def split(self, chunk: bytes) -> list[Line]:
        """Return the lines that end in this chunk; TooLong for one beyond the limit."""
        *ended, begun = chunk.split(b"\n")
        lines: list[Line] = []
        for piece in ended:
            lines += self._ended(piece)
        self._begin(begun)
        return lines

    def rest(self) -> list[Line]:
        """Return the last line, if the body does not end with a newline."""
        return self._ended(b"")

    def _ended(self, piece: bytes) -> list[Line]:
        if self._begun or self._is_too_long:
            self._begin(piece)
            piece, too_long = bytes(self._begun), self._is_too_long
            self._begun, self._is_too_long = bytearray(), False
            if too_long:
                return [TooLong()]
        if len(piece) > self._limit:
            return [TooLong()]
        return [piece] if piece and not piece.isspace() else []

    def _begin(self, piece: bytes) -> None:
        if len(self._begun) + len(piece) > self._limit:
            self._is_too_long = True
        if self._is_too_long:
            self._begun.clear()
        else:
            self._begun += piece


class LineStream(Response):
    """An answer that is sent while the body still arrives.

    While the client does not read the answers, nothing more of its body is read: that is the back-pressure. If the
    client sends nothing for too long, the answer ends with the last whole line.

    `check_first` may refuse the request by its first line: then the answer begins only when that has arrived.
    """

    def __init__(self, answers: Answers, limit: int, check_first: Callable[[Line], None] | None = None) -> None:
        self.status_code = 200
        self.raw_headers = [(b"content-type", NDJSON)]
        self.background = None
        self._answers = answers
        self._check_first = check_first
        self._splitter = LineSplitter(limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer block by block, in order."""
        blocks = self._blocks(Request(scope, receive))
        first: list[Line] = []
        if self._check_first is not None and (first := await anext(blocks, [])):
            self._check_first(first[0])
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._answer(first, scope, send)
        async for lines in blocks:
            await self._answer(lines, scope, send)
        await send({"type": "http.response.body", "body": b""})

    async def _answer(self, lines: Sequence[Line], scope: Scope, send: Send) -> None:
        async for piece in self._answers(lines):
            if scope[CONTEXT].is_client_gone:
                raise ClientGone
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _blocks(self, request: Request) -> AsyncIterator[list[Line]]:
        more = True
        while more:
            try:
                piece, more = await next_piece(request)
            except TooSlow:  # too late for a problem
                request.scope[CONTEXT].is_abandoned = True
                return
            lines = self._splitter.split(piece)
            if not more:
                lines += self._splitter.rest()
            if lines:
                yield lines
