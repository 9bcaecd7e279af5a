"""Limits on connections, and the delay of refusals."""

from dataclasses import dataclass
from typing import Final

SPARE_CONNECTIONS: Final = 250  # beyond the limit: these are refused with an answer, any more are closed
MIN_SECONDS: Final = 0.1
MAX_SECONDS: Final = 2.0
PER_SECOND: Final = 500  # refusals that are sent in a second: a few percent of what a worker can do
GOLDEN: Final = 0.6180339887498949  # the fractional parts of its multiples are spread evenly between 0 and 1


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """When a connection is closed; app/settings.py has the defaults.

    Beyond `max_connections`, a connection gets an answer from /livez, /readyz and /metrics only, and only one.
    """

    head_seconds: float  # for the request line and the headers
    max_head_bytes: int
    reader_seconds: float  # in which the client has to take some of the answer
    max_connections: int


class RefusalDelay:
    """How long refusals are held back, in one worker: the more of them wait, the longer.

    A client that retries at once would otherwise keep the worker busy with refusals.
    """

    def __init__(self) -> None:
        self.waiting = 0
        self._place = 0.0

    def seconds(self) -> float:
        """Return the delay of the next one. Delays differ, so that clients do not all return together."""
        self._place = (self._place + GOLDEN) % 1.0
        usual = min(max(self.waiting / PER_SECOND, MIN_SECONDS), MAX_SECONDS)
        return usual * (0.75 + self._place / 2.0)
