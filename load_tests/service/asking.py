"""Single requests, where speed does not matter."""

from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException

TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: bytes


def ask(port: int, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Reply:
    """Ask once, on a connection of its own; OSError if there is no answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(method, path, body or None, {"content-type": content_type})
        answer = connection.getresponse()
        return Reply(answer.status, answer.read())
    except HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        connection.close()


def ask_well(port: int, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
    """Ask once; anything but 200 ends the benchmark."""
    reply = ask(port, method, path, body, content_type)
    if reply.status != 200:
        raise RuntimeError(f"{method} {path} was answered {reply.status}: {reply.body[:500].decode(errors='replace')}")
    return reply.body
