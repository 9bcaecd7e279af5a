"""A service for the demo only: a real `sluice serve` with an embedded Valkey, which leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from app.cli.client import Client, ServiceUnavailable
from app.learning.errors import SluiceError
from app.storage.embedded.orphans import end_servers, socket_path
from app.storage.embedded.signals import handled, held_back

START_SECONDS: Final = 180.0  # kernels that are not compiled yet take a minute
STOP_SECONDS: Final = 15.0
LISTENING: Final = re.compile(r"listening on (http://[\w.:-]+)")
LINES_SHOWN: Final = 5


class ServiceNotStarted(SluiceError):
    """The service ended, or took too long, before it was ready."""


@contextmanager
def local_service() -> Iterator[str]:
    """Run a service during the block, with its data and its log in a temporary folder; yield its URL."""
    with tempfile.TemporaryDirectory(prefix="sluice-demo-", ignore_cleanup_errors=True) as name:
        folder, process = Path(name), None
        try:
            with held_back():
                process = _start(folder)
            yield _wait_until_ready(process, folder / "service.log")
        finally:
            if process is not None:
                _stop(process, folder / "data")


def _start(folder: Path) -> subprocess.Popen[bytes]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    ours = {"SLUICE_PORT": "0", "SLUICE_DATA_DIR": str(folder / "data"), "SLUICE_SHUTDOWN_SECONDS": "1"}
    with (folder / "service.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "app", "serve"],  # -P: do not import an `app` of the current folder
            env=others | ours,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C goes to the demo, which then ends the service
        )


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServiceNotStarted(f"the service could not start: {_last_lines(log)}")
        listening = LISTENING.search(log.read_text(errors="replace"))
        if listening and _is_ready(listening[1]):
            return listening[1]
        time.sleep(0.05)
    raise ServiceNotStarted(f"the service is not ready after {START_SECONDS:.0f} s: {_last_lines(log)}")


def _is_ready(url: str) -> bool:
    try:
        with Client(url, timeout_seconds=START_SECONDS) as client:
            client.get_once("/readyz")
    except ServiceUnavailable:
        return False
    return True


def _last_lines(log: Path) -> str:
    return " | ".join(log.read_text(errors="replace").strip().splitlines()[-LINES_SHOWN:]) or "it logged nothing"


def _stop(process: subprocess.Popen[bytes], data: Path) -> None:
    """Send SIGTERM; kill the service and its Valkey if that is not enough."""
    with handled(signal.SIG_IGN):  # a second Ctrl-C must not leave a service behind
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return
        process.kill()
        process.wait()
        end_servers(data / "valkey", socket_path(data))
