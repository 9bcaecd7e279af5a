"""Signals that come while a process is being started."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.storage.embedded.signals import handled, held_back
from tests.processes import began, descendants

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENT = """
import signal, sys
from pathlib import Path
from load_tests.harness.processes import Server
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
with Server(["/bin/sleep", "600"], 0, Path(sys.argv[1])) as server:
    print("now", flush=True)
    server.start()
    signal.pause()
"""


class Ended(Exception):
    """Raised by the handler of a signal."""


@pytest.fixture(params=SIGNALS, ids=lambda number: number.name)
def number(request: pytest.FixtureRequest) -> signal.Signals:
    found: signal.Signals = request.param
    return found


@pytest.fixture
def raising(number: signal.Signals) -> Iterator[object]:
    def handler(received: int, _: object) -> None:
        raise Ended(received)

    before = signal.signal(number, handler)
    yield handler
    signal.signal(number, before)


def test_a_signal_is_handled_after_the_block_that_holds_it_back(number: signal.Signals, raising: object) -> None:
    reached = []

    def start_something() -> None:
        with held_back():
            signal.raise_signal(number)
            signal.raise_signal(number)
            reached.append("the end of the block")

    with pytest.raises(Ended, match=str(int(number))):
        start_something()
    assert reached == ["the end of the block"]
    assert signal.getsignal(number) is raising


def test_a_block_without_a_signal_leaves_everything_as_it_was(number: signal.Signals, raising: object) -> None:
    with held_back():
        pass
    assert signal.getsignal(number) is raising


def test_a_signal_that_is_ignored_stays_so(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with held_back():
            assert signal.getsignal(number) is signal.SIG_IGN
            signal.raise_signal(number)
    finally:
        signal.signal(number, before)


@pytest.mark.usefixtures("raising")
def test_signals_can_be_ignored_while_processes_are_ended(number: signal.Signals) -> None:
    with handled(signal.SIG_IGN):
        signal.raise_signal(number)


def test_other_threads_may_start_processes_too() -> None:
    reached = []

    def hold() -> None:
        with held_back():
            reached.append("the block")

    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    assert reached == ["the block"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("_", range(5))
def test_a_process_that_is_being_started_ends_with_its_parent(_: int, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PATIENT, str(tmp_path / "log")], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"now\n"
        while not (started := descendants(starter.pid)):
            assert starter.poll() is None
        beginnings = {pid: began(pid) for pid in started}
        starter.send_signal(signal.SIGTERM)
        assert starter.wait(60) == 7
    left = [pid for pid, beginning in beginnings.items() if beginning and began(pid) == beginning]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []
