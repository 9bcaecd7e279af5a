"""Real `sluice serve` processes for tests. Only processes that a test has started are ended."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx

from app.storage.embedded.orphans import socket_path
from app.storage.embedded.signals import held_back
from tests.processes import began, command_of, descendants

ROOT = Path(__file__).parent.parent
START_SECONDS = 40.0  # generous: several services may be starting on few cores
PATIENCE_SECONDS = 20.0
STOP_SECONDS = 20.0
LISTENING = re.compile(r'listening on http://[^ "]*:(\d+)')  # the line is text or JSON


class Ending(NamedTuple):
    """How a service ended."""

    code: int
    seconds: float


class Service:
    """A service in its own process group, on a free port that it keeps over restarts."""

    command: tuple[str, ...] = (sys.executable, "-m", "app", "serve")

    def __init__(
        self,
        folder: Path,
        *,
        redis_url: str | None = None,
        workers: int = 1,
        port: int | None = None,
        **settings: object,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.data_dir = folder / "data"
        self.redis_url = redis_url
        self.workers = workers
        self.port = port or 0
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None
        self.client = new_client()
        self._started: dict[int, str] = {}  # every process of the service so far, with its start time
        self._log_begin = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def store_url(self) -> str:
        """The address of its store."""
        return self.redis_url or f"unix://{socket_path(self.data_dir.resolve())}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> Self:
        """Start, and return when /readyz says so."""
        return self.launch().wait_until_ready()

    def launch(self) -> Self:
        """Start without waiting."""
        self._log_begin = len(self.whole_log())
        with (self.folder / "service.log").open("ab") as log, held_back():
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def wait_until_ready(self) -> Self:
        self.wait_until_listening()
        wait_until(self.is_ready, f"the service does not become ready: {self.log()[-3000:]}", START_SECONDS)
        self._note_processes()
        return self

    def wait_until_listening(self) -> Self:
        wait_until(self._listens, "the service does not listen", START_SECONDS)
        return self

    def _environment(self) -> dict[str, str]:
        settings: dict[str, object] = {
            "port": self.port,
            "data_dir": self.data_dir,
            "workers": self.workers,
            "redis_url": self.redis_url,
            **self.settings,
        }
        ours = {f"SLUICE_{name.upper()}": str(value) for name, value in settings.items() if value is not None}
        return {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")} | ours

    def _listens(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the service ended: {self.log()[-3000:]}"
        if found := LISTENING.search(self.log()):
            self.port = int(found[1])
        return found is not None

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the service ended: {self.log()[-3000:]}"
        return self.status("/readyz") == httpx.codes.OK

    def status(self, path: str) -> int | None:
        try:
            return self.request("GET", path).status_code
        except httpx.TransportError:
            return None

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - httpx's options
        return self.client.request(method, self.url + path, **options)

    def post(self, path: str, body: object) -> httpx.Response:
        return self.request("POST", path, json=body)

    def feedback(self, tenant: str, **body: object) -> httpx.Response:
        return self.post("/feedback", {"tenant": tenant, **body})

    def predict(self, tenant: str, **body: object) -> httpx.Response:
        return self.post("/predict", {"tenant": tenant, **body})

    def tenant(self, name: str) -> dict[str, Any]:
        """Return the answer of GET /tenants/{name}."""
        answer = self.request("GET", f"/tenants/{name}")
        assert answer.status_code == httpx.codes.OK, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    def digest(self, tenant: str) -> str:
        return str(self.tenant(tenant)["digest"])

    def readiness(self) -> dict[str, Any]:
        """Return the parts of /readyz."""
        parts: dict[str, Any] = self.request("GET", "/readyz").json()["parts"]
        return parts

    def each_worker(self, path: str) -> list[dict[str, Any]]:
        """Return the answers of all workers to a GET; the request id names the worker."""
        answers: dict[str, dict[str, Any]] = {}

        def have_all_answered() -> bool:
            with new_client() as client:  # a new connection may reach another worker
                answer = client.get(self.url + path)
            answers[answer.headers["x-request-id"].partition("-")[0]] = answer.json()
            return len(answers) >= self.workers

        wait_until(have_all_answered, f"only {len(answers)} of {self.workers} workers answer")
        return list(answers.values())

    def log(self) -> str:
        """Return the log since the last start."""
        return self.whole_log()[self._log_begin :]

    def whole_log(self) -> str:
        path = self.folder / "service.log"
        return path.read_text() if path.exists() else ""

    def kill(self, *, everything: bool = False) -> None:
        """Kill parent and workers with -9; with `everything`, also the embedded Valkey."""
        ours = self._note_processes()
        valkeys = self.valkeys()
        for pid in [pid for pid in ours if everything or pid not in valkeys]:
            self._kill(pid)
        self._reap()

    def kill_parent(self) -> None:
        """Kill only the parent with -9."""
        self._note_processes()
        self._kill(self.pid)
        self._reap()

    def kill_worker(self) -> int:
        """Kill one worker with -9; return its process id."""
        self._note_processes()
        victim = self.worker_pids()[0]
        self._kill(victim)
        return victim

    def kill_valkey(self) -> None:
        """Kill only the embedded Valkey with -9."""
        self._note_processes()
        for pid in self.valkeys():
            self._kill(pid)

    def worker_pids(self) -> list[int]:
        return [pid for pid in descendants(self.pid) if "spawn_main" in command_of(pid)]

    def valkeys(self) -> list[int]:
        """Return the running Valkey processes of this service, including orphans."""
        return [pid for pid in self._running() if "valkey-server" in command_of(pid)]

    def orphans(self) -> list[int]:
        """Return the running processes of a service whose parent has ended."""
        return self._running()

    def terminate(self) -> Ending:
        """Send SIGTERM, and wait for the exit."""
        assert self.process is not None
        self._note_processes()
        begin = time.monotonic()
        self.process.terminate()
        code = self.process.wait(STOP_SECONDS)
        self.process = None
        return Ending(code, time.monotonic() - begin)

    def wait(self) -> int:
        """Wait for the exit; return its code."""
        assert self.process is not None
        return self.process.wait(START_SECONDS)

    def _note_processes(self) -> list[int]:
        """Note the processes of the service while its parent runs; return those that run."""
        if self.process is not None and self.process.poll() is None:
            self._started |= {pid: began(pid) for pid in (self.pid, *descendants(self.pid))}
        return self._running()

    def _running(self) -> list[int]:
        return [pid for pid, begin in self._started.items() if begin and began(pid) == begin]

    def _kill(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        if self.process is not None:
            self.process.wait(STOP_SECONDS)
            self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill all its processes, in any state."""
        for pid in self._note_processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            self._kill(pid)
        self._reap()
        self.client.close()


def wait_until(holds: Callable[[], bool], otherwise: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def new_client() -> httpx.Client:
    # Without certificates and proxies, whose configuration takes longer to read than a request.
    return httpx.Client(verify=False, trust_env=False, timeout=15.0)  # noqa: S501 - it only talks to this machine
