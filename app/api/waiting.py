"""Waiting for a body: as long as its pieces keep coming."""

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.types import Message

from app.api.errors import ClientGone, TooSlow

WHOLE: Final = "whole"  # in the scope: the whole body has arrived
ABANDONED: Final = "abandoned"  # in the scope: nobody waits for the rest of the body; the connection is to be closed


async def piece_of(request: Request) -> tuple[bytes, bool]:
    """The next piece of the body, and whether more will come; TooSlow if it does not come in time."""
    # In most cases all is there, and a timer would cost more than reading it.
    message = await request.receive() if WHOLE in request.scope else await _in_time(request)
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)


async def _in_time(request: Request) -> Message:
    seconds: float = request.app.state.serving.limits.body_idle_seconds
    try:
        async with asyncio.timeout(seconds):
            return await request.receive()
    except TimeoutError:
        raise TooSlow(seconds) from None
