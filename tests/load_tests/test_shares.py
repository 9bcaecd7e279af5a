"""Processes that are held to a part of a core."""

import os
import subprocess
import sys
import time

import pytest

from load_tests.harness.processes import processor_seconds
from load_tests.harness.shares import group_of, held, may_hold, workers_of

needs_groups = pytest.mark.skipif(not may_hold(), reason="this machine has no control groups to write to")


@needs_groups
def test_a_process_gets_no_more_than_its_share() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            with held([busy.pid], 0.2):
                before, begin = processor_seconds(busy.pid), time.monotonic()
                time.sleep(1.0)
                used = (processor_seconds(busy.pid) - before) / (time.monotonic() - begin)
        finally:
            busy.kill()
    assert 0.0 < used < 0.3


@needs_groups
def test_nothing_is_left_of_the_group() -> None:
    before = group_of(os.getpid())
    with held([os.getpid()], 1.0):
        during = group_of(os.getpid())
        assert during.is_dir()
    assert group_of(os.getpid()) == before
    assert not during.exists()


def test_a_service_of_one_worker_is_its_own_worker() -> None:
    assert workers_of(os.getpid()) == [os.getpid()]
