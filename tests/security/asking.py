"""Requests byte by byte, over sockets of their own: what no HTTP client would send."""

import json
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

PATIENCE_SECONDS = 20.0  # whoever waits longer hangs
JSON_TYPE = b"content-type: application/json"
LINES_TYPE = b"content-type: application/x-ndjson"
MAIL_TYPE = b"content-type: message/rfc822"
BINARY_TYPE = b"content-type: application/octet-stream"
GOOD = b'{"tenant":"good","features":{"a":1}}'


class Answer(NamedTuple):
    """What came back until the service closed the connection; status 0 if that was nothing."""

    status: int
    head: bytes
    body: bytes

    @property
    def is_problem(self) -> bool:
        return b"content-type: application/problem+json" in self.head.lower()

    @property
    def problem(self) -> dict[str, Any]:
        assert self.is_problem, self
        told: dict[str, Any] = json.loads(self.body)
        return told


def request(target: bytes, body: bytes = b"", *headers: bytes, method: bytes = b"POST") -> bytes:
    """A request that is whole in itself; the connection is closed behind it."""
    lines = [b"%b %b HTTP/1.1" % (method, target), b"host: sluice", b"connection: close", *headers]
    return b"\r\n".join([*lines, b"content-length: %d" % len(body)]) + b"\r\n\r\n" + body


def post(target: str, body: bytes, *headers: bytes) -> bytes:
    return request(target.encode(), body, *(headers or (JSON_TYPE,)))


def chunked(target: str, pieces: Iterable[bytes], *headers: bytes) -> Iterable[bytes]:
    """A body whose length nobody says."""
    lines = [b"POST %b HTTP/1.1" % target.encode(), b"host: sluice", b"connection: close", *headers]
    yield b"\r\n".join([*lines, b"transfer-encoding: chunked"]) + b"\r\n\r\n"
    for piece in pieces:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def ask(port: int, sent: bytes | Iterable[bytes], *, ends: bool = False) -> Answer:
    """Send, and read until the service closes; `ends` closes our side first. A service that hangs is an error."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as connection:
        with suppress(ConnectionError):  # the service may have heard enough
            for piece in [sent] if isinstance(sent, bytes) else sent:
                connection.sendall(piece)
        if ends:
            with suppress(OSError):  # it may be closed already
                connection.shutdown(socket.SHUT_WR)
        return _answer(connection)


def _answer(connection: socket.socket) -> Answer:
    came = bytearray()
    with suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            came += piece
    head, _, body = bytes(came).partition(b"\r\n\r\n")
    return Answer(int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else 0, head, body)


def assert_refused(answer: Answer, *statuses: int) -> None:
    """Refused with a problem, or the connection was closed."""
    if statuses:
        assert answer.status in statuses, answer
    if answer.status:
        assert 400 <= answer.status < 500, answer
        assert answer.problem["status"] == answer.status
        assert answer.problem["request_id"]


def assert_unharmed(answer: Answer) -> None:
    """Taken for what it is, or refused."""
    if answer.status != 200:
        assert_refused(answer)
