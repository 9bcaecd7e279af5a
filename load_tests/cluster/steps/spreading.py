"""Step 1: tenants get labels and predictions; who holds what then."""

from collections import Counter
from dataclasses import dataclass

from load_tests.cluster import inputs
from load_tests.cluster.connections import Answer, each
from load_tests.cluster.figures import tenants_held
from load_tests.cluster.ledger import Checked
from load_tests.cluster.nodes import PRIMARIES
from load_tests.cluster.slots import SLOT_OF_SHARD, slot_of
from load_tests.cluster.stage import FIRST, Stage
from load_tests.harness.processes import resident_bytes
from tests.servers import Server

AT_ONCE = 16
SNAPSHOT_EVERY = 10  # tenants: so some are loaded from a snapshot later, and the others from their log


@dataclass(frozen=True, slots=True)
class NodeShare:
    """What a primary of the cluster has."""

    name: str
    shards: int
    tenants: int
    keys: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ServiceShare:
    """What a service has."""

    name: str
    home_of: int
    held: int
    empty_bytes: int  # of the process, before it had any tenant
    bytes: int


@dataclass(frozen=True, slots=True)
class Spread:
    """How tenants lie on nodes and services."""

    nodes: list[NodeShare]
    services: list[ServiceShare]
    checked: Checked

    @property
    def fullest_service(self) -> float:
        """How many times its even share of the tenants the fullest service holds."""
        held = [service.held for service in self.services]
        return max(held) * len(held) / sum(service.home_of for service in self.services)

    @property
    def fullest_node(self) -> float:
        """The same of the nodes."""
        tenants = [node.tenants for node in self.nodes]
        return max(tenants) * len(tenants) / sum(tenants)


async def spread(stage: Stage) -> Spread:
    """Start the services, give every tenant its first labels, and ask it once."""
    await stage.start(*FIRST)
    stage.router.up.update(FIRST)
    empty = {name: resident_bytes(stage.services[name].pid) for name in FIRST}
    await each(stage.tenants, lambda tenant: teach(stage, tenant), AT_ONCE)
    await each(stage.tenants[::SNAPSHOT_EVERY], lambda tenant: _snapshot(stage, tenant))
    return Spread(_nodes(stage), _services(stage, empty), await stage.checked())


async def teach(stage: Stage, tenant: str) -> None:
    """The first labels of a tenant, and a prediction that is kept."""
    feedback_ids = [inputs.new_id("first") for _ in range(stage.sizes.labels_each)]
    given = await stage.router.ask(tenant, "POST", "/feedback/batch", inputs.labels(tenant, feedback_ids))
    given.read(dict)
    stage.ledger.note(tenant, *feedback_ids)
    predicted = await stage.router.ask(tenant, "POST", "/predict", inputs.prediction(tenant, keep=True))
    predicted.read(dict)


async def _snapshot(stage: Stage, tenant: str) -> Answer:
    taken = await stage.router.ask(tenant, "POST", f"/tenants/{tenant}/snapshot")
    taken.read(dict)
    return taken


def _nodes(stage: Stage) -> list[NodeShare]:
    members = {member.port: member for member in stage.cluster.members()}
    primaries = stage.cluster.primaries()
    assert len(primaries) == PRIMARIES

    def share(node: Server) -> NodeShare:
        has = members[node.port].has
        shards = sum(has(slot) for slot in SLOT_OF_SHARD.values())
        tenants = sum(has(slot_of(tenant)) for tenant in stage.tenants)
        with node.client() as client:
            used = int(client.info("memory")["used_memory_dataset"])
            return NodeShare(stage.cluster.names[node.port], shards, tenants, int(client.dbsize()), used)

    return [share(node) for node in primaries]


def _services(stage: Stage, empty: dict[str, int]) -> list[ServiceShare]:
    homes = Counter(stage.router.home(tenant) for tenant in stage.tenants)
    return [
        ServiceShare(
            name, homes[name], tenants_held(stage.services[name]), empty[name], resident_bytes(stage.services[name].pid)
        )
        for name in FIRST
    ]
