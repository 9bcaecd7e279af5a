"""The HTTP client of the commands that talk to a running service."""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Self

import httpx

from app.learning.errors import BadSetting, SluiceError

FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
UNAVAILABLE: Final = {httpx.codes.TOO_MANY_REQUESTS, httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE}
LOOPBACK: Final = {"127.0.0.1", "::1", "localhost"}
ADVICE: Final = {  # by the type of a problem: what the user of a command can do, in place of what an HTTP client can
    "/problems/tenant-exists": "--replace replaces it with this model",
    "/problems/unknown-tenant": "check its name",
    "/problems/unauthenticated": "set SLUICE_KEY, or SLUICE_KEY_FILE, to a valid key",
}


class ServiceUnavailable(SluiceError):
    """No answer, or one that asks the client to try again later."""


class RequestRefused(SluiceError):
    """An error that the service answered with, and its HTTP status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """A client of one service, for any number of threads. Use it in a `with` block.

    `get`, `post` and `put` repeat a request for up to `retry_seconds` while the service is unavailable, so a request
    must be idempotent. `report` gets a sentence when the service becomes unavailable, and one when it is back.
    """

    def __init__(
        self, url: str, *, timeout_seconds: float, retry_seconds: float = 0.0, report: Callable[[str], None] = print
    ) -> None:
        self.url = url.rstrip("/")
        host = _host(self.url)
        self._http = httpx.Client(
            base_url=self.url,
            headers=key_headers(),
            timeout=timeout_seconds,
            verify=self.url.startswith("https:"),  # reading the certificates takes longer than a request
            trust_env=host not in LOOPBACK,  # a proxy cannot reach this machine's own services
        )
        self._retry_seconds = retry_seconds
        self._report = report
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._is_unavailable = False

    def get(self, path: str) -> dict[str, Any]:
        """Send a GET request; repeat it while the service is unavailable."""
        return self._with_retries("GET", path)

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Send a POST request with a JSON body; repeat it while the service is unavailable."""
        return self._with_retries("POST", path, json=body)

    def put(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Send a PUT request with a JSON body; repeat it while the service is unavailable."""
        return self._with_retries("PUT", path, json=body)

    def send_file(self, path: str, content: bytes) -> dict[str, Any]:
        """Send a POST request with a file as its body, without retries."""
        return self._send("POST", path, content=content, headers={"content-type": "application/octet-stream"})

    def get_once(self, path: str) -> dict[str, Any]:
        """Send a GET request without retries."""
        return self._send("GET", path)

    @contextmanager
    def stream(self, method: str, path: str, **options: Any) -> Iterator[httpx.Response]:  # noqa: ANN401 - httpx's options
        """Send one request, without retries; the block reads the body of the answer."""
        try:
            with self._http.stream(method, path, follow_redirects=method == "GET", **options) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._error(path, answer)
                yield answer
        except httpx.TransportError as error:
            raise self._unreachable(error) from None

    def cancel(self) -> None:
        """End all retries."""
        self._cancelled.set()

    def __enter__(self) -> Self:
        """Open no connection yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections; no thread may use them any more."""
        self._http.close()

    def _with_retries(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx's options
        deadline, pause = (
            time.monotonic() + self._retry_seconds,
            0.0,
        )  # at once: an idle connection may have been closed
        while True:
            try:
                answer = self._send(method, path, **options)
            except ServiceUnavailable as error:
                if time.monotonic() + pause > deadline or self._cancelled.wait(pause):
                    raise
                if pause:
                    self._report_change(error)
                pause = min(max(2.0 * pause, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
            else:
                self._report_change(None)
                return answer

    def _report_change(self, error: ServiceUnavailable | None) -> None:
        """Report an outage once, however many threads notice it."""
        with self._lock:
            if self._is_unavailable != (error is not None):
                self._is_unavailable = error is not None
                self._report(f"{error}; trying again" if error else f"{self.url} is back")

    def _send(self, method: str, path: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - httpx's options
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise self._unreachable(error) from None
        content = _json_object(answer)
        if answer.status_code != httpx.codes.OK or content is None:
            raise self._error(path, answer)
        return content

    def _unreachable(self, error: httpx.TransportError) -> ServiceUnavailable:
        reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        return ServiceUnavailable(f"no service answers at {self.url}: {reason}")

    def _error(self, path: str, answer: httpx.Response) -> SluiceError:
        """The detail of the problem; for an answer without one, what was answered."""
        problem = _json_object(answer) or {}
        detail = problem.get("detail")
        if detail and (advice := ADVICE.get(str(problem.get("type")))):
            detail = f"{re.split('[;:] ', str(detail), maxsplit=1)[0]}; {advice}"
        status = f"{answer.status_code} {answer.reason_phrase}"
        sentence = str(detail or f"{self.url}{path} answered {status}, which is not an answer of Sluice")
        if answer.status_code in UNAVAILABLE:
            return ServiceUnavailable(f"{self.url} is unavailable: {sentence}")
        return RequestRefused(sentence, answer.status_code)


def key_headers() -> dict[str, str]:
    """The header with the key of SLUICE_KEY, or of the file that SLUICE_KEY_FILE names; empty without a key."""
    key = os.environ.get("SLUICE_KEY", "").strip()
    if not key and (file := os.environ.get("SLUICE_KEY_FILE")):
        try:
            key = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(f"SLUICE_KEY_FILE names {file!r}, which cannot be read: {error}") from None
    return {"Authorization": f"Bearer {key}"} if key else {}


def _host(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:  # a port that is not a number, for example
        parsed = httpx.URL()
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise BadSetting(f"{url!r} is not the address of a service; write it as http://host:port")
    return parsed.host


def _json_object(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        content = answer.json()
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
