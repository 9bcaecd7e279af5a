"""Load shedding: refuse requests at once while there are too many, so that the others are answered in time."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from typing import Final

from app.api.errors import Overloaded
from app.telemetry.counters import Requests

PROBE_SECONDS: Final = 0.02
LOG_SECONDS: Final = 10.0  # a line for each refusal would be work where there is too much of it
SENTENCES: Final = {
    "connections": "too many connections are open (SLUICE_MAX_CONNECTIONS)",
    "concurrency": "too many requests are in progress (SLUICE_MAX_CONCURRENT_REQUESTS)",
    "lag": "this worker's event loop is too far behind (SLUICE_MAX_LAG_MILLISECONDS)",
}
log = logging.getLogger("sluice.requests")


class Overload:
    """Detects that this worker has too much to do: by requests in progress, and by the lag of its event loop.

    Handlers that only compute never wait, so they are never in progress together: they queue where nothing counts
    them. But everything that waits in the event loop is late, and so is the probe.
    """

    def __init__(
        self,
        requests: Requests,
        max_concurrent: int,
        max_lag_seconds: float,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._requests = requests
        self._max_lag_seconds = max_lag_seconds
        self._now = now
        self._logged_at = -math.inf
        self.max_concurrent = max_concurrent
        self.late_after = math.inf  # a request that begins later finds the event loop too far behind

    def reason(self, now: float, *, exceeds_connections: bool = False) -> str | None:
        """Return why a request that begins now is refused, if it is. The middleware asks only where it may be."""
        if exceeds_connections:
            return "connections"
        if self._requests.in_progress >= self.max_concurrent:
            return "concurrency"
        return "lag" if now > self.late_after else None

    def shed(self, reason: str) -> Overloaded:
        """Count a refusal, and log it now and then; return the error to answer with."""
        self._requests.shed[reason] += 1
        if self._now() - self._logged_at > LOG_SECONDS:
            self._logged_at = self._now()
            log.warning("refusing requests: %s", SENTENCES[reason])
        return Overloaded(SENTENCES[reason])

    async def probe(self) -> None:
        """Measure the lag of the event loop, until cancelled."""
        lag_seconds = 0.0
        try:
            while self._max_lag_seconds > 0:
                due = self.expect(lag_seconds)
                await asyncio.sleep(PROBE_SECONDS)
                lag_seconds = self._now() - due
        finally:
            self.late_after = math.inf

    def expect(self, lag_seconds: float) -> float:
        """Begin a measurement, after one that found this lag; return when it is due."""
        due = self._now() + PROBE_SECONDS
        # A probe that is overdue is late already, before its turn comes.
        self.late_after = due + self._max_lag_seconds if lag_seconds <= self._max_lag_seconds else -math.inf
        return due
