"""How often one caller may ask. Each has a bucket of tokens, one second's worth, which fills again steadily."""

import math
import time
from collections.abc import Callable
from typing import Final

from starlette.types import Scope

from app.api.errors import TooManyRequests
from app.api.limits import ALWAYS_HEARD
from app.auth.buckets import Buckets, OwnBuckets
from app.telemetry.counters import Requests

MOST_CALLERS: Final = 10_000  # buckets in memory; about 2 MB
NEVER_SECONDS: Final = 60.0  # no bucket takes so long to fill: two workers have written at once what cannot be
ROUNDING: Final = 1e-9  # seconds: of sums of times
SETTINGS: Final = {"rate": "SLUICE_REQUESTS_PER_SECOND", "wrong_key": "SLUICE_WRONG_KEYS_PER_SECOND"}
ALLOWANCE: Final = "allowance"  # where the scope holds the headers about it, for whatever the answer will be


class Limiter:
    """The buckets of callers. Of a bucket only the moment is kept at which it will be full again."""

    def __init__(
        self,
        per_second: int,
        requests: Requests | None = None,
        now: Callable[[], float] = time.monotonic,
        callers: Buckets | None = None,
        reason: str = "rate",
    ) -> None:
        assert per_second > 0
        self._reason = reason
        self._per_second = per_second
        self._limit = (b"ratelimit-limit", b"%d" % per_second)
        self._requests = requests or Requests()
        self._now = now
        self._callers = OwnBuckets(MOST_CALLERS) if callers is None else callers

    def __len__(self) -> int:
        """How many callers have a bucket that is not known to be full."""
        return len(self._callers)

    def take(self, scope: Scope) -> None:
        """Take a token, and note in the scope what is left; TooManyRequests if there is none."""
        if self._reason == "rate" and scope["path"] in ALWAYS_HEARD:
            return
        now, caller = self._now(), caller_of(scope)
        full_at, _ = self._callers.get(caller) or (now, 0.0)
        missing_seconds = full_at - now if 0.0 < full_at - now < NEVER_SECONDS else 0.0
        if missing_seconds + 1.0 / self._per_second > 1.0 + ROUNDING:
            self._requests.shed[self._reason] += 1
            scope[ALLOWANCE] = self._headers(missing_seconds)
            raise TooManyRequests(self._per_second, SETTINGS[self._reason])
        missing_seconds += 1.0 / self._per_second
        scope[ALLOWANCE] = self._headers(missing_seconds)
        self._callers.put(caller, now + missing_seconds, 0.0, now)

    def _headers(self, missing_seconds: float) -> list[tuple[bytes, bytes]]:
        left = int((1.0 - missing_seconds + ROUNDING) * self._per_second)
        reset = math.ceil(missing_seconds - ROUNDING)
        return [self._limit, (b"ratelimit-remaining", b"%d" % left), (b"ratelimit-reset", b"%d" % reset)]


def caller_of(scope: Scope) -> str:
    """The id of the key that was recognized; where no key is needed, the client's address."""
    key = scope.get("key")
    if key is not None:
        return str(key.id)
    client = scope.get("client")
    return str(client[0]) if client else ""
