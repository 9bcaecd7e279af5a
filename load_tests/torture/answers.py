"""Promises about answers and keys, as pure functions of the history."""

from collections.abc import Iterable, Iterator
from typing import Any

from load_tests.torture.history import (
    ALL_LABELS,
    FORGOTTEN,
    NAMED_LABELS,
    NO_ANSWER,
    TOO_OLD,
    Attempt,
    Disruption,
    Found,
    History,
    Kind,
    Operation,
    Violation,
)
from load_tests.torture.schedule import FAILOVERS, Fault

KEYS_SECONDS = 4.0  # without a fault, after which all know about a key; one second is promised, machines are busy
HARMLESS = frozenset({Fault.EVICTION, Fault.STORE_CLOCK, Fault.SERVICE_CLOCK})
EXPECTED: dict[Kind, frozenset[int]] = {  # beside 2xx and those that are retried
    Kind.LABEL: frozenset({410}),
    Kind.SECOND_LABEL: frozenset({410}),
    Kind.RETRACT: frozenset({404}),
    Kind.DELETE: frozenset({404}),
    Kind.REVOKE_KEY: frozenset({404}),
    Kind.USE_KEY: frozenset({401}),
    Kind.END_LEASE: frozenset({409}),
}


def bad_answers(history: History, _: Found) -> Iterator[Violation]:
    """No status but those that are documented for this request, and no answer to another request."""
    for operation in history.operations:
        for attempt in operation.attempts:
            if not _is_expected(operation, attempt):
                text = f"{attempt.status} {attempt.answer}"
                yield Violation("unexpected answer", operation.tenant, operation.name, text, attempt.end)
        for text, at in wrong_answers(operation):
            yield Violation("wrong answer", operation.tenant, operation.name, text, at)


def wrong_answers(operation: Operation) -> Iterator[tuple[str, float]]:
    """Find answers that do not belong to their request."""
    for attempt in operation.attempts:
        if attempt.status == NO_ANSWER:
            continue
        if attempt.echo != attempt.request_id:
            yield f"request {attempt.request_id} got the answer to {attempt.echo}", attempt.end
        if attempt.acknowledged:
            for field_name, expected in _expected_fields(operation, attempt):
                if attempt.answer.get(field_name) != expected:
                    text = f"{field_name} is {attempt.answer.get(field_name)!r} and not {expected!r}"
                    yield text, attempt.end


def changed_answers(history: History, _: Found) -> Iterator[Violation]:
    """A retry of an acknowledged label gets the first answer, unless a failover has changed the order since."""
    failovers = [each.end for each in history.disruptions if each.fault in FAILOVERS]
    calm_since = max(failovers, default=0.0)
    deleted = {each.tenant for each in history.of(Kind.DELETE)}
    for label in history.of(*NAMED_LABELS):
        answers = [each for each in label.acknowledgements if each.begin > calm_since and each.answer]
        if label.tenant in deleted or len(answers) < 2:
            continue
        facts = [{**each.answer, "duplicate": None} for each in answers]
        if any(each != facts[0] for each in facts):
            text = f"answered {answers[0].answer}, then {answers[-1].answer}"
            yield Violation("changed answer", label.tenant, label.name, text, answers[-1].end)
        if not all(each.answer["duplicate"] for each in answers[1:]):
            yield Violation("changed answer", label.tenant, label.name, "a retry is no duplicate", answers[-1].end)


def unanswered(history: History, _: Found) -> Iterator[Violation]:
    """Every operation that is repeated is acknowledged in the end."""
    repeated = (*ALL_LABELS, Kind.RETRACT, Kind.SETTING, Kind.DELETE, Kind.IMPORT, Kind.EXPORT, Kind.END_LEASE)
    for operation in history.of(*repeated):
        last = operation.attempts[-1]
        if last.is_retried:
            text = (
                f"not acknowledged in {last.end - operation.begin:.0f} s; the last answer: {last.status} {last.answer}"
            )
            yield Violation("unavailable", operation.tenant, operation.name, text, last.end)


