"""What a run leaves behind, and whether the promises hold: the logs, a replay of them, and what each service shows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.storage.event_codec import FeedbackRecord, decode_record
from load_tests.cluster.logs import is_whole
from load_tests.harness.processes import ended
from load_tests.harness.report import Target, at_most, say
from load_tests.soak.client import Acknowledged, Ledger
from load_tests.soak.deployment import Deployment, Node, Shown
from load_tests.soak.disturbances import Action, Disturbance
from load_tests.soak.traffic import TENANTS
from load_tests.soak.watch import LEAST_SECONDS, WARM_UP_SECONDS, Period, growth, until
from tests.reliability.oracle import stored_log, version_of

REST_SECONDS = 60.0
FRESH, REPLAYED = "a fresh service", "a replay of the log"
SERVICE_GROWTH = 1.10  # a worker remembers the last events, up to 32 MiB, and fills that slowly
STORE_KIBIBYTES_PER_LABEL = 2.0
LISTED = 10
TOO_SHORT = f"not known: no period of {WARM_UP_SECONDS + LEAST_SECONDS:.0f} s"

Acknowledgements = Mapping[str, Acknowledged]


@dataclass(frozen=True, slots=True)
class LoggedLabel:
    """A label in the log."""

    feedback_id: str
    label: int
    version: int


@dataclass(frozen=True, slots=True)
class TenantFound:
    """A tenant in the end."""

    tenant: str
    version: int  # of the log
    labels: Sequence[LoggedLabel]  # in the log, in order
    others: int  # events that are no labels
    in_order: bool  # the log has no gap and no fork, and begins with version 1
    shown: Mapping[str, Shown | None]  # by each service, a fresh one, and a replay

    @property
    def agrees(self) -> bool:
        """Whether all show the version of the log, and the same digest."""
        versions = {each and each.version for each in self.shown.values()}
        return versions == {self.version} and len({each and each.digest for each in self.shown.values()}) == 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that one run found."""

    seconds: float  # of load
    began: float
    ledger: Ledger
    disturbances: list[Disturbance]
    periods: list[Period]  # of services
    store: Period
    tenants: list[TenantFound]
    old_primary_follows: bool
    appended_again: int  # events that the failover had lost
    rescued: int  # models that services had to write to files
    tracebacks: int  # in the services' logs

    def of(self, *actions: Action) -> list[Disturbance]:
        """The disturbances of some kinds."""
        return [each for each in self.disturbances if each.action in actions]


async def compare(deployment: Deployment) -> list[TenantFound]:
    """Wait until all services are up to date, start a fresh one, and look at every tenant."""

    def at_rest() -> bool:
        versions = {tenant: version_of(deployment.store.url, tenant) for tenant in TENANTS}
        shown = ((node.shown(tenant), versions[tenant]) for tenant in TENANTS for node in deployment.nodes)
        return all(found is not None and found.version == version for found, version in shown)

    if not await until(at_rest, REST_SECONDS):
        say("not all services have reached the versions of the logs")
    with ended(deployment.new_node(FRESH)) as fresh:
        fresh.start().is_ready()
        return [_tenant_found(deployment.store.url, tenant, [*deployment.nodes, fresh]) for tenant in TENANTS]


def _tenant_found(url: str, tenant: str, nodes: Sequence[Node]) -> TenantFound:
    log = stored_log(url, tenant)
    records = [(version, decode_record(payload)) for version, payload, _ in log.entries]
    labels = [
        LoggedLabel(record.feedback_id or "", record.label, version)
        for version, record in records
        if isinstance(record, FeedbackRecord)
    ]
    replayed = log.replayed()
    shown = {node.name: node.shown(tenant) for node in nodes} | {REPLAYED: Shown(replayed.version, replayed.digest)}
    return TenantFound(tenant, log.version, labels, len(records) - len(labels), is_whole(log), shown)


