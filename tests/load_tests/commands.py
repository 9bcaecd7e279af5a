"""A benchmark as a command, with a temporary folder of its own, and every process that it starts."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.processes import command_of

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 400.0  # on a busy machine


class Command:
    """`python -m load_tests.<name> <arguments>`, as a context manager that leaves nothing."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._output = folder / "output"
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
            time.sleep(0.05)
        self._process.send_signal(sign)
        return self.wait()

    def wait(self) -> int:
        """The exit code."""
        return self._process.wait(PATIENCE_SECONDS)

    def left(self) -> list[str]:
        """Processes that have outlived it, and files."""
        return [command_of(pid) for pid in self._running()] + [path.name for path in self.temporary.iterdir()]

    def _running(self) -> list[int]:
        """The processes that have inherited the temporary folder."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if str(self.temporary).encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._running():
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
