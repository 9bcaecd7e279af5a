"""How fast one person may label: a stolen key or an angry moderator should not turn a model within a minute."""

import time
from collections.abc import Callable

from app.auth.buckets import Buckets, OwnBuckets
from app.auth.errors import TooManyLabels

MINUTE = 60.0
MOST_MODERATORS = 100_000


class LabelRates:
    """Labels of each moderator within the last minute, through all workers that share the buckets. 0 is no limit."""

    def __init__(
        self, at_most: int = 0, clock: Callable[[], float] = time.monotonic, windows: Buckets | None = None
    ) -> None:
        self.at_most = at_most
        self._clock = clock
        self._windows = OwnBuckets(MOST_MODERATORS) if windows is None else windows

    def take(self, tenant: str, who: str) -> None:
        """Count a label; TooManyLabels if there were too many."""
        now = self._clock()
        whose = f"{tenant}\0{who}"
        end, count = self._windows.get(whose) or (now, 0.0)
        if not now < end < now + 2.0 * MINUTE:  # over; or what two workers have written at once, and cannot be
            end, count = now + MINUTE, 0.0
        if count >= self.at_most:
            raise TooManyLabels(who, self.at_most)
        self._windows.put(whose, end, count + 1.0, now)
