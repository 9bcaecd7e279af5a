"""Answers as bytes: what Starlette does for every answer costs more than a prediction."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.errors import ClientGone
from app.api.problems import Kind, Problem

JSON = b"application/json"
PROBLEM_JSON = b"application/problem+json"
NDJSON = b"application/x-ndjson"
BINARY = b"application/octet-stream"

Headers = Iterable[tuple[bytes, bytes]]

AT_ONCE: Final = "at_once"  # where the scope has what answers with one write, if the server can do that

encode = msgspec.json.Encoder().encode
encode_lines = msgspec.json.Encoder().encode_lines


class Answer(Response):
    """A whole body of bytes, with no headers but those that are needed."""

    def __init__(self, body: bytes, status: int = 200, content_type: bytes = JSON, headers: Headers = ()) -> None:
        self.status_code = status
        self.body = body
        self.raw_headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]
        self.background = None


class NoContent(Answer):
    """Done, and there is nothing to say about it."""

    def __init__(self, status: int = 204, headers: Headers = ()) -> None:
        super().__init__(b"", status)
        self.raw_headers = list(headers)


class Pieces(Response):
    """A body that is sent piece by piece; the next piece is made when the client has room for it, if it is still there.

    The first piece was made before: what can go wrong goes wrong before the answer has begun.
    """

    def __init__(
        self, first: bytes, others: AsyncGenerator[bytes, None], content_type: bytes, headers: Headers = ()
    ) -> None:
        self.status_code = 200
        self.first, self.others = first, others
        self.raw_headers = [(b"content-type", content_type), *headers]
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, then every piece as it comes; ClientGone as soon as nobody takes them."""
        leaving = asyncio.create_task(_left(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await _send(self.first, send, leaving)
                async for piece in self.others:
                    await _send(piece, send, leaving)
            await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            await self.others.aclose()


async def _left(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(piece: bytes, send: Send, leaving: asyncio.Task[None]) -> None:
    await asyncio.sleep(0)  # the server takes pieces for nobody without a word: only whoever waits hears of it
    if leaving.done():
        raise ClientGone
    await send({"type": "http.response.body", "body": piece, "more_body": True})


def problem(kind: Kind, detail: str, request_id: str, instance: str, headers: Headers = ()) -> Answer:
    """An error as an answer."""
    told = Problem(
        type=kind.type, title=kind.title, status=kind.status, detail=detail, request_id=request_id, instance=instance
    )
    if kind.retry_after is not None:
        headers = (*headers, (b"retry-after", b"%d" % kind.retry_after))
    return Answer(encode(told), kind.status, PROBLEM_JSON, headers)
