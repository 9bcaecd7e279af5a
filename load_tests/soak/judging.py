"""What a run was to find. Every figure is a count of things that must not be, but for memory."""

from collections import Counter
from collections.abc import Mapping, Sequence

from load_tests.harness.report import Target, at_most
from load_tests.soak.checking import TenantFound
from load_tests.soak.ledger import Acknowledged
from load_tests.soak.memory import LEAST_SECONDS, WARM_UP_SECONDS, growth
from load_tests.soak.outcome import Outcome
from load_tests.soak.plan import Deed

SERVICE_GROWTH = 1.10
STORE_KIBIBYTES_PER_LABEL = 2.0
SHOWN = 10
TOO_SHORT = f"not told: no life of {WARM_UP_SECONDS + LEAST_SECONDS:.0f} s"

Acknowledgements = Mapping[str, Acknowledged]


def targets(outcome: Outcome) -> list[Target]:
    """All that was promised."""
    ledger, tenants = outcome.ledger, outcome.tenants
    unclean = sum(not each.clean for each in outcome.of(Deed.TERMINATE))
    return [
        none("Acknowledged labels that their tenant's log does not have", len(lost(ledger.acknowledged, tenants))),
        none("Labels that a log has more than once", len(doubled(tenants))),
        none("Labels that were never acknowledged, for all their retries", len(ledger.given_up)),
        none(
            "Tenants whose version is not that of their labels and settings",
            len(miscounted(ledger.acknowledged, tenants)),
        ),
        none("Tenants on whose digest services, a fresh one and a replay differ", len(disagreeing(tenants))),
        none("Predictions that no service answered", ledger.predictions_failed),
        none("Answers that nobody should get", ledger.surprises.total()),
        none("Services that did not end well on SIGTERM", unclean),
        none("Tracebacks in the services' logs", outcome.tracebacks),
        _follows(outcome),
        _services_growth(outcome),
        _store_growth(outcome),
    ]


def details(outcome: Outcome) -> list[str]:
    """Names of what should not be, some of each, for whoever looks for the reason."""
    acknowledged, tenants = outcome.ledger.acknowledged, outcome.tenants
    names = {
        "Lost": lost(acknowledged, tenants),
        "More than once": doubled(tenants),
        "Never acknowledged": outcome.ledger.given_up,
        "Of another version": miscounted(acknowledged, tenants),
    }
    told = [f"{what}: {', '.join(found[:SHOWN])}" for what, found in names.items() if found]
    differing = [found for found in tenants if not _agree(found)][:SHOWN]
    return told + [f"{found.tenant} is at version {found.version}, and shown as {found.shown}" for found in differing]


def none(text: str, count: int) -> Target:
    """Something of which there must be none."""
    return Target(text, "0", f"{count:,}", count == 0)


def lost(acknowledged: Acknowledgements, tenants: Sequence[TenantFound]) -> list[str]:
    """The ids of acknowledged labels that are not in the log of their tenant, as what they were given."""
    there = {(found.tenant, each.feedback_id, each.label) for found in tenants for each in found.labels}
    return [name for name, given in acknowledged.items() if (given.tenant, name, given.label) not in there]


def doubled(tenants: Sequence[TenantFound]) -> list[str]:
    """The ids of labels that are there more than once, in one log or in several."""
    times = Counter(each.feedback_id for found in tenants for each in found.labels)
    return [name for name, count in times.items() if count > 1]


def miscounted(acknowledged: Acknowledgements, tenants: Sequence[TenantFound]) -> list[str]:
    """Tenants whose version is not the number of acknowledged labels and of other events, or whose log has a gap."""
    labels = Counter(given.tenant for given in acknowledged.values())
    return [
        found.tenant for found in tenants if not found.in_order or found.version != labels[found.tenant] + found.others
    ]


def disagreeing(tenants: Sequence[TenantFound]) -> list[str]:
    """Tenants that are not the same everywhere, as of where their log stands."""
    return [found.tenant for found in tenants if not _agree(found)]


def moved(acknowledged: Acknowledgements, tenants: Sequence[TenantFound]) -> int:
    """Labels that stand in the log elsewhere than their answer had said: they were lost, and appended again."""
    versions = {each.feedback_id: each.version for found in tenants for each in found.labels}
    told = {name: given.version for name, given in acknowledged.items() if given.version and name in versions}
    return sum(versions[name] != version for name, version in told.items())


def _agree(found: TenantFound) -> bool:
    versions = {None if each is None else each.version for each in found.shown.values()}
    digests = {None if each is None else each.digest for each in found.shown.values()}
    return versions == {found.version} and len(digests) == 1


def _follows(outcome: Outcome) -> Target:
    follows = outcome.old_primary_follows
    return Target("The old primary has become a replica of the new one", "yes", "yes" if follows else "no", follows)


def _services_growth(outcome: Outcome) -> Target:
    text = "Memory of a service late in its life beside early, the worst"
    ratios = [found.ratio for life in outcome.lives if (found := growth(life))]
    if not ratios:
        return Target(text, f"at most {SERVICE_GROWTH:g} x", TOO_SHORT, None)
    return at_most(text, SERVICE_GROWTH, max(ratios))


def _store_growth(outcome: Outcome) -> Target:
    text = "Memory that the store needs for a label"
    found = growth(outcome.store)
    if found is None or found.bytes_per_label is None:
        return Target(text, f"at most {STORE_KIBIBYTES_PER_LABEL:g} KiB", TOO_SHORT, None)
    return at_most(text, STORE_KIBIBYTES_PER_LABEL, found.bytes_per_label / 1024, " KiB")
