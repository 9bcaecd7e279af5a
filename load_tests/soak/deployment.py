"""What is put under load: a primary, its replica and a Sentinel, and services that use them."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import redis

from load_tests.harness.client import send
from load_tests.harness.processes import Service, ended
from tests.servers import SentinelSetup, Server, free_cluster_port, sentinel

SERVICES = 3
PATIENT_SECONDS, HASTY_SECONDS = 15.0, 0.5  # after which Sentinel takes a silent primary for dead
PENDING_TTL_SECONDS = 60  # longer than a moderator takes; kept predictions then stop growing within a minute
SNAPSHOTS = 20  # of each tenant in the course of the run
KEEP_ALL = 10**12  # events of every log, so that all labels can be counted in the end
APPENDED_AGAIN = re.compile(r"had lost (\d+) events; they were appended again")


class Shown(msgspec.Struct, frozen=True):
    """A tenant as a service shows it."""

    version: int
    digest: str


class Node(Service):
    """A service that keeps its port over restarts, so the port must be none that the system assigns meanwhile."""

    def __init__(self, folder: Path, name: str, **settings: object) -> None:
        port = free_cluster_port()
        super().__init__(folder / name.replace(" ", "-"), port=port, **settings)
        self.port = port
        self.name = name

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def is_alive_and_ready(self) -> bool:
        """RuntimeError if it has ended."""
        self.check_alive()
        with suppress(OSError):
            return send(self.port, "GET", "/readyz").status == 200
        return False

    def check_alive(self) -> None:
        """RuntimeError if it has ended."""
        if self.exit_code is not None:
            raise RuntimeError(f"{self.name} has ended with {self.exit_code}: {self.log_tail()}")

    def shown(self, tenant: str) -> Shown | None:
        """A tenant as it shows it; None without an answer."""
        with suppress(OSError):
            response = send(self.port, "GET", f"/tenants/{tenant}")
            return msgspec.json.decode(response.body, type=Shown) if response.status == 200 else None
        return None

    @property
    def log_text(self) -> str:
        """The whole log."""
        return self._log.read_text(errors="replace")


@dataclass(slots=True)
class Deployment:
    """The store and its services."""

    folder: Path
    store: SentinelSetup
    nodes: list[Node]
    snapshot_every_seconds: int
    primary: Server  # the one that is written to

    def new_node(self, name: str) -> Node:
        """A service more, with nothing but the store to begin from; not yet started."""
        return Node(
            self.folder,
            name,
            redis_url=self.store.url,
            pending_ttl_seconds=PENDING_TTL_SECONDS,
            snapshot_every_seconds=self.snapshot_every_seconds,
            log_retention_events=KEEP_ALL,
        )

    def set_sentinel_patience(self, seconds: float) -> None:
        """How long a primary may be silent. Long, or a busy machine would make failovers that are not planned."""
        option = ("down-after-milliseconds", int(1000 * seconds))
        self.store.sentinel.ask("SENTINEL", "SET", self.store.NAME, *option)

    def store_bytes(self) -> int | None:
        """Memory in use by the primary; None if it does not answer."""
        with suppress(redis.ConnectionError, redis.TimeoutError):
            return int(self.primary.ask("INFO", "memory")["used_memory"])
        return None

    def old_primary_follows(self) -> bool:
        """Whether the primary that was killed is a connected replica of its successor."""
        with suppress(redis.ConnectionError, redis.TimeoutError):
            role = self.store.primary.ask("ROLE")
            return bool(role[0] == b"slave" and role[2] == self.store.replica.port and role[3] == b"connected")
        return False

    def appended_again(self) -> int:
        """Events that the store had lost, and services appended again."""
        return sum(int(found) for node in self.nodes for found in APPENDED_AGAIN.findall(node.log_text))

    def rescued(self) -> int:
        """Models that services could not append again, and wrote to files."""
        return sum(1 for _ in self.folder.glob("*/rescued/*"))


@contextmanager
def deployed(folder: Path, seconds: float) -> Iterator[Deployment]:
    """Start everything; it has ended after this block."""
    with ExitStack() as stack:
        store = stack.enter_context(sentinel(folder / "store"))
        found = Deployment(folder, store, [], max(int(seconds / SNAPSHOTS), 1), store.primary)
        found.set_sentinel_patience(PATIENT_SECONDS)
        for number in range(SERVICES):
            found.nodes.append(stack.enter_context(ended(found.new_node(f"service {number + 1}"))).start())
        for node in found.nodes:
            node.is_ready()
        yield found
