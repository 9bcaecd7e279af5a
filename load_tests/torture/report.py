"""The report: what was done, which promises were broken, and a shortened history of each violation."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from load_tests.harness.report import say
from load_tests.torture.history import Attempt, Disruption, History, Kind, Operation, Violation, within

SHOWN = 3  # violations of each kind
AROUND_SECONDS = 6.0
LINES = 14  # of a shortened history
TEXT = 160


def summary(history: History, violations: Sequence[Violation]) -> str:
    """What was done and found, in a few lines."""
    acknowledged = Counter(str(each.kind) for each in history.operations if each.acknowledgements)
    faults = Counter(each.fault for each in history.disruptions)
    found = Counter(violation.promise for violation in violations)
    return "\n".join(
        [
            "acknowledged: " + _counts(acknowledged),
            "faults: " + _counts(faults),
            "violations: " + (_counts(found) or "none"),
        ]
    )


def details(history: History, violations: Sequence[Violation]) -> str:
    """The first violations of each kind, each with what happened around it."""
    lines, shown = [], Counter[str]()
    for violation in violations:
        shown[violation.promise] += 1
        if shown[violation.promise] <= SHOWN:
            lines += ["", f"* {violation.promise}: {' '.join(filter(None, (violation.tenant, violation.name)))}"]
            lines += [f"  {violation.text[: 3 * TEXT]}", *shortened(history, violation)]
    return "\n".join(lines)


def shortened(history: History, violation: Violation) -> list[str]:
    """The attempts of the culprit, with deletions of its tenant and the faults around them, in order of time."""
    own = [each for each in history.operations if violation.name and each.name == violation.name]
    begin = min((each.begin for each in own if each.attempts), default=violation.at) - AROUND_SECONDS
    end = max(violation.at, max((each.end for each in own if each.attempts), default=violation.at)) + AROUND_SECONDS
    if not violation.at:
        return []
    changes = [
        each
        for each in history.of(Kind.DELETE, Kind.IMPORT)
        if each.tenant == violation.tenant and each.name != violation.name and begin <= each.end and each.begin <= end
    ]
    found = [(each.begin, _attempt(operation, each)) for operation in own + changes for each in operation.attempts]
    found += [(each.begin, _disruption(each, history.began)) for each in within(history.disruptions, begin, end)]
    found.sort(key=lambda each: each[0])
    middle = [f"  ... {len(found) - LINES} more ..."] if len(found) > LINES else []
    lines = [f"  {at - history.began:8.2f} s  {text}" for at, text in found]
    return lines if not middle else [*lines[: LINES // 2], *middle, *lines[-LINES // 2 :]]


def write(folder: Path, history: History, violations: Sequence[Violation]) -> None:
    """Write everything that is not printed."""
    text = "\n".join(
        f"{each.at - history.began:8.2f} s  {each.promise}: {each.tenant} {each.name}: {each.text}"
        for each in violations
    )
    (folder / "violations.txt").write_text(text + "\n", encoding="utf-8")
    say(f"the whole history, all violations, and the logs of all processes are in {folder}")


def _attempt(operation: Operation, attempt: Attempt) -> str:
    took = attempt.end - attempt.begin
    answer = str(
        {name: value for name, value in attempt.answer.items() if name in {"version", "duplicate", "type", "error"}}
    )
    where = f"service {attempt.service + 1}, {attempt.request_id}"
    return (
        f"{operation.kind} {operation.name} to {where}: {attempt.status or 'no answer'} in {took:.2f} s {answer[:TEXT]}"
    )


def _disruption(disruption: Disruption, began: float) -> str:
    return (
        f"-- {disruption.fault} ({disruption.target}) until {disruption.end - began:.2f} s: {disruption.detail[:TEXT]}"
    )


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{number:,} x {name}" for name, number in counter.most_common())
