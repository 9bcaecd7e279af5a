"""The soak test in its bounded form: restarts and a failover within half a minute of load, and nothing is left."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import began, command_of, descendants

ROOT = Path(__file__).parents[2]
PERFORMANCE = ROOT / "docs" / "performance.md"
SECONDS = 36
PATIENCE_SECONDS = 400.0  # on a machine that has much else to do
NOT_JUDGED = ("Memory of a service late in its life beside early, the worst", "Memory that the store needs for a label")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(int(PATIENCE_SECONDS) + 60)]


class Soaked:
    """`python -m load_tests.soak` with a folder of its own, and every process that was seen under it."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        self._output = folder / "output"
        self._seen: dict[int, str] = {}
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "load_tests.soak", "--seconds", str(SECONDS)],
                cwd=ROOT,
                env=os.environ | {"TMPDIR": str(self.temporary)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._output.read_text()

    def wait_for(self, text: str) -> None:
        """Until it says so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.output:
            assert time.monotonic() < deadline, self.output
            assert self._process.poll() is None, self.output
            self._look()
            time.sleep(0.05)

    def tell(self, sign: signal.Signals) -> None:
        self._process.send_signal(sign)

    def ended(self) -> int:
        """The exit code."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            self._look()
            time.sleep(0.05)
        return self._process.wait(1)

    def left(self) -> list[str]:
        """What has outlived it."""
        return [command_of(pid) for pid, beginning in self._seen.items() if began(pid) == beginning]

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pid, beginning in self._seen.items():
            if began(pid) == beginning:
                os.kill(pid, signal.SIGKILL)

    def _look(self) -> None:
        self._seen |= {pid: beginning for pid in descendants(self._process.pid) if (beginning := began(pid))}


@pytest.fixture
def soaked(tmp_path: Path) -> Iterator[Soaked]:
    run = Soaked(tmp_path)
    yield run
    run.end()


def test_restarts_and_a_failover_lose_no_label_and_leave_all_services_the_same(soaked: Soaked) -> None:
    page = PERFORMANCE.read_text()
    code = soaked.ended()
    rows = dict(re.findall(r"^\| (.+?) \| .+ \| (\S.*?) \|$", soaked.output, re.MULTILINE))
    assert code == 0, soaked.output
    assert rows["Acknowledged labels that their tenant's log does not have"] == "yes"
    assert rows["Labels that a log has more than once"] == "yes"
    assert rows["Tenants on whose digest services, a fresh one and a replay differ"] == "yes"
    assert [rows[text] for text in NOT_JUDGED] == ["**not known**"] * 2
    assert "SIGTERM" in soaked.output
    assert "kill -9" in soaked.output
    assert int(re.findall(r"services appended again \| ([\d,]+) \|", soaked.output)[0].replace(",", "")) > 0
    assert soaked.left() == []
    assert list(soaked.temporary.iterdir()) == []
    assert PERFORMANCE.read_text() == page


@pytest.mark.parametrize(("sign", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_a_run_that_is_told_to_end_leaves_nothing(soaked: Soaked, sign: signal.Signals, expected: int) -> None:
    soaked.wait_for("clients ask")
    soaked.wait_for(": kill -9")
    soaked.tell(sign)
    assert soaked.ended() == expected, soaked.output
    assert soaked.left() == []
    assert list(soaked.temporary.iterdir()) == []
