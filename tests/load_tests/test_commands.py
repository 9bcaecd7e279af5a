"""Real runs of commands, each with a temporary folder of its own, and short: scenarios, the soak, the torture."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

from load_tests.harness.report import PERFORMANCE
from load_tests.harness.wrk import installed
from tests.processes import command_of

ROOT = Path(__file__).parents[2]
BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
PATIENCE_SECONDS = 400.0  # on a busy machine
EXACT = """
[thresholds]
"failures" = "*.failures / *.requests <= 0"
"counted by one only" = "*.miscounted / *.requests <= 0"
"""
IMPOSSIBLE = """
[thresholds]
"more requests than requests" = "*.requests / *.requests >= 2"
"""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(int(PATIENCE_SECONDS) + 60)]
needs_locust = pytest.mark.skipif(not BENCH_PYTHON.exists(), reason="the benchmark environment is not installed")


class Command:
    """`python -m load_tests.<name> <arguments>`, as a context manager that leaves nothing."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.temporary = folder / "tmp"
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


def play(folder: Path, thresholds: str = EXACT, scenarios: str = "feedback") -> Command:
    file = folder / "thresholds.toml"
    file.write_text(thresholds)
    options = ["--scenarios", scenarios, "--seconds", "2", "--thresholds", str(file)]
    files = ["--reports", str(folder / "reports"), "--locust-python", str(BENCH_PYTHON)]
    return Command(folder, "scenarios", *options, *files)


@needs_locust
def test_a_short_run_ends_well_with_a_report_and_leaves_nothing(tmp_path: Path) -> None:
    with play(tmp_path) as run:
        assert run.wait() == 0, run.output
        assert "| feedback |" in run.output
        assert "<html" in (tmp_path / "reports" / "feedback.html").read_text()
        assert run.left() == []


@needs_locust
@pytest.mark.skipif(not installed(), reason="wrk is not installed")
def test_services_stay_for_wrk_and_no_longer(tmp_path: Path) -> None:
    with play(tmp_path, scenarios="scoring,mixed") as run:
        assert run.wait() == 0, run.output
        assert "wrk sends the same, 1 times for 2 s in turns: scoring, mixed" in run.output
        assert re.search(r"\| mixed \|.* the same \|( [\d.,]+ \|){3} [\d.]+ x \|", run.output)
        assert run.left() == []


@needs_locust
def test_a_missed_threshold_is_named_and_decides_the_exit_code(tmp_path: Path) -> None:
    with play(tmp_path, IMPOSSIBLE) as run:
        assert run.wait() == 1, run.output
        assert "- feedback: more requests than requests: wanted at least 2 x, measured 1 x." in run.output


def soak(folder: Path) -> Command:
    return Command(folder, "soak", "--seconds", "36")


def test_restarts_and_a_failover_lose_no_label_and_leave_all_services_the_same(tmp_path: Path) -> None:
    page = PERFORMANCE.read_text()
    with soak(tmp_path) as command:
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


def torture(folder: Path, seed: int = 7) -> Command:
    return Command(folder, "torture", "--seconds", "45", "--seed", str(seed), "--keep", str(folder / "kept"))


@pytest.mark.parametrize("seed", [7, 22])  # both with failovers after evictions
def test_random_faults_break_no_promise(seed: int, tmp_path: Path) -> None:
    with torture(tmp_path, seed) as command:
        assert command.wait() == 0, command.output
        assert "violations: none" in command.output
        assert command.left() == []


@pytest.mark.parametrize(("sign", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
@pytest.mark.parametrize(
    ("run", "text"),
    [
        pytest.param(play, "users of Locust for", marks=needs_locust),
        (soak, ": kill -9"),
        (torture, "most MiB"),
    ],
)
def test_a_signal_ends_a_run_and_leaves_nothing(
    run: Callable[[Path], Command], text: str, sign: signal.Signals, expected: int, tmp_path: Path
) -> None:
    with run(tmp_path) as command:
        assert command.interrupt_after(text, sign) == expected, command.output
        assert command.left() == []
