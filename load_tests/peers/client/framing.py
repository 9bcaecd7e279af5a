"""Where an answer ends: so little of HTTP that the client has time to spare, and lines."""

from typing import Protocol

from load_tests.service.http_answers import BadAnswer

SHOWN = 600


class Framing(Protocol):
    """The answers on one connection, one at a time."""

    closes: bool  # whether the server closes the connection after this answer

    def take(self, data: bytes) -> bytes | None:
        """Take what has arrived; the body of the answer if it ends with it. BadAnswer if it is an error."""


class Http:
    """Answers of 2xx with a length, or in chunks."""

    def __init__(self) -> None:
        self.closes = False
        self._held = b""

    def take(self, data: bytes) -> bytes | None:
        """Hold what is not whole."""
        self._held += data
        head, blank, rest = self._held.partition(b"\r\n\r\n")
        if not blank:
            return None
        fields = head.lower()
        body = _unchunked(rest) if b"transfer-encoding: chunked" in fields else _of_length(fields, rest)
        if body is None:
            return None
        if head[9:10] != b"2":
            raise BadAnswer(self._held[:SHOWN].decode(errors="replace"))
        self._held = b""
        self.closes = b"connection: close" in fields
        return body


class Lines:
    """An answer is a line."""

    def __init__(self) -> None:
        self.closes = False
        self._held = b""

    def take(self, data: bytes) -> bytes | None:
        """Hold what is not whole."""
        self._held += data
        if not self._held.endswith(b"\n"):
            return None
        line, self._held = self._held, b""
        return line


def _of_length(fields: bytes, rest: bytes) -> bytes | None:
    _, found, after = fields.partition(b"content-length: ")
    if not found:
        raise BadAnswer(fields[:SHOWN].decode(errors="replace"))
    return rest if len(rest) >= int(after.partition(b"\r")[0]) else None


def _unchunked(rest: bytes) -> bytes | None:
    if not rest.endswith(b"0\r\n\r\n"):
        return None
    parts: list[bytes] = []
    place = 0
    while True:
        end = rest.find(b"\r\n", place)
        if end < 0:
            return None
        size = int(rest[place:end], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(rest[end + 2 : end + 2 + size])
        place = end + 2 + size + 2
