"""How fast one moderator may label: a stolen key must not turn a model within a minute."""

import time
from collections.abc import Callable

from app.auth.errors import TooManyLabels
from app.auth.rate_windows import OwnRateWindows, RateWindows

MINUTE = 60.0
MAX_MODERATORS = 100_000


class LabelRates:
    """Labels of each moderator within a minute, over all workers that share the windows. 0 is no limit."""

    def __init__(
        self, per_minute: int = 0, clock: Callable[[], float] = time.monotonic, windows: RateWindows | None = None
    ) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._windows = OwnRateWindows(MAX_MODERATORS) if windows is None else windows

    def take(self, tenant: str, labeller: str) -> None:
        """Count a label; TooManyLabels if there were too many."""
        now = self._clock()
        name = f"{tenant}\0{labeller}"
        end, count = self._windows.get(name) or (now, 0.0)
        if not now < end < now + 2.0 * MINUTE:  # over; or two workers have written to one line at once
            end, count = now + MINUTE, 0.0
        if count >= self.per_minute:
            raise TooManyLabels(labeller, self.per_minute)
        self._windows.put(name, end, count + 1.0, now)
