"""The processes under test. Each is a context manager that ends it, whatever happens in the block."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from app.storage.embedded.signals import held_back
from load_tests.harness.client import send
from tests.servers import free_port

Result = TypeVar("Result")
NOT_INHERITED = ("SLUICE_", "OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")  # as a service really starts
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.002
TERMINATION_SECONDS = 3.0
INTERRUPTED = 130  # a shell's exit code for Ctrl-C


async def in_thread(call: Callable[..., Result], *arguments: object) -> Result:
    """Call in a thread; also if cancelled, wait for its end: a process that it starts must have an owner."""
    task = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def until_signal(work: Coroutine[Any, Any, Result]) -> Result:
    """Do the work; SIGTERM and SIGHUP cancel it, and then end the program.

    A handler that raises would do so anywhere, also where a process is being started or ended, which is then left.
    """
    task = asyncio.current_task()
    assert task is not None
    loop, received = asyncio.get_running_loop(), []

    def cancel(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, cancel, number)
    try:
        return await work
    except asyncio.CancelledError:
        if received:
            sys.exit("ended by a signal")
        raise


class Server:
    """A process that answers on a port, with its children."""

    terminates: ClassVar[bool] = False  # whether it gets time to end its children itself

    def __init__(self, command: list[str], port: int, log: Path, settings: dict[str, str] | None = None) -> None:
        self.port = port
        self._command = command
        self._log = log
        self._settings = settings or {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        with self._log.open("ab") as log, held_back():
            self._process = subprocess.Popen(  # noqa: S603 - our own programs
                self._command,
                env=inherited | self._settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C goes to the benchmark, which then ends it
            )
        return self

    def wait_for(self, method: str, path: str, body: bytes = b"", patience_seconds: float = PATIENCE_SECONDS) -> Self:
        """Return with the first 200."""

        def answers() -> bool:
            with suppress(OSError):
                return send(self.port, method, path, body).status == 200
            return False

        return self.wait_until(answers, patience_seconds)

    def wait_until(self, answers: Callable[[], bool], patience_seconds: float = PATIENCE_SECONDS) -> Self:
        """Return when it answers; TimeoutError with the end of its log if it does not."""
        deadline = time.monotonic() + patience_seconds
        while not answers():
            if time.monotonic() > deadline or self._process is None or self._process.poll() is not None:
                tail = self._log.read_text(errors="replace")[-800:]
                raise TimeoutError(f"{self._command} does not answer. The end of its log: {tail}")
            time.sleep(LOOK_SECONDS)
        return self

    def kill(self) -> None:
        """Kill the process (-9), as in a crash, and wait for its end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def end(self) -> None:
        """End the process and its children. There is no data to keep, so it need not shut down in order."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            if self.terminates:
                os.killpg(self.pid, signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(TERMINATION_SECONDS)
            os.killpg(self.pid, signal.SIGKILL)
        self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Daemon(Server):
    """A server with children that it ends itself."""

    terminates = True


class Service(Server):
    """`sluice serve` with an embedded Valkey, in a folder of its own."""

    def __init__(self, folder: Path, **settings: object) -> None:
        port = free_port()
        given = {"port": port, "data_dir": folder, "log_level": "warning", **settings}
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        super().__init__(
            [str(Path(sys.executable).with_name("sluice")), "serve"],
            port,
            folder / "service.log",
            {f"SLUICE_{name.upper()}": str(value) for name, value in given.items()},
        )

    def is_ready(self) -> Self:
        """Wait until it is."""
        return self.wait_for("GET", "/readyz")

    @contextmanager
    def running(self) -> Iterator[Self]:
        with self.start():
            yield self.is_ready()

    @property
    def valkey_pid(self) -> int | None:
        """The embedded server, also when it has outlived the service."""
        try:
            pid = int((self.folder / "valkey.pid").read_text())
            place = Path(f"/proc/{pid}/cwd").resolve(strict=True)
        except (OSError, ValueError):
            return None
        return pid if place.is_relative_to(self.folder.resolve()) else None

    def kill_valkey(self) -> None:
        if (pid := self.valkey_pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            while self.valkey_pid is not None:
                time.sleep(LOOK_SECONDS)

    @contextmanager
    def frozen_store(self) -> Iterator[None]:
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
def limit_server(folder: Path) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "load_tests.harness.limit", str(port)]
    with Server(command, port, folder / "limit.log").start() as server:
        yield server.wait_for("POST", "/predict", b"{}")


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A temporary folder for a benchmark. Signals end the block, and with it every process that it has started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have set it to be ignored
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))
    try:
        with tempfile.TemporaryDirectory(prefix=f"sluice-{name}-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except KeyboardInterrupt:
        print("\nInterrupted. Every process that was started has ended.")
        sys.exit(INTERRUPTED)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
