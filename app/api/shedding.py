"""Refusing requests at once while there are too many, so that those that were let in are answered in time."""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from typing import Final

from app.api.errors import Overloaded
from app.telemetry.counters import Requests

PROBE_SECONDS: Final = 0.02
TELL_SECONDS: Final = 10.0  # a line of the log for each refusal would be work where there is too much of it
EXTRA: Final = "extra_connection"  # where the scope says that there are too many connections
SENTENCES: Final = {
    "connections": "too many connections are open (SLUICE_MAX_CONNECTIONS)",
    "concurrency": "too many requests are under way (SLUICE_MAX_CONCURRENT_REQUESTS)",
    "lag": "this worker is far behind with its work (SLUICE_MAX_LAG_MILLISECONDS)",
}
log = logging.getLogger("sluice.requests")


class Shedding:
    """Knows whether this worker has too much to do: by requests under way, and by how late its event loop is.

    Handlers that only compute never wait, so they are never under way together: they queue where nobody counts them.
    But whatever waits in the loop is late, and so is the probe.
    """

    def __init__(
        self,
        requests: Requests,
        max_concurrent: int = 1000,
        max_lag_seconds: float = 1.0,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._requests = requests
        self._max_concurrent = max_concurrent
        self._max_lag_seconds = max_lag_seconds
        self._now = now
        self._late_after = math.inf  # a request that begins later finds the loop too late
        self._told_at = -math.inf

    def reason(self, now: float) -> str | None:
        """Why a request that begins now should be refused, if it should be."""
        if self._requests.in_progress >= self._max_concurrent:
            return "concurrency"
        return "lag" if now > self._late_after else None

    def shed(self, reason: str) -> Overloaded:
        """Count a refusal, and say it now and then; the error to answer with."""
        self._requests.shed[reason] += 1
        if self._now() - self._told_at > TELL_SECONDS:
            self._told_at = self._now()
            log.warning("requests are refused: %s", SENTENCES[reason])
        return Overloaded(SENTENCES[reason])

    async def probe(self) -> None:
        """Measure how late the loop is, until cancelled."""
        lag_seconds = 0.0
        try:
            while self._max_lag_seconds > 0:
                due = self.expect(lag_seconds)
                await asyncio.sleep(PROBE_SECONDS)
                lag_seconds = self._now() - due
        finally:
            self._late_after = math.inf

    def expect(self, lag_seconds: float) -> float:
        """Begin a measurement, after one that found this lag; when it is due."""
        due = self._now() + PROBE_SECONDS
        # Also before the probe's turn it can be seen that the turn is late.
        self._late_after = due + self._max_lag_seconds if lag_seconds <= self._max_lag_seconds else -math.inf
        return due
