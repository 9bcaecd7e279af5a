"""One request by hand: chunk by chunk in, message by message out."""

from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message

Headers = Sequence[tuple[bytes, bytes]]


class Exchange:
    """The messages that the application sent, and how often it read from the body."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.received = 0

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    def json(self) -> Any:  # noqa: ANN401 - any JSON
        return msgspec.json.decode(self.body)

    def lines(self) -> list[Any]:
        return [msgspec.json.decode(line) for line in self.body.splitlines()]


async def exchange(
    app: ASGIApp,
    path: str,
    chunks: Sequence[bytes],
    headers: Headers = (),
    *,
    query: bytes = b"",
    disconnect: bool = False,
) -> Exchange:
    """Send chunks; after the last one the body ends, or the client goes."""
    seen = Exchange()

    async def receive() -> Message:
        at, seen.received = seen.received, seen.received + 1
        if at >= len(chunks):
            return {"type": "http.disconnect" if disconnect else "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": chunks[at], "more_body": disconnect or at + 1 < len(chunks)}

    async def send(message: Message) -> None:
        seen.messages.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "query_string": query, "headers": list(headers)}
    await app(scope, receive, send)
    return seen
