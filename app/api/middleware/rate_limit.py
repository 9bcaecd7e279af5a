"""How many requests per second one caller may send: a token bucket of one second for each."""

import math
import time
from collections.abc import Callable
from typing import Final

from starlette.types import Scope

from app.api.context import CONTEXT, RequestContext
from app.api.errors import TooManyRequests
from app.auth.rate_windows import RateWindows
from app.telemetry.counters import Requests

MAX_CALLERS: Final = 10_000  # buckets in memory; about 2 MB
LONGEST_REFILL_SECONDS: Final = 60.0  # no bucket takes so long: two workers have written to one line at once
ROUNDING: Final = 1e-9  # seconds: of sums of times
SETTINGS: Final = {"rate": "SLUICE_REQUESTS_PER_SECOND", "wrong_key": "SLUICE_WRONG_KEYS_PER_SECOND"}
UNLIMITED_PATHS: Final = frozenset(  # they matter most under overload
    {"/livez", "/health", "/healthz", "/readyz", "/ready", "/metrics", "/metrics/"}
)


class RateLimiter:
    """The buckets of all callers. A bucket is stored as the time at which it will be full again."""

    def __init__(
        self,
        per_second: int,
        requests: Requests,
        callers: RateWindows,
        now: Callable[[], float] = time.monotonic,
        reason: str = "rate",
    ) -> None:
        assert per_second > 0
        self._reason = reason
        self._per_second = per_second
        self._limit = (b"ratelimit-limit", b"%d" % per_second)
        self._requests = requests
        self._now = now
        self._callers = callers

    def __len__(self) -> int:
        """Return how many callers have a bucket that may not be full."""
        return len(self._callers)

    def take(self, scope: Scope) -> None:
        """Take a token, and add the RateLimit headers to the answer; TooManyRequests if there is no token."""
        if self._reason == "rate" and scope["path"] in UNLIMITED_PATHS:
            return
        context: RequestContext = scope[CONTEXT]
        now, caller = self._now(), caller_of(scope)
        full_at, _ = self._callers.get(caller) or (now, 0.0)
        missing_seconds = full_at - now if 0.0 < full_at - now < LONGEST_REFILL_SECONDS else 0.0
        if missing_seconds + 1.0 / self._per_second > 1.0 + ROUNDING:
            self._requests.shed[self._reason] += 1
            context.headers += self._headers(missing_seconds)
            raise TooManyRequests(self._per_second, SETTINGS[self._reason])
        missing_seconds += 1.0 / self._per_second
        context.headers += self._headers(missing_seconds)
        self._callers.put(caller, now + missing_seconds, 0.0, now)

    def _headers(self, missing_seconds: float) -> list[tuple[bytes, bytes]]:
        left = int((1.0 - missing_seconds + ROUNDING) * self._per_second)
        reset = math.ceil(missing_seconds - ROUNDING)
        return [self._limit, (b"ratelimit-remaining", b"%d" % left), (b"ratelimit-reset", b"%d" % reset)]


def caller_of(scope: Scope) -> str:
    """Return the id of the caller's key; where no key is needed, the client's address."""
    key = scope[CONTEXT].key
    if key is not None:
        return str(key.id)
    client = scope.get("client")
    return str(client[0]) if client else ""
