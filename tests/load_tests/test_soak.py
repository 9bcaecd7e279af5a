"""The soak test in its shortest form: restarts and a failover within half a minute of load, and nothing is left."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

from tests.processes import command_of

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 400.0  # on a busy machine
PERFORMANCE = ROOT / "docs" / "performance.md"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(int(PATIENCE_SECONDS) + 60)]


class Soak:
    """The soak test as a command, with a temporary folder of its own, and every process that it starts."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._output = folder / "output"
        command = [sys.executable, "-m", "load_tests.soak", "--seconds", "36"]
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


def test_restarts_and_a_failover_lose_no_label_and_leave_all_services_the_same(tmp_path: Path) -> None:
    page = PERFORMANCE.read_text()
    with Soak(tmp_path) as command:
        code = command.wait()
        verdicts = dict(re.findall(r"^\| (.+?) \| .+ \| (\S.*?) \|$", command.output, re.MULTILINE))
        assert code == 0, command.output
        assert verdicts["Acknowledged labels that their tenant's log does not have"] == "yes"
        assert verdicts["Labels that a log has more than once"] == "yes"
        assert verdicts["Tenants on whose digest services, a fresh one and a replay differ"] == "yes"
        assert [verdicts[text] for text in verdicts if text.startswith("Memory")] == ["**not known**"] * 2
        assert "| restarts by SIGTERM |" in command.output
        assert "| restarts by kill -9 |" in command.output
        (appended,) = re.findall(r"services appended again \| ([\d,]+) \|", command.output)
        assert int(appended.replace(",", "")) > 0
        assert command.left() == []
    assert PERFORMANCE.read_text() == page


@pytest.mark.parametrize(("sign", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_a_run_that_is_interrupted_leaves_nothing(tmp_path: Path, sign: signal.Signals, expected: int) -> None:
    with Soak(tmp_path) as command:
        assert command.interrupt_after(": kill -9", sign) == expected, command.output
        assert command.left() == []
