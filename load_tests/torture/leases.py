"""Promises about the review queue, as pure functions of the history and of the final state."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from load_tests.torture.history import Found, History, Kind, Violation, within
from load_tests.torture.schedule import FAILOVERS, Fault

SLACK_SECONDS = 0.05  # between the clock of the store and ours, while neither jumps
MOST_UNSURE = 3  # people; then an item leaves the queue


@dataclass(frozen=True, slots=True)
class Held:
    """An item that a person has certainly held, from the answer until the lease or the next request about it."""

    tenant: str
    prediction_id: str
    person: str
    lease: str
    name: str  # of the operation
    asked: float
    begin: float
    end: float


def doubled_leases(history: History, _: Found) -> Iterator[Violation]:
    """No item is leased twice at once, unless the store has lost the first lease, or its clock has jumped."""
    for held in _by_item(history).values():
        for first, second in pairwise(held):
            is_overlap = second.begin < first.end - SLACK_SECONDS
            is_excused = _may_be_lost(history, first.asked, first.begin) or _has_jump(history, first, second)
            if is_overlap and not is_excused:
                text = (
                    f"{first.prediction_id} is leased by {first.person} until {first.end - second.begin:.2f} s later, "
                    f"and by {second.person}"
                )
                yield Violation("leased twice", first.tenant, second.name, text, second.begin)


def settled_leases(history: History, _: Found) -> Iterator[Violation]:
    """No item is shown again after its label was acknowledged, unless the store has lost that for a moment."""
    settled: dict[tuple[str, str], tuple[float, float]] = {}
    for label in history.of(Kind.LABEL):
        prediction_id = history.reviewed.get(label.name)
        if prediction_id is None or not label.acknowledgements or any(each.status == 410 for each in label.attempts):
            continue  # after a 410, the label was given with the features instead
        settled[label.tenant, prediction_id] = (label.begin, label.acknowledgements[0].end)
    for (tenant, prediction_id), held in _by_item(history).items():
        begin, at = settled.get((tenant, prediction_id), (inf, inf))
        for each in held:
            if each.asked > at and not _may_be_lost(history, begin, at):
                text = f"{prediction_id} was labelled {each.asked - at:.2f} s before it was asked for"
                yield Violation("settled item shown", tenant, each.name, text, each.begin)


def passed_leases(history: History, _: Found) -> Iterator[Violation]:
    """No item is shown again to a person who has skipped it, or was unsure."""
    passes = {
        (each.tenant, each.wanted["prediction_id"], each.wanted["moderator"]): each.acknowledgements[0]
        for each in history.of(Kind.END_LEASE)
        if each.wanted["action"] in {"skip", "unsure"} and each.acknowledgements
    }
    for (tenant, prediction_id), held in _by_item(history).items():
        for each in held:
            done = passes.get((tenant, prediction_id, each.person))
            if done and each.asked > done.end and not _may_be_lost(history, done.begin, done.end):
                text = f"{prediction_id} was passed by {each.person} {each.asked - done.end:.2f} s before"
                yield Violation("passed item shown", tenant, each.name, text, each.begin)


def lost_items(history: History, found: Found) -> Iterator[Violation]:
    """Each prediction to be reviewed that is kept and has no label is shown to a new reviewer in the end."""
    unsure = defaultdict[tuple[str, str], set[str]](set)
    for each in history.of(Kind.END_LEASE):
        if each.wanted["action"] == "unsure":
            unsure[each.tenant, each.wanted["prediction_id"]].add(each.wanted["moderator"])
    for tenant, kept in found.unlabelled.items():
        for prediction_id in sorted(kept - found.queues.get(tenant, set())):
            if len(unsure[tenant, prediction_id]) < MOST_UNSURE:
                yield Violation(
                    "lost item", tenant, "", f"{prediction_id} is kept without a label, and not queued", 0.0
                )


def _by_item(history: History) -> dict[tuple[str, str], list[Held]]:
    """All leases of each item, in the order of their answers."""
    ended: dict[tuple[str, str], float] = {}  # by lease and item: when its holder has first asked to end it
    for ending in history.of(Kind.END_LEASE):
        if ending.wanted["action"] != "renew":
            ended[ending.wanted["lease"], ending.wanted["prediction_id"]] = ending.begin
    labelled = defaultdict[str, float](lambda: inf)
    for label in history.of(Kind.LABEL):
        if prediction_id := history.reviewed.get(label.name):
            labelled[prediction_id] = min(labelled[prediction_id], label.begin)
    found = defaultdict[tuple[str, str], list[Held]](list)
    for lease in history.of(Kind.LEASE):
        for attempt in lease.acknowledgements:
            for item in attempt.answer["items"]:
                name = item["prediction_id"]
                end = min(
                    attempt.begin + lease.wanted["lease_seconds"],
                    ended.get((item["lease"], name), inf),
                    labelled[name],
                )
                person = lease.wanted["moderator"]
                held = Held(lease.tenant, name, person, item["lease"], lease.name, attempt.begin, attempt.end, end)
                found[lease.tenant, name].append(held)
    return {item: sorted(leases, key=lambda each: each.begin) for item, leases in found.items()}


def _may_be_lost(history: History, begin: float, end: float) -> bool:
    """Whether a failover may have lost what was done then."""
    return any(each.fault in FAILOVERS for each in within(history.disruptions, begin, end))


def _has_jump(history: History, first: Held, second: Held) -> bool:
    """Whether the store's clock has jumped in between: then a lease ends early."""
    return any(each.fault == Fault.STORE_CLOCK for each in within(history.disruptions, first.asked, second.begin))
