"""The answer of GET /metrics: this worker's own metrics, and those of its siblings."""

import asyncio
from collections.abc import Awaitable, Callable

from prometheus_client.core import GaugeMetricFamily

from app.telemetry.counters import Telemetry
from app.telemetry.families import families
from app.telemetry.readings import WorkerReading
from app.telemetry.text_format import Runtime, merged, text_of
from app.telemetry.workers import Siblings

Read = Callable[[], Awaitable[WorkerReading]]


class Exposing:
    """What is counted, and whoever can say how this worker is."""

    def __init__(self, telemetry: Telemetry, siblings: Siblings, read: Read) -> None:
        self._telemetry = telemetry
        self._siblings = siblings
        self._read = read
        self._runtime = Runtime()

    async def whole_page(self) -> bytes:
        """The metrics of all workers of the service."""
        own, others = await asyncio.gather(self.own_page(), self._siblings.ask())
        workers = (
            GaugeMetricFamily("sluice_workers", "Workers that the service should have.", self._siblings.places),
            GaugeMetricFamily("sluice_workers_answering", "Workers in this answer.", 1 + len(others)),
        )
        return merged([own, *others, text_of(workers)])

    async def own_page(self) -> bytes:
        """The metrics of this worker."""
        self._telemetry.tenants.elect()
        reading = await self._read()
        found = [*families(self._telemetry, reading), *self._runtime.families()]
        # Beside the event loop: a hundred tenants make text for 20 ms.
        return await asyncio.to_thread(text_of, found, worker=str(self._siblings.place))
