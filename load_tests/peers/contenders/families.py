"""Processes that have children of their own: all of them end together."""

import os
import signal
import subprocess
from contextlib import suppress

from load_tests.harness.processes import Server

LOOK_SECONDS = 0.05
FAREWELL_SECONDS = 3.0


class Family(Server):
    """The process leads a group, since it was started in a session of its own."""

    def end(self) -> None:
        """End the whole group; the parent gets some time, so that it can see its children off."""
        assert self._process is not None
        self._signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(FAREWELL_SECONDS)
        self._signal(signal.SIGKILL)
        super().end()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)
