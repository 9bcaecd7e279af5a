"""Raw HTTP over sockets: requests that no HTTP client would send."""

import json
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

TIMEOUT_SECONDS = 20.0  # longer means that the service hangs
JSON_TYPE = b"content-type: application/json"
LINES_TYPE = b"content-type: application/x-ndjson"
MAIL_TYPE = b"content-type: message/rfc822"
BINARY_TYPE = b"content-type: application/octet-stream"
GOOD = b'{"tenant":"good","features":{"a":1}}'


class Response(NamedTuple):
    """Everything received until the service closed the connection; status 0 if that is nothing."""

    status: int
    head: bytes
    body: bytes

    @property
    def is_problem(self) -> bool:
        return b"content-type: application/problem+json" in self.head.lower()

    @property
    def problem(self) -> dict[str, Any]:
        assert self.is_problem, self
        problem: dict[str, Any] = json.loads(self.body)
        return problem


def request(target: bytes, body: bytes = b"", *headers: bytes, method: bytes = b"POST") -> bytes:
    """A complete request that asks the service to close the connection."""
    lines = [b"%b %b HTTP/1.1" % (method, target), b"host: sluice", b"connection: close", *headers]
    return b"\r\n".join([*lines, b"content-length: %d" % len(body)]) + b"\r\n\r\n" + body


def post(target: str, body: bytes, *headers: bytes) -> bytes:
    return request(target.encode(), body, *(headers or (JSON_TYPE,)))


def chunked(target: str, pieces: Iterable[bytes], *headers: bytes) -> Iterable[bytes]:
    """A request with a chunked body."""
    lines = [b"POST %b HTTP/1.1" % target.encode(), b"host: sluice", b"connection: close", *headers]
    yield b"\r\n".join([*lines, b"transfer-encoding: chunked"]) + b"\r\n\r\n"
    for piece in pieces:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def send(port: int, sent: bytes | Iterable[bytes], *, ends: bool = False) -> Response:
    """Send, then read until the service closes the connection; `ends` closes our side first. A timeout is an error."""
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS) as connection:
        with suppress(ConnectionError):  # the service may close the connection early
            for piece in [sent] if isinstance(sent, bytes) else sent:
                connection.sendall(piece)
        if ends:
            with suppress(OSError):  # it may be closed already
                connection.shutdown(socket.SHUT_WR)
        return _receive(connection)


def _receive(connection: socket.socket) -> Response:
    received = bytearray()
    with suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            received += piece
    head, _, body = bytes(received).partition(b"\r\n\r\n")
    return Response(int(head.split(b" ", 2)[1]) if head.startswith(b"HTTP/1.") else 0, head, body)


def assert_refused(answer: Response, *statuses: int) -> None:
    """Assert that the service answered with a problem or closed the connection."""
    if statuses:
        assert answer.status in statuses, answer
    if answer.status:
        assert 400 <= answer.status < 500, answer
        assert answer.problem["status"] == answer.status
        assert answer.problem["request_id"]


def assert_handled(answer: Response) -> None:
    """Assert that the service accepted or refused the request."""
    if answer.status != 200:
        assert_refused(answer)