def revoked_keys_alive(history: History, found: Found) -> Iterator[Violation]:
    """A revoked key is refused by a service that could have known for some seconds, and by all in the end."""
    revoked = {each.name: _settled(each) for each in history.of(Kind.REVOKE_KEY) if _settled(each) is not None}
    for use in history.of(Kind.USE_KEY):
        attempt, since = use.attempts[0], revoked.get(use.name)
        if since is not None and attempt.acknowledged and _calm(history.disruptions, attempt, since) >= KEYS_SECONDS:
            text = f"service {attempt.service + 1} accepted it {attempt.begin - since:.1f} s after its revocation"
            yield Violation("revoked key alive", "", use.name, text, attempt.end)
    for name, since in revoked.items():
        if alive := found.keys.get(name, set()) - {401}:
            yield Violation("revoked key alive", "", name, f"in the end it gets {sorted(alive)}", since or 0.0)


def refused_keys(history: History, found: Found) -> Iterator[Violation]:
    """A key that was created and not revoked is accepted."""
    created = {each.name: each.end for each in history.of(Kind.CREATE_KEY) if each.acknowledgements}
    revoked = {each.name: each.begin for each in history.of(Kind.REVOKE_KEY)}
    for use in history.of(Kind.USE_KEY):
        attempt, since = use.attempts[0], created.get(use.name)
        if since is None or attempt.status != 401 or attempt.end >= revoked.get(use.name, float("inf")):
            continue
        if _calm(history.disruptions, attempt, since) >= KEYS_SECONDS:
            text = f"service {attempt.service + 1} refused it {attempt.begin - since:.1f} s after its creation"
            yield Violation("valid key refused", "", use.name, text, attempt.end)
    for name in created.keys() - revoked.keys():
        if refused := found.keys.get(name, set()) - {200}:
            yield Violation("valid key refused", "", name, f"in the end it gets {sorted(refused)}", created[name])


def _settled(operation: Operation) -> float | None:
    """When it was acknowledged, also by a 404 after an attempt without an answer; None if it was not."""
    last = operation.attempts[-1]
    return last.end if last.acknowledged or (last.status == 404 and len(operation.attempts) > 1) else None


def _is_expected(operation: Operation, attempt: Attempt) -> bool:
    if attempt.acknowledged or attempt.is_retried or attempt.answer.get("type") == FORGOTTEN:
        return True
    if operation.kind in {Kind.SECOND_LABEL, Kind.RETRACT} and attempt.answer.get("type") == TOO_OLD:
        return True
    return attempt.status in EXPECTED.get(operation.kind, ())


def _expected_fields(operation: Operation, attempt: Attempt) -> Iterable[tuple[str, Any]]:
    """What an answer must say."""
    if operation.kind in {*ALL_LABELS, Kind.RETRACT, Kind.PREDICT, Kind.LEASE, Kind.END_LEASE}:
        yield "tenant", operation.tenant
    if operation.kind is Kind.END_LEASE:
        yield "prediction_id", operation.wanted["prediction_id"]
        yield "action", operation.wanted["action"]
    if operation.kind in ALL_LABELS:
        yield "label", operation.wanted["label"]
    if operation.kind in NAMED_LABELS:
        yield "feedback_id", operation.name
    if operation.kind is Kind.PREDICT and operation.wanted.get("expected"):
        version, score = operation.wanted["expected"]
        yield "version", version
        yield "score", score
        explained = attempt.answer.get("explanation", [])  # of a number with the number: "word:7 8 (8-16)"
        given = operation.wanted["features"]
        yield "explanation", [each for each in explained if each["feature"].partition(" ")[0] in given]


def _calm(disruptions: Iterable[Disruption], attempt: Attempt, since: float) -> float:
    """The longest time between `since` and an attempt in which no fault kept its service from the store."""
    service = f"service {attempt.service + 1}"
    faults = sorted(
        (each.begin, each.end)
        for each in disruptions
        if each.target in {"store", service} and each.fault not in HARMLESS
    )
    longest, begin = 0.0, since
    for fault_begin, fault_end in faults:
        if fault_begin > attempt.begin:
            break
        longest = max(longest, fault_begin - begin)
        begin = max(begin, fault_end)
    return max(longest, attempt.begin - begin)
