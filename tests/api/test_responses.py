"""Answers in pieces: pieces are made while the client reads them, and the source is always closed."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message

from app.api.context import CONTEXT, RequestContext
from app.api.errors import ClientGone
from app.api.responses import BINARY, Pieces

pytestmark = pytest.mark.anyio
PIECES = 100


class Source:
    """Pieces, and what became of them."""

    def __init__(self) -> None:
        self.made = 0
        self.is_closed = False

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(PIECES):
                self.made += 1
                yield b"piece"
        finally:
            self.is_closed = True


class Client:
    """A client that disconnects after a number of messages."""

    def __init__(self, goes_after: int) -> None:
        self.messages: list[Message] = []
        self._goes_after = goes_after
        self._left = asyncio.Event()
        self._asked = False

    async def receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.messages.append(message)
        if len(self.messages) == self._goes_after:
            self._left.set()


async def answer(source: Source, client: Client, method: str = "GET") -> None:
    pieces = source.pieces()
    whole = Pieces(await anext(pieces), pieces, BINARY)
    context = RequestContext(is_head=method == "HEAD")
    await whole({"type": "http", "method": method, CONTEXT: context}, client.receive, client.send)


async def test_a_client_that_stays_gets_everything() -> None:
    source, client = Source(), Client(goes_after=-1)
    await answer(source, client)
    assert [message.get("body") for message in client.messages] == [None, *[b"piece"] * PIECES, b""]
    assert source.is_closed


async def test_nothing_is_made_for_a_client_that_has_gone() -> None:
    source, client = Source(), Client(goes_after=4)
    with pytest.raises(ClientGone):
        await answer(source, client)
    assert len(client.messages) <= 5
    assert source.made <= 6
    assert source.is_closed


async def test_a_head_is_sent_alone_and_closes_its_source() -> None:
    source, client = Source(), Client(goes_after=-1)
    await answer(source, client, "HEAD")
    assert (len(client.messages), source.made, source.is_closed) == (2, 1, True)
