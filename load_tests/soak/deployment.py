"""The deployment under load: a primary, its replica and a Sentinel, and services that use them."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec
import redis

from tests.servers import SentinelSetup, Server, free_cluster_port, sentinel
from tests.services import Service

SERVICES = 3
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.05
PATIENT_SECONDS, HASTY_SECONDS = 15.0, 0.5  # after which Sentinel takes a silent primary for dead
PENDING_TTL_SECONDS = 60  # longer than a moderator takes; kept predictions then stop growing within a minute
SNAPSHOTS = 20  # of each tenant in the course of the run
KEEP_ALL = 10**12  # events of every log, so that all labels can be counted in the end


class Shown(msgspec.Struct, frozen=True):
    """A tenant as a service shows it."""

    version: int
    digest: str


def shown(node: Service, tenant: str) -> Shown | None:
    """A tenant as a service shows it; None without an answer."""
    with suppress(httpx.TransportError):
        answer = node.request("GET", f"/tenants/{tenant}")
        return msgspec.json.decode(answer.content, type=Shown) if answer.status_code == httpx.codes.OK else None
    return None


@dataclass(slots=True)
class Deployment:
    """The store and its services."""

    folder: Path
    store: SentinelSetup
    nodes: list[Service]
    snapshot_every_seconds: int
    primary: Server  # the one that is written to

    def new_node(self, name: str) -> Service:
        """A service that has nothing but the store; not yet started. Its port stays, so it must not be ephemeral."""
        return Service(
            self.folder / name,
            redis_url=self.store.url,
            port=free_cluster_port(),
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


@contextmanager
def deployed(folder: Path, seconds: float) -> Iterator[Deployment]:
    with ExitStack() as stack:
        store = stack.enter_context(sentinel(folder / "store"))
        found = Deployment(folder, store, [], max(int(seconds / SNAPSHOTS), 1), store.primary)
        found.set_sentinel_patience(PATIENT_SECONDS)
        for number in range(SERVICES):
            found.nodes.append(stack.enter_context(found.new_node(f"service {number + 1}")).launch())
        for node in found.nodes:
            node.wait_until_ready()
        yield found


async def until(holds: Callable[[], bool], seconds: float, otherwise: str = "") -> bool:
    """Wait until something holds. If it does not within this time: TimeoutError with a text, False without one."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(holds):
        if time.monotonic() > deadline:
            if otherwise:
                raise TimeoutError(otherwise)
            return False
        await asyncio.sleep(PAUSE_SECONDS)
    return True
