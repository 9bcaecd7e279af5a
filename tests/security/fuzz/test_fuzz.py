"""Fuzz every parser for some seconds, each in its own process, so that a crash is detected.

`make fuzz SECONDS=600` runs longer; FUZZ_SEED=... repeats a failed run.
"""

import os
import secrets
from pathlib import Path

import pytest

from tests.security.fuzz.fuzzer import START_SECONDS, failure
from tests.security.fuzz.targets import TARGETS

SECONDS = float(os.environ.get("FUZZ_SECONDS", "4"))
TARGET = """
import os, signal, time
from hypothesis import strategies as st
from tests.security.fuzz.targets import TARGETS, Target
def check(sent):
    if sent > 7:
        {harm}
TARGETS["own"] = Target(lambda: st.integers(0, 9), check)
"""

pytestmark = pytest.mark.timeout(SECONDS + 2 * START_SECONDS)


@pytest.mark.e2e
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_makes_a_parser_fail_hang_or_crash(name: str, tmp_path: Path) -> None:
    seed = int(os.environ.get("FUZZ_SEED") or secrets.randbits(32))
    assert failure(name, SECONDS, seed, tmp_path / "input") is None


def test_a_crash_is_reported_with_the_input_that_caused_it(tmp_path: Path) -> None:
    report = failure("own", 5.0, 7, tmp_path / "input", TARGET.format(harm="os.kill(os.getpid(), signal.SIGSEGV)"))
    assert report
    assert report.startswith(("own died of SIGSEGV with 8; FUZZ_SEED=7", "own died of SIGSEGV with 9; FUZZ_SEED=7"))


def test_a_failure_is_reported_with_how_to_reproduce_it(tmp_path: Path) -> None:
    report = failure("own", 5.0, 7, tmp_path / "input", TARGET.format(harm="raise ValueError(sent)"))
    assert report
    assert report.startswith("own fails; FUZZ_SEED=7")
    assert "reproduce_failure" in report


def test_a_parser_without_a_fault_has_no_failure(tmp_path: Path) -> None:
    assert failure("own", 0.5, 7, tmp_path / "input", TARGET.format(harm="pass")) is None
