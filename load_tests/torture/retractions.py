"""Promises about labels that are taken back or replaced, as pure functions of the history and of the final state."""

from collections import defaultdict
from collections.abc import Iterator

from load_tests.torture.history import ALL_LABELS, Found, History, Kind, Logged, Operation, Violation, within
from load_tests.torture.schedule import FAILOVERS

Logs = defaultdict[tuple[str, str], list[Logged]]


def lost_retractions(history: History, found: Found) -> Iterator[Violation]:
    """Each label whose retraction was acknowledged is taken back in the log, if the log has it.

    A service reports a retraction that is lost with the store's data: that is documented.
    """
    logs = _by_name(found)
    for retraction in history.of(Kind.RETRACT):
        if not retraction.acknowledgements or retraction.tenant in found.unretracted:
            continue
        at = retraction.acknowledgements[-1].end
        for name in _taken_back(retraction):
            if any(not event.retracted for event in logs[retraction.tenant, name]):
                text = f"it was acknowledged, and the log does not take back {name}"
                yield Violation("lost retraction", retraction.tenant, retraction.name, text, at)


def wrong_replacements(history: History, found: Found) -> Iterator[Violation]:
    """The log takes back each label that an answer says was replaced, until what replaced it is taken back."""
    logs = _by_name(found)
    for label in history.of(Kind.SECOND_LABEL):
        replaced = {
            each.answer["replaced"]["feedback_id"] for each in label.acknowledgements if "replaced" in each.answer
        }
        for first in replaced if label.tenant not in found.unretracted else ():
            if any(not event.retracted and not event.restored for event in logs[label.tenant, first]):
                text = f"it has replaced {first}, and the log does not take that back"
                yield Violation("lost retraction", label.tenant, label.name, text, label.end)


def standing_labels(history: History, found: Found) -> Iterator[Violation]:
    """A prediction has one label that stands, unless a failover came between two of them."""
    given = {(each.tenant, each.name): each for each in history.of(*ALL_LABELS)}
    for tenant in found.tenants.values():
        standing = defaultdict[str, list[Operation]](list)
        for event in tenant.log:
            if event.prediction_id and not event.retracted and (tenant.tenant, event.name) in given:
                standing[event.prediction_id].append(given[tenant.tenant, event.name])
        for prediction_id, labels in standing.items():
            begin, end = min(each.begin for each in labels), max(each.end for each in labels)
            if len(labels) > 1 and not _has_failover(history, begin, end):
                text = f"prediction {prediction_id} has the labels {', '.join(each.name for each in labels)}"
                yield Violation("two labels stand", tenant.tenant, labels[-1].name, text, end)


def missed_labels(history: History, _: Found) -> Iterator[Violation]:
    """A retraction finds every acknowledged label, unless its tenant was deleted, or a failover was repaired just then.

    An unknown label is answered with 404. One of a moderator is only missing in the number.
    """
    given = {(each.tenant, each.name): each for each in history.of(*ALL_LABELS)}
    deleted = {each.tenant for each in history.of(Kind.DELETE)}
    for retraction in history.of(Kind.RETRACT):
        names = retraction.wanted["labels"]
        begin = min(given[retraction.tenant, name].begin for name in names)
        for attempt in retraction.attempts:
            number = _number(attempt.answer) if attempt.acknowledged else 0
            is_known = number == len(names) if attempt.acknowledged else attempt.status != 404
            if is_known or retraction.tenant in deleted or _has_failover(history, begin, attempt.end):
                continue
            text = f"{len(names)} labels were acknowledged before; {attempt.status}, {number} of them were found"
            yield Violation("unknown label", retraction.tenant, retraction.name, text, attempt.end)


def _taken_back(retraction: Operation) -> list[str]:
    """The names of the labels that acknowledged answers speak of."""
    names: list[str] = retraction.wanted["labels"]
    answers = [each.answer for each in retraction.acknowledgements]
    if any(_number(answer) == len(names) for answer in answers):
        return names
    return [label["feedback_id"] for answer in answers for label in answer["labels"]]


def _number(answer: dict[str, int]) -> int:
    return answer["retracted"] + answer["already_retracted"]


def _has_failover(history: History, begin: float, end: float) -> bool:
    return any(each.fault in FAILOVERS for each in within(history.disruptions, begin, end))


def _by_name(found: Found) -> Logs:
    logs = Logs(list)
    for tenant in found.tenants.values():
        for event in tenant.log:
            logs[tenant.tenant, event.name].append(event)
    return logs
