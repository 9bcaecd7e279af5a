"""Real runs of two seconds: a service, Locust, and no process or file left."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from load_tests.harness.wrk import installed
from tests.processes import began, command_of, descendants

ROOT = Path(__file__).parents[2]
BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PATIENCE_SECONDS = 60.0
EXACT = """
[thresholds]
"failures" = "*.failures / *.requests <= 0"
"counted by one only" = "*.miscounted / *.requests <= 0"
"""
IMPOSSIBLE = """
[thresholds]
"more requests than requests" = "*.requests / *.requests >= 2"
"""

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not BENCH_PYTHON.exists(), reason="the environment of the benchmarks is not installed"),
]


class Played:
    """`python -m load_tests.scenarios` with folders of its own, and every process that was seen under it."""

    def __init__(self, folder: Path, thresholds: str, scenarios: str) -> None:
        self.temporary, self.reports = folder / "temporary", folder / "reports"
        self.temporary.mkdir()
        (folder / "thresholds.toml").write_text(thresholds)
        self._seen: dict[int, str] = {}
        command = [sys.executable, "-m", "load_tests.scenarios", "--scenarios", scenarios, "--seconds", "2"]
        files = ["--reports", str(self.reports), "--thresholds", str(folder / "thresholds.toml")]
        self._process = subprocess.Popen(
            [*command, "--locust-python", str(BENCH_PYTHON), *files],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_for(self, command: str) -> None:
        """Until such a process runs."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any(command in command_of(pid) for pid in self._look()):
            assert time.monotonic() < deadline, f"no {command} was started"
            assert self._process.poll() is None, self._process.communicate()[0]
            time.sleep(0.05)

    def signal(self, sign: signal.Signals) -> None:
        self._process.send_signal(sign)

    def ended(self) -> tuple[int, str]:
        """Exit code and output."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            self._look()
            time.sleep(0.05)
        output, _ = self._process.communicate(timeout=1)
        return self._process.returncode, output

    def left(self) -> list[str]:
        """Processes that have outlived it."""
        return [command_of(pid) for pid, beginning in self._seen.items() if began(pid) == beginning]

    def end(self) -> None:
        self._process.kill()
        for pid, beginning in self._seen.items():
            if began(pid) == beginning:
                os.kill(pid, signal.SIGKILL)

    def _look(self) -> list[int]:
        found = descendants(self._process.pid)
        self._seen |= {pid: beginning for pid in found if (beginning := began(pid))}
        return found


@pytest.fixture
def thresholds() -> str:
    return EXACT


@pytest.fixture
def scenarios() -> str:
    return "feedback"


@pytest.fixture
def played(tmp_path: Path, thresholds: str, scenarios: str) -> Iterator[Played]:
    run = Played(tmp_path, thresholds, scenarios)
    yield run
    run.end()


def test_a_short_run_ends_well_with_a_report_and_leaves_nothing(played: Played) -> None:
    code, output = played.ended()
    assert code == 0, output
    assert "| feedback |" in output
    assert "<html" in (played.reports / "feedback.html").read_text()
    assert played.left() == []
    assert list(played.temporary.iterdir()) == []


@pytest.mark.skipif(not installed(), reason="wrk is not installed")
@pytest.mark.parametrize("scenarios", ["scoring,mixed"])
def test_services_stay_for_wrk_and_no_longer(played: Played) -> None:
    code, output = played.ended()
    assert code == 0, output
    assert "wrk sends the same, 1 times for 2 s in turns: scoring, mixed" in output
    assert re.search(r"\| mixed \|.* the same \|( [\d.,]+ \|){3} [\d.]+ x \|", output)
    assert played.left() == []


@pytest.mark.parametrize("thresholds", [IMPOSSIBLE])
def test_a_missed_threshold_is_named_and_decides_the_exit_code(played: Played) -> None:
    code, output = played.ended()
    assert code == 1, output
    assert "- feedback: more requests than requests: wanted at least 2 x, measured 1 x." in output


@pytest.mark.parametrize(("sign", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_a_signal_ends_a_run_and_leaves_nothing(played: Played, sign: signal.Signals, expected: int) -> None:
    played.wait_for("load_tests.scenarios.swarm")
    played.signal(sign)
    code, output = played.ended()
    assert code == expected, output
    assert played.left() == []
    assert list(played.temporary.iterdir()) == []
