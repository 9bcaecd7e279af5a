"""The processes that are measured. Each is ended with its block, whatever happens in it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar

from app.cli.signals import held_back
from app.storage.embedded.orphans import socket_path
from load_tests.service.asking import ask

NOT_INHERITED = ("SLUICE_", "OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")  # as a service really starts
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.002


class Server:
    """A process that answers on a port."""

    def __init__(self, command: list[str], port: int, log: Path, settings: dict[str, str] | None = None) -> None:
        self.port = port
        self._command = command
        self._log = log
        self._settings = settings or {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Start the process; it does not answer yet."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        with self._log.open("ab") as log, held_back():
            self._process = subprocess.Popen(  # noqa: S603 - our own programs
                self._command,
                env=inherited | self._settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for the benchmark, which then ends it
            )
        return self

    def wait_for(self, method: str, path: str, body: bytes = b"") -> None:
        """Return with the first 200."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._ask(method, path, body) != 200:
            if time.monotonic() > deadline or not self._runs():
                raise TimeoutError(f"{self._command} does not answer. Its last words: {self._last_words()}")
            time.sleep(LOOK_SECONDS)

    def kill(self) -> None:
        """Kill at once (-9), and wait for the end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> None:
        """End everything that was started. Nothing is to be kept, so there is nothing to wait for."""
        self.kill()

    def _runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _ask(self, method: str, path: str, body: bytes) -> int:
        try:
            return ask(self.port, method, path, body).status
        except OSError:
            return 0

    def _last_words(self) -> str:
        return self._log.read_text(errors="replace")[-800:]


AnyServer = TypeVar("AnyServer", bound=Server)


class Service(Server):
    """`sluice serve` with an embedded Valkey, in a folder of its own."""

    def __init__(self, folder: Path, **settings: object) -> None:
        port = free_port()
        given = {"port": port, "data_dir": folder, "log_level": "warning", **settings}
        command = [str(Path(sys.executable).with_name("sluice")), "serve"]
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        super().__init__(
            command,
            port,
            folder / "service.log",
            {f"SLUICE_{name.upper()}": str(value) for name, value in given.items()},
        )

    def is_ready(self) -> Self:
        """Wait until it is."""
        self.wait_for("GET", "/readyz")
        return self

    @property
    def socket(self) -> Path:
        """Where the embedded server listens."""
        return socket_path(self._folder)

    @property
    def valkey_pid(self) -> int | None:
        """Of the embedded server, also when it has outlived the service."""
        try:
            pid = int((self._folder / "valkey.pid").read_text())
            place = Path(f"/proc/{pid}/cwd").resolve(strict=True)
        except (OSError, ValueError):
            return None
        return pid if place.is_relative_to(self._folder.resolve()) else None

    def kill_valkey(self) -> None:
        """Kill the embedded server at once (-9)."""
        if (pid := self.valkey_pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            while self.valkey_pid is not None:
                time.sleep(LOOK_SECONDS)

    @contextmanager
    def frozen_store(self) -> Iterator[None]:
        """The embedded server does not answer meanwhile."""
        pid = self.valkey_pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def end(self) -> None:
        """End the embedded server, too."""
        try:
            super().end()
        finally:
            self.kill_valkey()


@contextmanager
def ended(server: AnyServer) -> Iterator[AnyServer]:
    """The server has ended after this block."""
    try:
        yield server
    finally:
        server.end()


def limit_server(folder: Path) -> Server:
    """The bare route."""
    port = free_port()
    return Server([sys.executable, "-m", "load_tests.service.limit", str(port)], port, folder / "limit.log")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def processor_seconds(pid: int) -> float:
    """What a process has used so far, of all cores."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
