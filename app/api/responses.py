"""Answers other than models: no content, problems, bodies that are sent in pieces, and event streams."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.context import CONTEXT, Headers, RequestContext
from app.api.errors import ClientGone
from app.api.fast_path.http import Answer, encode
from app.api.middleware.event_streams import EventStreams
from app.api.problems import INTERNAL_ERROR, Kind, detail_of, kind_of

PROBLEM_JSON = b"application/problem+json"
NDJSON = b"application/x-ndjson"
BINARY = b"application/octet-stream"
EVENTS = b"text/event-stream; charset=utf-8"
NO_STORE = "no-store"  # the Cache-Control of answers that are true for a moment, or secret
log = logging.getLogger(__name__)


class ProblemMessage(msgspec.Struct, frozen=True, kw_only=True):
    """An error as the body of an answer: application/problem+json."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    instance: str


class ItemProblem(msgspec.Struct, frozen=True):
    """An error of one item, where the others go on."""

    type: str
    title: str
    status: int
    detail: str


class ItemError(msgspec.Struct, frozen=True):
    """Stands in place of an item's result."""

    error: ItemProblem


class NoContent(Answer):
    """An answer without a body."""

    def __init__(self, status: int = 204, headers: Headers = ()) -> None:
        super().__init__(b"", status)
        self.raw_headers = list(headers)


class Pieces(Response):
    """A body that is sent piece by piece; each piece is made when the client has room for it.

    The caller makes the first piece before: then errors come before the answer has begun.
    """

    def __init__(
        self, first: bytes, others: AsyncGenerator[bytes, None], content_type: bytes, headers: Headers = ()
    ) -> None:
        self.status_code = 200
        self.first, self.others = first, others
        self.raw_headers = [(b"content-type", content_type), *headers]
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head and every piece; ClientGone as soon as the client has left."""
        leaving = asyncio.create_task(_disconnected(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if not scope[CONTEXT].is_head:
                await _send(self.first, send, leaving)
                async for piece in self.others:
                    await _send(piece, send, leaving)
            await send({"type": "http.response.body", "body": b""})
        finally:
            leaving.cancel()
            await self.others.aclose()


class EventStream(Response):
    """Server-sent events, until the source ends, the client leaves or the server stops.

    The caller makes the first event before: then errors come before the answer has begun.
    """

    def __init__(self, first: bytes, others: AsyncGenerator[bytes, None], streams: EventStreams) -> None:
        self.status_code = 200
        self.first, self.others, self.streams = first, others, streams
        self.raw_headers = [
            (b"content-type", EVENTS),
            (b"cache-control", NO_STORE.encode()),
            (b"x-accel-buffering", b"no"),  # nginx would keep events back
        ]
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, and every event as soon as there is one."""
        context: RequestContext = scope[CONTEXT]
        context.stop = asyncio.Event()
        ends = [asyncio.create_task(_disconnected(receive)), asyncio.create_task(context.stop.wait())]
        try:
            with self.streams.open(context):
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                context.answered_at = time.perf_counter()
                if not context.is_head:
                    await send({"type": "http.response.body", "body": self.first, "more_body": True})
                    while event := await self._next(ends):
                        await send({"type": "http.response.body", "body": event, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        finally:
            for each in ends:
                each.cancel()
            await self.others.aclose()

    async def _next(self, ends: list[asyncio.Task[Any]]) -> bytes:
        """Return the next event; nothing if there is none, or the client has left."""
        coming = asyncio.ensure_future(anext(self.others, b""))
        try:
            await asyncio.wait([coming, *ends], return_when=asyncio.FIRST_COMPLETED)
            return b"" if any(each.done() for each in ends) else await coming
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError):
                await coming


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(piece: bytes, send: Send, leaving: asyncio.Task[None]) -> None:
    await asyncio.sleep(0)  # the server silently drops pieces for a client that has left: only `receive` tells
    if leaving.done():
        raise ClientGone
    await send({"type": "http.response.body", "body": piece, "more_body": True})


def problem(kind: Kind, detail: str, request_id: str, instance: str, headers: Headers = ()) -> Answer:
    """Return an error as an answer."""
    body = ProblemMessage(
        type=kind.type, title=kind.title, status=kind.status, detail=detail, request_id=request_id, instance=instance
    )
    if kind.retry_after is not None:
        headers = (*headers, (b"retry-after", b"%d" % kind.retry_after))
    return Answer(encode(body), kind.status, PROBLEM_JSON, headers)


def item_error(error: Exception, request_id: str) -> ItemError:
    """Return an error in place of an item's result."""
    kind = kind_of(error)
    if kind is INTERNAL_ERROR:
        log.error("an item of request %s failed", request_id, exc_info=error)
    return ItemError(ItemProblem(kind.type, kind.title, kind.status, detail_of(error)))
