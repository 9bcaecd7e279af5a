"""One real Valkey cluster: primaries that share the slots, each with a replica; and where the 256 shards lie."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis.crc import key_slot

from app.storage.redis_keys import SHARDS, shard_of
from tests.servers import Server, cluster, cluster_is_ok, free_cluster_port, wait_until

SLOTS = 16_384
SLOT_OF_SHARD = {shard: key_slot(shard.encode()) for shard in SHARDS}
PRIMARIES = 3
NODE_TIMEOUT_MILLISECONDS = 2000
OPTIONS = (
    "--cluster-node-timeout", str(NODE_TIMEOUT_MILLISECONDS),
    "--cluster-require-full-coverage", "no",  # otherwise one node that is away stops the others, too
    "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
)  # fmt: skip


def slot_of(tenant: str) -> int:
    return SLOT_OF_SHARD[shard_of(tenant)]


def busiest_share(nodes: int) -> float:
    """How many times its fair part of the shards the fullest of so many nodes has, with equally many slots each."""
    found = Counter(slot * nodes // SLOTS for slot in SLOT_OF_SHARD.values())
    return max(found.values()) * nodes / len(SHARDS)


@dataclass(frozen=True, slots=True)
class Member:
    """A line of CLUSTER NODES."""

    port: int
    is_primary: bool
    slots: tuple[tuple[int, int], ...]

    def has(self, slot: int) -> bool:
        return any(first <= slot <= last for first, last in self.slots)


class Cluster:
    """The nodes by their ports."""

    def __init__(self, folder: Path, stack: ExitStack, nodes: Sequence[Server]) -> None:
        self._folder = folder
        self._stack = stack
        self.nodes = {node.port: node for node in nodes}

    @property
    def url(self) -> str:
        """As SLUICE_REDIS_URL wants it: some nodes, from which the others are found."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.nodes)

    @property
    def running(self) -> list[Server]:
        return [node for node in self.nodes.values() if node.process is not None]

    def add(self, name: str) -> Server:
        first = self.running[0]
        server = Server(first.program, self._folder / name, *first.arguments, port=free_cluster_port())
        self.nodes[server.port] = self._stack.enter_context(server).start()
        return server

    def join(self, *nodes: Server) -> None:
        """Let nodes join the first one; return when all know each other."""
        for node in nodes:
            self.running[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        count = len(self.running)
        wait_until(lambda: all(len(members(node)) == count for node in self.running), "the nodes do not meet")

    def primaries(self) -> dict[Member, Server]:
        """Those with slots, in the order of these."""
        found = [member for member in members(self.running[0]) if member.is_primary and member.slots]
        return {member: self.nodes[member.port] for member in sorted(found, key=lambda member: member.slots)}

    def wait_until_ok(self) -> None:
        """Return when every node sees every slot, and every replica follows."""

        def is_ok(node: Server) -> bool:
            role = node.ask("ROLE")
            return cluster_is_ok(node) and (role[0] == b"master" or role[3] == b"connected")

        wait_until(lambda: all(map(is_ok, self.running)), "the cluster does not come together")


@contextmanager
def replicated_cluster(folder: Path) -> Iterator[Cluster]:
    with cluster(folder, *OPTIONS) as primaries, ExitStack() as stack:
        made = Cluster(folder, stack, primaries.nodes)
        replicas = [made.add(f"replica {number}") for number in range(PRIMARIES)]
        made.join(*replicas)
        for primary, replica in zip(primaries.nodes, replicas, strict=True):
            replica.ask("CLUSTER", "REPLICATE", my_id(primary))
        made.wait_until_ok()
        yield made


def my_id(node: Server) -> bytes:
    return bytes(node.ask("CLUSTER", "MYID"))


def port_of(address: str) -> int:
    """The port of an address in CLUSTER NODES, as in `127.0.0.1:7001@17001`."""
    return int(address.partition("@")[0].rpartition(":")[2])


def members(node: Server) -> list[Member]:
    return members_in(bytes(node.ask("CLUSTER", "NODES")).decode())


def members_in(text: str) -> list[Member]:
    """What CLUSTER NODES says; nodes that have failed or are not known yet are left out."""
    found = []
    for fields in filter(None, map(str.split, text.splitlines())):
        if not {"fail", "handshake", "noaddr"} & (flags := set(fields[2].split(","))):
            ranges = [part.partition("-") for part in fields[8:] if not part.startswith("[")]  # [slot->-node]: moving
            slots = tuple((int(first), int(last or first)) for first, _, last in ranges)
            found.append(Member(port_of(fields[1]), "master" in flags, slots))
    return found
