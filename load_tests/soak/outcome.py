"""What a run leaves behind (logs, a replay of them, what each service shows), whether it keeps the promises, tables."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.storage.event_codec import FeedbackRecord, decode_record
from load_tests.cluster.logs import is_whole
from load_tests.harness.jobs import percentiles
from load_tests.harness.report import Report, Target, at_most, say, table
from load_tests.soak.client import Ledger, StoredLabel
from load_tests.soak.deployment import Deployment, Shown, shown, until
from load_tests.soak.disturbances import Action, Disturbance
from load_tests.soak.memory import LEAST_SECONDS, MIB, WARM_UP_SECONDS, Period
from load_tests.soak.traffic import TENANTS
from tests.reliability.oracle import stored_log, version_of

REST_SECONDS = 60.0
SERVICE_GROWTH = 1.10  # a worker remembers the last events, up to 32 MiB, and fills that slowly
STORE_KIBIBYTES_PER_LABEL = 2.0
LISTED = 10
TOO_SHORT = f"not known: no period of {WARM_UP_SECONDS + LEAST_SECONDS:.0f} s"
AROUND_SECONDS = 60.0  # after a failover; labels that are missing longer would have ended the run


@dataclass(frozen=True, slots=True)
class TenantFound:
    """A tenant in the end."""

    tenant: str
    version: int  # of the log
    labels: Sequence[StoredLabel]  # in the log, in order
    others: int  # events that are no labels
    in_order: bool  # the log has no gap and no fork, and begins with version 1
    shown: dict[str, Shown | None]  # by each service, a fresh one, and a replay

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
        return [each for each in self.disturbances if each.action in actions]


async def compare(deployment: Deployment) -> list[TenantFound]:
    """Wait until all services are up to date, start a fresh one, and look at every tenant."""
    url = deployment.store.url

    def at_rest() -> bool:
        versions = {tenant: version_of(url, tenant) for tenant in TENANTS}
        seen = ((shown(node, tenant), versions[tenant]) for tenant in TENANTS for node in deployment.nodes)
        return all(found is not None and found.version == version for found, version in seen)

    if not await until(at_rest, REST_SECONDS):
        say("not all services have reached the versions of the logs")
    found = []
    with deployment.new_node("a fresh service") as fresh:
        fresh.start()
        for tenant in TENANTS:
            log = stored_log(url, tenant)
            records = [(version, decode_record(payload)) for version, payload, _ in log.entries]
            labels = [
                StoredLabel(tenant, record.feedback_id or "", record.label, version)
                for version, record in records
                if isinstance(record, FeedbackRecord)
            ]
            replayed, nodes = log.replayed(), (*deployment.nodes, fresh)
            seen = {node.folder.name: shown(node, tenant) for node in nodes}
            seen["a replay of the log"] = Shown(replayed.version, replayed.digest)
            others = len(records) - len(labels)
            found.append(TenantFound(tenant, log.version, labels, others, is_whole(log), seen))
    return found


def report(outcome: Outcome, machine: list[str]) -> Report:
    parts = {"What happened": happened_table(outcome), "Memory of the services": memory_table(outcome)}
    return Report("soak", machine, targets(outcome), parts)


def targets(outcome: Outcome) -> list[Target]:
    """All that was promised: what must not be, by name where there are names, and bounds of memory."""
    ledger, tenants = outcome.ledger, outcome.tenants
    named = {
        "Acknowledged labels that their tenant's log does not have": lost(ledger.acknowledged, tenants),
        "Labels that a log has more than once": doubled(tenants),
        "Labels that were never acknowledged, for all their retries": ledger.given_up,
        "Tenants whose version is not that of their labels and settings": miscounted(ledger.acknowledged, tenants),
        "Tenants on whose digest services, a fresh one and a replay differ": [
            f"{found.tenant} at version {found.version}, shown as {found.shown}"
            for found in tenants
            if not found.agrees
        ],
    }
    counts = {
        "Predictions that no service answered": ledger.predictions_failed,
        "Unexpected answers": ledger.unexpected.total(),
        "Services that did not end well on SIGTERM": sum(not each.clean for each in outcome.of(Action.TERMINATE)),
        "Tracebacks in the services' logs": outcome.tracebacks,
    }
    pairs = [pair for period in outcome.periods if (pair := period.early_and_late())]
    growth = max((late.bytes / early.bytes for early, late in pairs), default=None)
    per_label, follows = None, outcome.old_primary_follows
    if (pair := outcome.store.early_and_late()) and (labels := pair[1].labels - pair[0].labels):
        per_label = (pair[1].bytes - pair[0].bytes) / 1024 / labels
    return [
        *(Target(text, "0", ", ".join([f"{len(some):,}", *some[:LISTED]]), not some) for text, some in named.items()),
        *(Target(text, "0", f"{count:,}", count == 0) for text, count in counts.items()),
        Target("The old primary has become a replica of the new one", "yes", "yes" if follows else "no", follows),
        _bounded("Memory of a service late beside early, the worst", SERVICE_GROWTH, growth, " x"),
        _bounded("Memory that the store needs for a label", STORE_KIBIBYTES_PER_LABEL, per_label, " KiB"),
    ]


def _bounded(text: str, wanted: float, measured: float | None, unit: str) -> Target:
    if measured is None:
        return Target(text, f"at most {wanted:g}{unit}", TOO_SHORT, None)
    return at_most(text, wanted, measured, unit)


def lost(acknowledged: dict[str, StoredLabel], tenants: Sequence[TenantFound]) -> list[str]:
    """The ids of acknowledged labels that are not in the log of their tenant, with the label that was given."""
    there = {(each.tenant, each.feedback_id, each.label) for found in tenants for each in found.labels}
    return [name for name, given in acknowledged.items() if (given.tenant, name, given.label) not in there]


def doubled(tenants: Sequence[TenantFound]) -> list[str]:
    """The ids of labels that are there more than once, in one log or in several."""
    times = Counter(each.feedback_id for found in tenants for each in found.labels)
    return [name for name, count in times.items() if count > 1]


def miscounted(acknowledged: dict[str, StoredLabel], tenants: Sequence[TenantFound]) -> list[str]:
    """Tenants whose version is not the number of acknowledged labels and other events, or whose log has a gap."""
    labels = Counter(given.tenant for given in acknowledged.values())
    return [
        found.tenant for found in tenants if not found.in_order or found.version != labels[found.tenant] + found.others
    ]


def moved(acknowledged: dict[str, StoredLabel], tenants: Sequence[TenantFound]) -> int:
    """Labels at another version than their answer said: they were lost, and appended again."""
    versions = {each.feedback_id: each.version for found in tenants for each in found.labels}
    answers = {name: given.version for name, given in acknowledged.items() if given.version and name in versions}
    return sum(versions[name] != version for name, version in answers.items())


def happened_table(outcome: Outcome) -> str:
    ledger, failovers = outcome.ledger, outcome.of(Action.FAILOVER)
    restarts = {action: some for action in (Action.TERMINATE, Action.KILL) if (some := outcome.of(action))}
    seconds = {action: [each.end - each.begin for each in some] for action, some in restarts.items()}
    forms = ", ".join(f"{count:,} {form}" for form, count in sorted(ledger.forms.items()))
    passed_on = [f"{count:,} {reason}" for reason, count in ledger.passed_on.most_common()]
    rows: list[tuple[str, object]] = [
        ("requests answered", f"{ledger.requests:,} in {outcome.seconds:,.0f} s"),
        ("predictions", _latencies(ledger, None)),
        ("predictions while a service restarted", _latencies(ledger, outcome.of(Action.TERMINATE, Action.KILL))),
        ("predictions while the store failed over", _latencies(ledger, failovers)),
        ("labels acknowledged", f"{len(ledger.acknowledged):,}: {forms}"),
        ("of them known from an attempt that had no answer", f"{ledger.duplicates:,}"),
        ("of them answered with 409: they count, without the first answer", f"{ledger.forgotten:,}"),
        ("labels whose prediction was no longer kept (410)", f"{ledger.expired:,}"),
        ("predictions answered without an id", f"{ledger.predictions_not_kept:,}"),
        ("requests passed on to another service", "; ".join([f"{ledger.passed_on.total():,}", *passed_on])),
        ("times that no service took a label, and it was sent again", f"{ledger.sent_again:,}"),
        *((f"restarts by {by}", f"{len(s)}; gone for {min(s):.1f} to {max(s):.1f} s") for by, s in seconds.items()),
        *(
            ("failover: no label was acknowledged for", f"{silence_seconds(ledger.acknowledged_at, each.begin):.1f} s")
            for each in failovers
        ),
        ("events that it lost, and services appended again", f"{outcome.appended_again:,}"),
        ("labels that have another version than their answer said", f"{moved(ledger.acknowledged, outcome.tenants):,}"),
        ("models that had to be rescued to files", f"{outcome.rescued:,}"),
        *(
            (f"unexpected: {' '.join(text.split())}".replace("|", "/"), n)
            for text, n in ledger.unexpected.most_common(LISTED)
        ),
    ]
    return table(("what", "measured"), rows)


def memory_table(outcome: Outcome) -> str:

    def row(period: Period) -> tuple[str, ...]:
        pair = period.early_and_late()
        early, late = pair or (period.samples[0], period.samples[-1])
        times = (max(period.began - outcome.began, 0), period.samples[-1].at - outcome.began)
        growth = f"{late.bytes / early.bytes:.3f} x" if pair else "too short"
        used = (f"{each.bytes / MIB:.1f}" for each in (early, late))
        return (period.name, *(f"{time:.0f} s" for time in times), *used, growth)

    header = ("process", "from", "to", "early, MiB", "late, MiB", "growth")
    return table(header, [row(period) for period in [*outcome.periods, outcome.store] if period.samples])


def silence_seconds(acknowledged_at: Sequence[float], begin: float) -> float:
    """The longest time without an acknowledged label around a moment."""
    times = np.sort(np.asarray(acknowledged_at))
    around = times[(times >= begin - 1.0) & (times <= begin + AROUND_SECONDS)]
    return float(np.diff(around).max()) if around.size > 1 else float("nan")


def _latencies(ledger: Ledger, during: list[Disturbance] | None) -> str:
    """Predictions, retries included: all, or those sent during some disturbances."""
    at, seconds = np.asarray(ledger.predicted_at), np.asarray(ledger.prediction_seconds)
    if during is not None:
        sent = [(at >= each.begin) & (at <= each.end) for each in during]
        seconds = seconds[np.any(sent, axis=0)] if sent else seconds[:0]
    return f"{seconds.size:,}; {percentiles(seconds)}" if seconds.size else "none"
