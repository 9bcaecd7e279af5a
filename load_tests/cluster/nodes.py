"""One real Valkey cluster: primaries that share the slots, each with a replica; all end with the block."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from load_tests.cluster.slots import even_ranges
from tests.servers import DURABLE, Server, free_cluster_port, valkey_binary, wait_until

PRIMARIES = 3
NODE_TIMEOUT_MILLISECONDS = 2000
OPTIONS = (
    *DURABLE, "--cluster-enabled", "yes", "--cluster-node-timeout", str(NODE_TIMEOUT_MILLISECONDS),
    "--cluster-require-full-coverage", "no",  # otherwise one node that is away stops the others, too
    "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Member:
    """A line of CLUSTER NODES."""

    port: int
    is_primary: bool
    slots: tuple[tuple[int, int], ...]

    def has(self, slot: int) -> bool:
        """Whether a slot is served here."""
        return any(first <= slot <= last for first, last in self.slots)


class Cluster:
    """The nodes by their ports."""

    def __init__(self, folder: Path, running: ExitStack) -> None:
        self._folder = folder
        self._running = running
        self.nodes: dict[int, Server] = {}
        self.names: dict[int, str] = {}

    @property
    def url(self) -> str:
        """As SLUICE_REDIS_URL wants it: some nodes, from which the others are found."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.nodes)

    @property
    def living(self) -> list[Server]:
        """Those whose process runs."""
        return [node for node in self.nodes.values() if node.process is not None]

    def add(self, name: str) -> Server:
        """Start a node outside the cluster."""
        server = Server(valkey_binary(), self._folder / name, *OPTIONS, port=free_cluster_port())
        node = self._running.enter_context(server).start()
        self.nodes[node.port], self.names[node.port] = node, name
        return node

    def meet(self, node: Server) -> None:
        """Let a node join the others; return when all of them know it, and it takes keys."""
        self.living[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        wait_until(lambda: all(_has_met(other, len(self.living)) for other in self.living), "a node does not join")
        self.wait_until_ok()  # a new node refuses everything for two seconds

    def members(self) -> list[Member]:
        """As the first node that lives sees them; a node that has failed is none."""
        return members_in(bytes(self.living[0].ask("CLUSTER", "NODES")).decode())

    def primaries(self) -> list[Server]:
        """Those with slots, in the order of these."""
        with_slots = [member for member in self.members() if member.is_primary and member.slots]
        return [self.nodes[member.port] for member in sorted(with_slots, key=lambda member: member.slots)]

    def owner(self, slot: int) -> Server:
        """The primary that has a slot."""
        return next(self.nodes[member.port] for member in self.members() if member.is_primary and member.has(slot))

    def replica_of(self, primary: Server) -> Server:
        """The first one that follows it."""
        (line, *_) = primary.ask("CLUSTER", "REPLICAS", my_id(primary))
        return self.nodes[_port(bytes(line).decode().split()[1])]

    def wait_until_ok(self) -> None:
        """Return when every node sees every slot, and every replica follows."""
        wait_until(lambda: all(_is_ok(node) for node in self.living), "the cluster does not come together")


def members_in(text: str) -> list[Member]:
    """What CLUSTER NODES says; nodes that have failed or are not known yet are left out."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [_member(fields) for fields in lines if not {"fail", "handshake", "noaddr"} & set(fields[2].split(","))]


@contextmanager
def replicated_cluster(folder: Path) -> Iterator[Cluster]:
    """Three primaries, each with a replica."""
    with ExitStack() as running:
        made = Cluster(folder, running)
        primaries = [made.add(f"primary {number}") for number in range(1, PRIMARIES + 1)]
        for epoch, (node, (first, last)) in enumerate(zip(primaries, even_ranges(PRIMARIES), strict=True), start=1):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)
            node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
        replicas = [made.add(f"replica {number}") for number in range(1, PRIMARIES + 1)]
        for node in made.living[1:]:
            primaries[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        wait_until(lambda: all(_has_met(node, 2 * PRIMARIES) for node in made.living), "the nodes do not meet")
        for primary, replica in zip(primaries, replicas, strict=True):
            replica.ask("CLUSTER", "REPLICATE", my_id(primary))
        made.wait_until_ok()
        yield made


def my_id(node: Server) -> bytes:
    """The name of a node in the cluster."""
    return bytes(node.ask("CLUSTER", "MYID"))


def _member(fields: list[str]) -> Member:
    ranges = [part.partition("-") for part in fields[8:] if not part.startswith("[")]  # [slot->-node]: under way
    slots = tuple((int(first), int(last or first)) for first, _, last in ranges)
    return Member(_port(fields[1]), "master" in fields[2].split(","), slots)


def _port(address: str) -> int:
    return int(address.partition("@")[0].rpartition(":")[2])


def _has_met(node: Server, how_many: int) -> bool:
    text = bytes(node.ask("CLUSTER", "NODES")).decode()
    return len(members_in(text)) == how_many


def _is_ok(node: Server) -> bool:
    role = node.ask("ROLE")
    follows = role[0] == b"master" or role[3] == b"connected"
    return bool(follows) and b"cluster_state:ok" in bytes(node.ask("CLUSTER", "INFO"))
