"""What is put under load: a primary, its replica and a Sentinel, and services that use them."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import redis

from load_tests.harness.client import send as ask
from load_tests.harness.processes import Service, ended
from load_tests.soak.plan import SERVICES
from tests.servers import SentinelSetup, Server, free_cluster_port, sentinel

PATIENT_SECONDS, HASTY_SECONDS = 15.0, 0.5  # after which Sentinel takes a silent primary for dead
PENDING_TTL_SECONDS = 60  # longer than a moderator takes; kept predictions then stop growing within a minute
SNAPSHOTS = 20  # of each tenant in the course of the run
KEEP_ALL = 10**12  # events of every log, so that all labels can be counted in the end
APPENDED_AGAIN = re.compile(r"had lost (\d+) events; they were appended again")


class Node(Service):
    """A service that can be stopped gently. It keeps its port over restarts, though nobody listens there meanwhile.

    So the port must be none that the system might give to somebody else.
    """

    def __init__(self, folder: Path, name: str, redis_url: str, snapshot_every_seconds: int) -> None:
        port = free_cluster_port()
        super().__init__(
            folder / name.replace(" ", "-"),
            port=port,
            redis_url=redis_url,
            pending_ttl_seconds=PENDING_TTL_SECONDS,
            snapshot_every_seconds=snapshot_every_seconds,
            log_retention_events=KEEP_ALL,
        )
        self.port = port
        self.name = name

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    def check_alive(self) -> None:
        """RuntimeError if it has ended, though nobody wanted it to."""
        if self.exit_code is not None:
            raise RuntimeError(f"{self.name} has ended with {self.exit_code}: {self.log_tail()}")

    def answers_ready(self) -> bool:
        """Whether it says so."""
        self.check_alive()
        with suppress(OSError):
            return ask(self.port, "GET", "/readyz").status == 200
        return False

    def shown(self, tenant: str) -> bytes:
        """What it says about a tenant; empty if it says nothing."""
        try:
            reply = ask(self.port, "GET", f"/tenants/{tenant}")
        except OSError:
            return b""
        return reply.body if reply.status == 200 else b""

    @property
    def log_text(self) -> str:
        """All that it has ever logged."""
        return self._log.read_text(errors="replace")


@dataclass(slots=True)
class Deployment:
    """The store and its services."""

    folder: Path
    store: SentinelSetup
    nodes: list[Node]
    snapshot_every_seconds: int
    has_failed_over: bool = False

    @property
    def url(self) -> str:
        """Of the store."""
        return self.store.url

    @property
    def primary(self) -> Server:
        """The one that is written to."""
        return self.store.replica if self.has_failed_over else self.store.primary

    def let_sentinel_wait(self, seconds: float) -> None:
        """How long a primary may be silent. Patient, or a busy machine would make failovers that nobody planned."""
        option = ("down-after-milliseconds", int(1000 * seconds))
        self.store.sentinel.ask("SENTINEL", "SET", self.store.NAME, *option)

    def store_bytes(self) -> int | None:
        """Memory in use by the primary; None if it does not answer."""
        try:
            return int(self.primary.ask("INFO", "memory")["used_memory"])
        except (redis.ConnectionError, redis.TimeoutError):
            return None

    def old_primary_follows(self) -> bool:
        """Whether the primary that was killed has become a replica of its successor, and is in contact with it."""
        try:
            role = self.store.primary.ask("ROLE")
        except (redis.ConnectionError, redis.TimeoutError):
            return False
        return bool(role[0] == b"slave" and role[2] == self.store.replica.port and role[3] == b"connected")

    def appended_again(self) -> int:
        """Events that the store had lost, and services gave back."""
        return sum(int(found) for node in self.nodes for found in APPENDED_AGAIN.findall(node.log_text))

    def tracebacks(self) -> int:
        """In the services' logs: each is a mistake of Sluice's."""
        return sum(node.log_text.count("Traceback (most recent call last)") for node in self.nodes)

    def rescued(self) -> int:
        """Models that a service could not give back, and wrote to a file."""
        return sum(1 for _ in self.folder.glob("*/rescued/*"))

    def new_node(self, name: str) -> Node:
        """One more, with nothing but the store to begin from; not yet started."""
        return Node(self.folder, name, self.url, self.snapshot_every_seconds)


@contextmanager
def deployed(folder: Path, seconds: float) -> Iterator[Deployment]:
    """Start everything; it has ended after this block."""
    with ExitStack() as running:
        store = running.enter_context(sentinel(folder / "store"))
        found = Deployment(folder, store, [], max(int(seconds / SNAPSHOTS), 1))
        found.let_sentinel_wait(PATIENT_SECONDS)
        for number in range(SERVICES):
            node = found.new_node(f"service {number + 1}")
            found.nodes.append(running.enter_context(ended(node)))
            node.start()
        for node in found.nodes:
            node.is_ready()
        yield found
