"""How often one caller may ask. Each has a bucket of tokens, one second's worth, which fills again steadily."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.types import Scope

from app.api.errors import TooManyRequests
from app.api.limits import ALWAYS_HEARD
from app.telemetry.worker import Requests

MOST_CALLERS: Final = 10_000  # buckets in memory; about 2 MB
ROUNDING: Final = 1e-9  # seconds: of sums of times
ALLOWANCE: Final = "allowance"  # where the scope holds the headers about it, for whatever the answer will be


class Limiter:
    """The buckets of this worker's callers. Of a bucket only the moment is kept at which it will be full again."""

    def __init__(
        self,
        per_second: int,
        requests: Requests | None = None,
        now: Callable[[], float] = time.monotonic,
        most_callers: int = MOST_CALLERS,
    ) -> None:
        assert per_second > 0
        self._per_second = per_second
        self._limit = (b"ratelimit-limit", b"%d" % per_second)
        self._requests = requests or Requests()
        self._now = now
        self._most_callers = most_callers
        self._full_at: OrderedDict[str, float] = OrderedDict()  # who has asked last is last

    def __len__(self) -> int:
        """How many callers have a bucket that is not known to be full."""
        return len(self._full_at)

    def take(self, scope: Scope) -> None:
        """Take a token, and note in the scope what is left; TooManyRequests if there is none."""
        if scope["path"] in ALWAYS_HEARD:
            return
        now, caller = self._now(), caller_of(scope)
        missing_seconds = max(self._full_at.get(caller, now) - now, 0.0)
        if missing_seconds + 1.0 / self._per_second > 1.0 + ROUNDING:
            self._requests.shed["rate"] += 1
            scope[ALLOWANCE] = self._headers(missing_seconds)
            raise TooManyRequests(self._per_second)
        missing_seconds += 1.0 / self._per_second
        scope[ALLOWANCE] = self._headers(missing_seconds)
        self._full_at[caller] = now + missing_seconds
        self._full_at.move_to_end(caller)
        self._forget(now)

    def _headers(self, missing_seconds: float) -> list[tuple[bytes, bytes]]:
        left = int((1.0 - missing_seconds + ROUNDING) * self._per_second)
        reset = math.ceil(missing_seconds - ROUNDING)
        return [self._limit, (b"ratelimit-remaining", b"%d" % left), (b"ratelimit-reset", b"%d" % reset)]

    def _forget(self, now: float) -> None:
        """Drop buckets that are full again, and beyond the limit those that were used least recently."""
        while next(iter(self._full_at.values())) <= now or len(self._full_at) > self._most_callers:
            self._full_at.popitem(last=False)


def caller_of(scope: Scope) -> str:
    """The id of the key that was recognized; where no key is needed, the client's address."""
    key = scope.get("key")
    if key is not None:
        return str(key.id)
    client = scope.get("client")
    return str(client[0]) if client else ""
