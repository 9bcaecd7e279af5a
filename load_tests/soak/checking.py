"""What is there in the end, found in every way: the store's logs, a replay of them, and what each service says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from app.storage.event_codec import FeedbackRecord, decode_record
from load_tests.harness.processes import ended
from load_tests.soak.deployment import Deployment, Node
from load_tests.soak.traffic import TENANTS
from load_tests.soak.watching import Watch
from tests.reliability.oracle import StoredLog, stored_log, version_of

REST_SECONDS = 60.0
FRESH, REPLAYED = "a fresh service", "a replay of the log"


class Shown(msgspec.Struct, frozen=True):
    """A tenant as a service shows it."""

    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class Given:
    """A label as the log has it."""

    feedback_id: str
    label: int
    version: int


@dataclass(frozen=True, slots=True)
class TenantFound:
    """A tenant in the end."""

    tenant: str
    version: int  # of the log
    labels: Sequence[Given]  # in the log, in order
    others: int  # events that are no labels
    in_order: bool  # the log has no gap and no fork
    shown: Mapping[str, Shown | None]  # by each service, a fresh one, and a replay


def found(deployment: Deployment, watch: Watch) -> list[TenantFound]:
    """Wait until all is at rest, start a fresh service, and look at every tenant."""
    if not watch.until(lambda: _at_rest(deployment), REST_SECONDS):
        watch.say("the services have not all come to where the logs stand")
    with ended(deployment.new_node("fresh service")) as fresh:
        fresh.start().is_ready()
        nodes = {node.name: node for node in deployment.nodes} | {FRESH: fresh}
        return [_tenant_found(deployment.url, tenant, nodes) for tenant in TENANTS]


def _at_rest(deployment: Deployment) -> bool:
    """Whether every service has come to where the log of every tenant stands."""
    for tenant in TENANTS:
        version = version_of(deployment.url, tenant)
        if any(_version(_shown(node, tenant)) != version for node in deployment.nodes):
            return False
    return True


def _version(shown: Shown | None) -> int | None:
    return None if shown is None else shown.version


def _tenant_found(url: str, tenant: str, nodes: Mapping[str, Node]) -> TenantFound:
    log = stored_log(url, tenant)
    records = [(version, decode_record(payload)) for version, payload, _ in log.entries]
    labels = [
        Given(record.feedback_id or "", record.label, version)
        for version, record in records
        if isinstance(record, FeedbackRecord)
    ]
    replayed = log.replayed()
    shown = {name: _shown(node, tenant) for name, node in nodes.items()}
    shown |= {REPLAYED: Shown(replayed.version, replayed.digest)}
    return TenantFound(tenant, log.version, labels, len(records) - len(labels), _is_in_order(log), shown)


def _is_in_order(log: StoredLog) -> bool:
    try:
        log.check_order()
    except AssertionError:
        return False
    return log.entries[0][0] == 1  # nothing was trimmed


def _shown(node: Node, tenant: str) -> Shown | None:
    told = node.shown(tenant)
    return msgspec.json.decode(told, type=Shown) if told else None
