"""Real runs of two seconds: a service, Locust, and no process or file left."""

import re
import signal
from pathlib import Path

import pytest

from load_tests.harness.wrk import installed
from tests.load_tests.commands import ROOT, Command

BENCH_PYTHON = ROOT / ".venv-bench" / "bin" / "python"
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


def play(folder: Path, thresholds: str = EXACT, scenarios: str = "feedback") -> Command:
    file = folder / "thresholds.toml"
    file.write_text(thresholds)
    options = ["--scenarios", scenarios, "--seconds", "2", "--thresholds", str(file)]
    files = ["--reports", str(folder / "reports"), "--locust-python", str(BENCH_PYTHON)]
    return Command(folder, "scenarios", *options, *files)


def test_a_short_run_ends_well_with_a_report_and_leaves_nothing(tmp_path: Path) -> None:
    with play(tmp_path) as run:
        assert run.wait() == 0, run.output
        assert "| feedback |" in run.output
        assert "<html" in (tmp_path / "reports" / "feedback.html").read_text()
        assert run.left() == []


@pytest.mark.skipif(not installed(), reason="wrk is not installed")
def test_services_stay_for_wrk_and_no_longer(tmp_path: Path) -> None:
    with play(tmp_path, scenarios="scoring,mixed") as run:
        assert run.wait() == 0, run.output
        assert "wrk sends the same, 1 times for 2 s in turns: scoring, mixed" in run.output
        assert re.search(r"\| mixed \|.* the same \|( [\d.,]+ \|){3} [\d.]+ x \|", run.output)
        assert run.left() == []


def test_a_missed_threshold_is_named_and_decides_the_exit_code(tmp_path: Path) -> None:
    with play(tmp_path, IMPOSSIBLE) as run:
        assert run.wait() == 1, run.output
        assert "- feedback: more requests than requests: wanted at least 2 x, measured 1 x." in run.output


@pytest.mark.parametrize(("sign", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 1)])
def test_a_signal_ends_a_run_and_leaves_nothing(tmp_path: Path, sign: signal.Signals, expected: int) -> None:
    with play(tmp_path) as run:
        assert run.interrupt_after("users of Locust for", sign) == expected, run.output
        assert run.left() == []
