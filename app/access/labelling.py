"""How fast one person may label: a stolen key or an angry moderator should not turn a model within a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable

from app.access.errors import TooManyLabels

MINUTE = 60.0
MOST_MODERATORS = 100_000


class LabelRates:
    """Labels of each moderator within the last minute, as this worker has seen them. 0 is no limit."""

    def __init__(self, at_most: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.at_most = at_most
        self._clock = clock
        self._windows: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def take(self, tenant: str, who: str) -> None:
        """Count a label; TooManyLabels if there were too many."""
        now = self._clock()
        begin, count = self._windows.get((tenant, who), (now, 0))
        if now - begin >= MINUTE:
            begin, count = now, 0
        if count >= self.at_most:
            raise TooManyLabels(who, self.at_most)
        self._windows[tenant, who] = (begin, count + 1)
        self._windows.move_to_end((tenant, who))
        while len(self._windows) > MOST_MODERATORS:
            self._windows.popitem(last=False)