def targets(outcome: Outcome) -> list[Target]:
    """All that was promised. Every figure is a count of what must not be, except for memory."""
    ledger, tenants = outcome.ledger, outcome.tenants
    counts = {
        "Acknowledged labels that their tenant's log does not have": len(lost(ledger.acknowledged, tenants)),
        "Labels that a log has more than once": len(doubled(tenants)),
        "Labels that were never acknowledged, for all their retries": len(ledger.given_up),
        "Tenants whose version is not that of their labels and settings": len(miscounted(ledger.acknowledged, tenants)),
        "Tenants on whose digest services, a fresh one and a replay differ": sum(not each.agrees for each in tenants),
        "Predictions that no service answered": ledger.predictions_failed,
        "Unexpected answers": ledger.unexpected.total(),
        "Services that did not end well on SIGTERM": sum(not each.clean for each in outcome.of(Action.TERMINATE)),
        "Tracebacks in the services' logs": outcome.tracebacks,
    }
    ratios = [found.ratio for period in outcome.periods if (found := growth(period))]
    store, follows = growth(outcome.store), outcome.old_primary_follows
    per_label = store.kib_per_label if store else None
    return [
        *(Target(text, "0", f"{count:,}", count == 0) for text, count in counts.items()),
        Target("The old primary has become a replica of the new one", "yes", "yes" if follows else "no", follows),
        _bounded("Memory of a service late beside early, the worst", SERVICE_GROWTH, max(ratios, default=None), " x"),
        _bounded("Memory that the store needs for a label", STORE_KIBIBYTES_PER_LABEL, per_label, " KiB"),
    ]


def _bounded(text: str, wanted: float, measured: float | None, unit: str) -> Target:
    if measured is None:
        return Target(text, f"at most {wanted:g}{unit}", TOO_SHORT, None)
    return at_most(text, wanted, measured, unit)


def details(outcome: Outcome) -> list[str]:
    """Names of what must not be, some of each, to find the reason."""
    acknowledged, tenants = outcome.ledger.acknowledged, outcome.tenants
    names = {
        "Lost": lost(acknowledged, tenants),
        "More than once": doubled(tenants),
        "Never acknowledged": outcome.ledger.given_up,
        "Of another version": miscounted(acknowledged, tenants),
    }
    listed = [f"{what}: {', '.join(found[:LISTED])}" for what, found in names.items() if found]
    differing = [found for found in tenants if not found.agrees][:LISTED]
    return listed + [f"{found.tenant} is at version {found.version}, and shown as {found.shown}" for found in differing]


def lost(acknowledged: Acknowledgements, tenants: Sequence[TenantFound]) -> list[str]:
    """The ids of acknowledged labels that are not in the log of their tenant, with the label that was given."""
    there = {(found.tenant, each.feedback_id, each.label) for found in tenants for each in found.labels}
    return [name for name, given in acknowledged.items() if (given.tenant, name, given.label) not in there]


def doubled(tenants: Sequence[TenantFound]) -> list[str]:
    """The ids of labels that are there more than once, in one log or in several."""
    times = Counter(each.feedback_id for found in tenants for each in found.labels)
    return [name for name, count in times.items() if count > 1]


def miscounted(acknowledged: Acknowledgements, tenants: Sequence[TenantFound]) -> list[str]:
    """Tenants whose version is not the number of acknowledged labels and other events, or whose log has a gap."""
    labels = Counter(given.tenant for given in acknowledged.values())
    return [
        found.tenant for found in tenants if not found.in_order or found.version != labels[found.tenant] + found.others
    ]


def moved(acknowledged: Acknowledgements, tenants: Sequence[TenantFound]) -> int:
    """Labels at another version than their answer said: they were lost, and appended again."""
    versions = {each.feedback_id: each.version for found in tenants for each in found.labels}
    answers = {name: given.version for name, given in acknowledged.items() if given.version and name in versions}
    return sum(versions[name] != version for name, version in answers.items())
