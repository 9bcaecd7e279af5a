"""The smallest pieces of a real run, and nothing left of one that is ended."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from load_tests.harness.wrk import installed
from load_tests.scale import models, stores
from load_tests.scale.sizes import QUICK
from tests.processes import began, command_of, descendants

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 60.0

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not installed(), reason="wrk is not installed"),
]


def test_a_model_costs_time_and_memory(tmp_path: Path) -> None:
    (found,) = models.measure(tmp_path, replace(QUICK, models=(20_000,)))
    assert found.features == 20_000
    assert found.resident_bytes > 24 * found.features
    assert 0.0 < found.predict.worker.median < found.feedback.worker.median
    assert found.predict.rate.median > found.feedback.rate.median


def test_a_store_writes_more_at_once_than_one_by_one(tmp_path: Path) -> None:
    found = stores.measure(tmp_path, replace(QUICK, store_seconds=0.2))
    for writes in (found.labels, found.kept, found.blocks):
        alone, *_, together = writes
        assert together.rate > alone.rate
        assert together.disk_bytes > 500.0


def test_a_run_that_is_ended_leaves_nothing(tmp_path: Path) -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "load_tests.scale", "--quick"],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seen: dict[int, str] = {}
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not any("sluice serve" in command_of(pid) for pid in seen):
            assert time.monotonic() < deadline
            seen |= {pid: beginning for pid in descendants(run.pid) if (beginning := began(pid))}
            time.sleep(0.05)
        run.terminate()
        assert run.wait(PATIENCE_SECONDS) == 1
        assert [command_of(pid) for pid, beginning in seen.items() if began(pid) == beginning] == []
        assert list(tmp_path.iterdir()) == []
    finally:
        run.kill()
        run.wait()
