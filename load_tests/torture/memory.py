"""Memory of every process against its bounds, and a line of progress every ten seconds."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from load_tests.harness.processes import resident_bytes
from load_tests.harness.report import say
from load_tests.torture.deployment import BUDGET_BYTES, SMALL_BUDGET_BYTES, Deployment

SAMPLE_SECONDS = 1.0
REPORT_SAMPLES = 10
MIB = 2**20
# docs/operations.md: remembered events, and predictions that wait to be written; then copies of models for snapshots,
# exports and imports, and the heap of Python and Numba.
BESIDE_MODELS_BYTES = (32 + 64 + 128) * MIB
START_BYTES = 260 * MIB  # of a worker that has no tenant
STORE_BYTES = 256 * MIB  # of logs, snapshots and kept predictions


class Memory:
    """Samples of all processes; keeps the highest."""

    def __init__(self, deployment: Deployment, progress: Callable[[], str]) -> None:
        self.highest: dict[str, int] = {}
        self._deployment = deployment
        self._progress = progress

    async def run(self) -> None:
        for number in count(1):
            self._sample()
            if number % REPORT_SAMPLES == 0:
                shown = ", ".join(f"{name} {size / MIB:.0f}" for name, size in self.highest.items())
                say(f"{self._progress()}; most MiB: {shown}")
            await asyncio.sleep(SAMPLE_SECONDS)

    def exceeded(self) -> list[str]:
        """Bounds that were exceeded."""
        bounds = {
            "service 1": START_BYTES + BUDGET_BYTES + BESIDE_MODELS_BYTES,
            "service 2": START_BYTES + SMALL_BUDGET_BYTES + BESIDE_MODELS_BYTES,
            "store": STORE_BYTES,
        }
        return [
            f"a process of {name} had {size / MIB:.0f} MiB, more than {bounds[name] / MIB:.0f} MiB"
            for name, size in self.highest.items()
            if size > bounds[name]
        ]

    def _sample(self) -> None:
        for node in self._deployment.nodes:
            if node.process is not None:
                for pid in node.processes():
                    self._note(node.folder.name, pid)
        if self._deployment.primary.process is not None:
            self._note("store", self._deployment.primary.pid)

    def _note(self, name: str, pid: int) -> None:
        with suppress(OSError, StopIteration):  # it has just ended
            self.highest[name] = max(self.highest.get(name, 0), resident_bytes(pid))
