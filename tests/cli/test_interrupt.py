"""Ctrl-C while a command starts: no traceback, and nothing is left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.storage.embedded.orphans import servers_in
from tests.processes import began, descendants
from tests.services import ROOT, wait_until

pytestmark = [pytest.mark.timeout(120), pytest.mark.e2e]  # slow

# As the script `sluice`; its first line tells that Python itself has started, which nothing of ours can make quiet.
START = "import sys; from app.cli import main; print('started', flush=True); sys.exit(main())"
INTERRUPTED = 130  # as a shell reports it
DELAYS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5)


def interrupt(folder: Path, delay: float, *arguments: str, workers: int = 1) -> tuple[int, str]:
    """Run a command, and send SIGINT to its group, as a terminal does; return its exit code and its output."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    own = {"SLUICE_DATA_DIR": str(folder / "data"), "SLUICE_PORT": "0", "SLUICE_WORKERS": str(workers)}
    with subprocess.Popen(
        [sys.executable, "-c", START, *arguments],
        cwd=ROOT, env=others | own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        time.sleep(delay)
        children = {pid: began(pid) for pid in descendants(process.pid)}
        os.killpg(process.pid, signal.SIGINT)
        output = process.stdout.read().decode()
        code = process.wait(60)
    wait_until(lambda: not any(began(pid) == begin for pid, begin in children.items() if begin), "a process is left")
    assert servers_in(folder / "data" / "valkey") == []
    return code, output


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_during_the_start_of_a_service_is_quiet_and_leaves_nothing(
    tmp_path: Path, workers: int, delay: float
) -> None:
    code, output = interrupt(tmp_path, delay, "serve", workers=workers)
    assert "Traceback" not in output, output
    assert code == (0 if "listening on" in output else INTERRUPTED), output


@pytest.mark.parametrize("delay", [*DELAYS[:5], 1.0, 2.0])
@pytest.mark.parametrize(
    "command", [["keys", "list"], ["audit"], ["warm"], ["features", "--url", "http://a.b"]], ids=str
)
def test_ctrl_c_during_a_command_is_quiet_and_leaves_nothing(tmp_path: Path, command: list[str], delay: float) -> None:
    code, output = interrupt(tmp_path, delay, *command)
    assert "Traceback" not in output, output
    # It may have ended before, or be about to: then Python no longer handles signals.
    assert code in {0, 1, 2, INTERRUPTED, -signal.SIGINT}, output
