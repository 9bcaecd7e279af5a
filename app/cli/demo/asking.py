"""Asking a service over HTTP, on connections that stay open, and again while the service is away."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from app.cli.sending import key_headers
from app.cli.transfer import ServiceRefused
from app.learning.errors import SluiceError

TIMEOUT_SECONDS: Final = 30.0
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
AWAY: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE}


class ServiceAway(SluiceError):
    """Nothing was answered, or that it should be asked again."""


class RequestRefused(ServiceRefused):
    """What a service answered instead, with its status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """Asks one service; each thread has a connection of its own. Whatever is asked must bear being asked twice."""

    def __init__(self, url: str, *, patience_seconds: float, say: Callable[[str], None] = print) -> None:
        self.url = url.rstrip("/")
        self._scheme, self._host, self._port, self._prefix = _parts(self.url)
        self._headers = {"Content-Type": "application/json"} | key_headers()
        self._patience_seconds = patience_seconds
        self._say = say
        self._mine = threading.local()
        self._all: list[HTTPConnection] = []
        self._over = threading.Event()
        self._telling = threading.Lock()
        self._is_away = False

    def get(self, path: str) -> dict[str, Any]:
        """Ask, and be patient."""
        return self._patiently("GET", path, None)

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Ask with a body, and be patient."""
        return self._patiently("POST", path, json.dumps(body).encode())

    def once(self, path: str) -> dict[str, Any]:
        """Ask without patience."""
        return self._ask("GET", path, None)

    def give_up(self) -> None:
        """Let nobody be patient any longer."""
        self._over.set()

    def close(self) -> None:
        """Close every connection, when no thread asks any more."""
        for connection in self._all:
            connection.close()

    def _patiently(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        deadline, pause = time.monotonic() + self._patience_seconds, 0.0  # at once: the connection may only be too old
        while True:
            try:
                answer = self._ask(method, path, body)
            except ServiceAway as away:
                if time.monotonic() + pause > deadline or self._over.wait(pause):
                    raise
                if pause:
                    self._tell(away)
                pause = min(max(2.0 * pause, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            else:
                self._tell(None)
                return answer

    def _tell(self, away: ServiceAway | None) -> None:
        """One sentence when the service is away, and one when it is back, however many threads notice."""
        with self._telling:
            if self._is_away != (away is not None):
                self._is_away = away is not None
                self._say(f"{away}; trying again" if away else f"{self.url} is back")

    def _ask(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        connection = self._connection()
        try:
            connection.request(method, self._prefix + path, body, self._headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException) as error:
            connection.close()  # the next request opens it again
            raise ServiceAway(f"no service answers at {self.url}: {_reason(error)}") from None
        return self._checked(path, answer, content)

    def _checked(self, path: str, answer: HTTPResponse, content: bytes) -> dict[str, Any]:
        try:
            told = json.loads(content)
        except ValueError:
            told = None
        if answer.status == HTTPStatus.OK and isinstance(told, dict):
            return told
        said = told.get("detail") if isinstance(told, dict) else None
        sentence = str(said or f"{self.url}{path} answered {answer.status} {answer.reason}, not as Sluice does")
        if answer.status in AWAY:
            raise ServiceAway(f"{self.url} cannot answer: {sentence}")
        raise RequestRefused(sentence, answer.status)

    def _connection(self) -> HTTPConnection:
        connection: HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            kind = HTTPSConnection if self._scheme == "https" else HTTPConnection
            connection = self._mine.connection = kind(self._host, self._port, timeout=TIMEOUT_SECONDS)
            self._all.append(connection)
        return connection


def _parts(url: str) -> tuple[str, str, int | None, str]:
    with suppress(ValueError):  # a port that is no number
        parts = urlsplit(url)
        if parts.scheme in {"http", "https"} and parts.hostname:
            return parts.scheme, parts.hostname, parts.port, parts.path
    raise ServiceRefused(f"{url!r} is no address of a service: write http://host:port")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
