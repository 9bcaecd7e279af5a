"""Several workers on one port: started, replaced when they die or hang, and ended in time.

uvicorn's supervisor waits for ever for a worker that does not end, such as a stopped one, and for seconds for one that
does not answer, before it reads a signal.
"""

import logging
import math
import socket
import time
from typing import Final

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from app.storage.embedded.signals import interrupts_blocked

SILENT_SECONDS: Final = 5.0  # a worker that has not answered for so long hangs
START_SECONDS: Final = 60.0  # until its first answer: imports may take long on a busy machine

logger = logging.getLogger("sluice")


class Supervisor(Multiprocess):
    """uvicorn's supervisor, whose end does not depend on its workers."""

    def __init__(self, config: uvicorn.Config, listening: socket.socket, stop_seconds: float) -> None:
        super().__init__(config, sockets=[listening])
        self._stop_seconds = stop_seconds
        self._waiting_since: dict[Process, float] = {}  # when each worker was asked what it has not answered yet
        self._answered: set[Process] = set()

    def init_processes(self) -> None:
        """Start all workers."""
        with interrupts_blocked():
            super().init_processes()

    def handle_signals(self) -> None:
        """Handle the signals that have arrived; some of them start workers."""
        with interrupts_blocked():
            super().handle_signals()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have died or hang."""
        for index, process in enumerate(self.processes):
            if self._is_well(process):
                continue
            process.kill()
            process.join()
            if process.exitcode == STARTUP_FAILURE:  # it would fail again
                logger.error("worker %d could not start; the service ends", process.pid)
                self.should_exit.set()
                return
            logger.error("worker %d died or did not answer; another one replaces it", process.pid)
            del self._waiting_since[process]
            self._answered.discard(process)
            with interrupts_blocked():
                self.processes[index] = Process(self.config, self.sockets)
                self.processes[index].start()

    def join_all(self) -> None:
        """Wait until all workers have ended; kill those that take too long. The log has everything they learnt."""
        end = time.monotonic() + self._stop_seconds
        for process in self.processes:
            process.process.join(max(end - time.monotonic(), 0.0))
            if process.exitcode is None:
                logger.error("worker %d does not end in time, and is killed", process.pid)
                process.kill()
                process.join()

    def _is_well(self, process: Process) -> bool:
        """Return whether a worker runs and has answered lately; ask it again if it has. Nothing waits here."""
        now = time.monotonic()
        since = self._waiting_since.setdefault(process, -math.inf)
        if not process.process.is_alive():
            return False
        try:
            if since > -math.inf and process.parent_conn.poll():
                process.parent_conn.recv()
                self._answered.add(process)
                since = -math.inf
            if since == -math.inf:
                process.parent_conn.send(b"ping")
                since = now
        except (OSError, EOFError):
            return False
        self._waiting_since[process] = since
        return now - since < (SILENT_SECONDS if process in self._answered else START_SECONDS)
