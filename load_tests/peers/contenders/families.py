"""Processes that have children of their own: all of them end together."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from load_tests.service.processes import Server

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

    def wait_until(self, answers: Callable[[], bool], patience_seconds: float) -> None:
        """Return when it answers."""
        deadline = time.monotonic() + patience_seconds
        while not answers():
            if time.monotonic() > deadline or not self._runs():
                raise TimeoutError(f"{self._command} does not answer. Its last words: {self._last_words()}")
            time.sleep(LOOK_SECONDS)
