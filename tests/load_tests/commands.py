"""A benchmark as a command, with a temporary folder of its own and every process that was seen under it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.processes import began, command_of, descendants

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 400.0  # on a busy machine


class Command:
    """`python -m load_tests.<name> <arguments>`, as a context manager that leaves nothing."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._output = folder / "output"
        self._seen: dict[int, str] = {}
        command = [sys.executable, "-m", f"load_tests.{name}", *arguments]
        environment = os.environ | {"TMPDIR": str(self.temporary)}
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def interrupt_after(self, text: str, sign: signal.Signals) -> int:
        """Send a signal once the output has this text; the exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.output:
            assert time.monotonic() < deadline, self.output
            assert self._process.poll() is None, self.output
            self._look()
        self._process.send_signal(sign)
        return self.wait()

    def wait(self) -> int:
        """The exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            self._look()
        return self._process.wait(1)

    def left(self) -> list[str]:
        """Processes that have outlived it, and files."""
        processes = [command_of(pid) for pid, beginning in self._seen.items() if began(pid) == beginning]
        return processes + [path.name for path in self.temporary.iterdir()]

    def _look(self) -> None:
        self._seen |= {pid: beginning for pid in descendants(self._process.pid) if (beginning := began(pid))}
        time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pid, beginning in self._seen.items():
            if began(pid) == beginning:
                os.kill(pid, signal.SIGKILL)
