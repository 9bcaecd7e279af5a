"""The promises, as pure functions of the history and of the final state. Each finds its violations."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from load_tests.torture.answers import bad_answers, changed_answers, refused_keys, revoked_keys_alive, unanswered
from load_tests.torture.history import (
    ALL_LABELS,
    FORGOTTEN,
    NAMED_LABELS,
    Attempt,
    Found,
    History,
    Kind,
    Operation,
    Violation,
)
from load_tests.torture.leases import doubled_leases, lost_items, passed_leases, settled_leases
from load_tests.torture.retractions import (
    lost_retractions,
    missed_labels,
    standing_labels,
    wrong_replacements,
)

AMBIGUOUS_SECONDS = 15.0  # after which a request without an answer has no effect any more; longer than any fault


def check(history: History, found: Found) -> list[Violation]:
    """Check every promise."""
    checks: list[Callable[[History, Found], Iterator[Violation]]] = [
        lost_labels,
        doubled_labels,
        unnamed_labels,
        lost_settings,
        lost_retractions,
        wrong_replacements,
        standing_labels,
        missed_labels,
        doubled_leases,
        settled_leases,
        passed_leases,
        lost_items,
        revived_labels,
        revived_tenants,
        wrong_imports,
        disagreements,
        bad_answers,
        changed_answers,
        unanswered,
        revoked_keys_alive,
        refused_keys,
        flaws,
    ]
    return [violation for each in checks for violation in each(history, found)]


def lost_labels(history: History, found: Found) -> Iterator[Violation]:
    """Each acknowledged label is in the log, unless its tenant was deleted since."""
    deletions, counts = _deletions(history), _counts(found)
    for label in history.of(*ALL_LABELS):
        if (last := _last_acknowledgement(label)) is None or counts[label.tenant, label.name]:
            continue
        if not any(latest_effect(deletion) >= last.begin for deletion in deletions[label.tenant]):
            text = f"acknowledged by service {last.service + 1} as version {last.answer.get('version')}; not in the log"
            yield Violation("lost label", label.tenant, label.name, text, last.end)


def doubled_labels(history: History, found: Found) -> Iterator[Violation]:
    """No label with a feedback_id is in a log twice."""
    counts = _counts(found)
    for label in history.of(*NAMED_LABELS):
        if (times := counts[label.tenant, label.name]) > 1:
            yield Violation("doubled label", label.tenant, label.name, f"{times} times in the log", label.end)


def unnamed_labels(history: History, found: Found) -> Iterator[Violation]:
    """A label without a feedback_id is in the log at most once for each attempt; that it is there: `lost_labels`."""
    counts = _counts(found)
    for label in history.of(Kind.UNNAMED_LABEL):
        if (times := counts[label.tenant, label.name]) > len(label.attempts):
            text = f"{times} times in the log after {len(label.attempts)} attempts"
            yield Violation("doubled label", label.tenant, label.name, text, label.end)


def lost_settings(history: History, found: Found) -> Iterator[Violation]:
    """Each acknowledged change of settings is in the log, unless its tenant was deleted since."""
    deletions = _deletions(history)
    for setting in history.of(Kind.SETTING):
        last = _last_acknowledgement(setting)
        log = found.tenants[setting.tenant].log if setting.tenant in found.tenants else []
        if last is None or any(event.changes == setting.wanted for event in log):
            continue
        if not any(latest_effect(deletion) >= last.begin for deletion in deletions[setting.tenant]):
            text = f"{setting.wanted} was acknowledged; not in the log"
            yield Violation("lost setting", setting.tenant, setting.name, text, last.end)


def revived_labels(history: History, found: Found) -> Iterator[Violation]:
    """No log has a label from before a deletion that was acknowledged."""
    deleted, counts = _deleted_from(history), _counts(found)
    for label in history.of(*ALL_LABELS):
        begin = deleted.get(label.tenant, 0.0)
        if latest_effect(label) < begin and counts[label.tenant, label.name]:
            text = f"in the log, though the tenant was deleted {begin - label.end:.1f} s after it"
            yield Violation("revived tenant", label.tenant, label.name, text, begin)


def revived_tenants(history: History, found: Found) -> Iterator[Violation]:
    """A tenant that no client has used since its deletion is not there."""
    deleted, used = _deleted_from(history), defaultdict[str, float](float)
    for operation in history.of(*ALL_LABELS, Kind.SETTING, Kind.IMPORT):
        used[operation.tenant] = max(used[operation.tenant], latest_effect(operation))
    for tenant, begin in deleted.items():
        if begin > used[tenant] and tenant in found.tenants:
            events = len(found.tenants[tenant].log)
            yield Violation("revived tenant", tenant, "", f"deleted, and there again with {events} events", begin)


def wrong_imports(history: History, found: Found) -> Iterator[Violation]:
    """A tenant that is only imported has the model of its last import."""
    imports = defaultdict[str, list[Operation]](list)
    for each in history.of(Kind.IMPORT):
        imports[each.tenant].append(each)
    for tenant, all_of in imports.items():
        acknowledged = [each for each in all_of if each.acknowledgements]
        if not acknowledged:
            continue
        last = max(acknowledged, key=lambda each: each.acknowledgements[-1].begin)
        since = last.acknowledgements[-1].begin
        allowed = {each.wanted["digest"] for each in all_of if latest_effect(each) >= since}
        digest = found.tenants[tenant].replayed if tenant in found.tenants else "nothing"
        if digest not in allowed:
            yield Violation("lost import", tenant, last.name, f"its digest is {digest}, not of {allowed}", last.end)


def disagreements(_: History, found: Found) -> Iterator[Violation]:
    """All workers, a fresh service and a replay of the log have the same digest, and the log has no gap."""
    for tenant in found.tenants.values():
        if not tenant.is_whole:
            yield Violation("broken log", tenant.tenant, "", "the log has a gap or a fork", 0.0)
        if different := {who: digest for who, digest in tenant.shown.items() if digest != tenant.replayed}:
            text = f"a replay has {tenant.replayed[:12]}, others show {different}"
            yield Violation("different digests", tenant.tenant, "", text, 0.0)


def flaws(_: History, found: Found) -> Iterator[Violation]:
    """What was seen of the processes themselves."""
    return (Violation("process", "", "", text, 0.0) for text in found.flaws)


def latest_effect(operation: Operation) -> float:
    """When an operation can have had its effect at the latest."""
    unresolved = max((each.end + AMBIGUOUS_SECONDS for each in operation.unresolved), default=0.0)
    return max(unresolved, operation.end)


def _last_acknowledgement(operation: Operation) -> Attempt | None:
    known = [each for each in operation.attempts if each.acknowledged or each.answer.get("type") == FORGOTTEN]
    return known[-1] if known else None


def _deletions(history: History) -> defaultdict[str, list[Operation]]:
    by_tenant = defaultdict[str, list[Operation]](list)
    for deletion in history.of(Kind.DELETE):
        by_tenant[deletion.tenant].append(deletion)
    return by_tenant


def _deleted_from(history: History) -> dict[str, float]:
    """By tenant, the begin of the last request that has certainly deleted what was there before."""
    found: dict[str, float] = {}
    for deletion in history.of(Kind.DELETE):
        for attempt in deletion.acknowledgements:
            found[deletion.tenant] = max(found.get(deletion.tenant, 0.0), attempt.begin)
    return found


def _counts(found: Found) -> Counter[tuple[str, str]]:
    """How often each label is in the log of its tenant."""
    return Counter((tenant.tenant, event.name) for tenant in found.tenants.values() for event in tenant.log)
