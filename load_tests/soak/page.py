"""The tables of a run, and its section of docs/performance.md."""

from collections.abc import Sequence

import numpy as np

from load_tests.cluster.figures import latency
from load_tests.harness.report import Report, table
from load_tests.soak.disturbances import Action, Disturbance
from load_tests.soak.outcome import Outcome, moved, targets
from load_tests.soak.watch import MIB, Period, growth

AROUND_SECONDS = 60.0  # after a failover; labels that are missing longer would have ended the run


def report(outcome: Outcome, machine: str) -> Report:
    """The whole section."""
    parts = {"What happened": happened_table(outcome), "Memory of the services": memory_table(outcome)}
    return Report("soak", machine, targets(outcome), parts)


def happened_table(outcome: Outcome) -> str:
    """The run in figures."""
    ledger, failovers = outcome.ledger, outcome.of(Action.FAILOVER)
    forms = ", ".join(f"{count:,} {form}" for form, count in sorted(ledger.forms.items()))
    restarts = {action: some for action in (Action.TERMINATE, Action.KILL) if (some := outcome.of(action))}
    passed_on = [f"{count:,} {reason}" for reason, count in ledger.passed_on.most_common()]
    rows: list[tuple[str, object]] = [
        ("requests answered", f"{ledger.requests:,} in {outcome.seconds:,.0f} s"),
        ("predictions", _latencies(outcome, None)),
        ("predictions while a service restarted", _latencies(outcome, outcome.of(Action.TERMINATE, Action.KILL))),
        ("predictions while the store failed over", _latencies(outcome, failovers)),
        ("labels acknowledged", f"{len(ledger.acknowledged):,}: {forms}"),
        ("of them known from an attempt that had no answer", f"{ledger.duplicates:,}"),
        ("of them answered with 409: they count, without the first answer", f"{ledger.forgotten:,}"),
        ("labels whose prediction was no longer kept (410)", f"{ledger.expired:,}"),
        ("predictions answered without an id", f"{ledger.predictions_not_kept:,}"),
        ("requests passed on to another service", "; ".join([f"{ledger.passed_on.total():,}", *passed_on])),
        ("times that no service took a label, and it was sent again", f"{ledger.sent_again:,}"),
        *((f"restarts by {action}", f"{len(some)}; gone for {_range(some)} s") for action, some in restarts.items()),
        *(("failover: no label was acknowledged for", f"{_silence(outcome, each):.1f} s") for each in failovers),
        ("events that it lost, and services appended again", f"{outcome.appended_again:,}"),
        ("labels that have another version than their answer said", f"{moved(ledger.acknowledged, outcome.tenants):,}"),
        ("models that had to be rescued to files", f"{outcome.rescued:,}"),
    ]
    unexpected = [
        (f"unexpected: {text.replace('|', '/')}".replace("\n", " "), n) for text, n in ledger.unexpected.most_common()
    ]
    return table(("what", "measured"), [*rows, *unexpected])


def memory_table(outcome: Outcome) -> str:
    """Every period of a service, and the store."""

    def row(period: Period) -> tuple[str, ...]:
        found, begin = growth(period), max(period.began - outcome.began, 0)
        early, late = (found.early, found.late) if found else (period.samples[0], period.samples[-1])
        times = (f"{begin:.0f} s", f"{period.samples[-1].at - outcome.began:.0f} s")
        ratio = f"{found.ratio:.3f} x" if found else "too short"
        return (period.name, *times, f"{early.bytes / MIB:.1f}", f"{late.bytes / MIB:.1f}", ratio)

    header = ("process", "from", "to", "early, MiB", "late, MiB", "growth")
    return table(header, [row(period) for period in [*outcome.periods, outcome.store] if period.samples])


def silence_seconds(acknowledged_at: Sequence[float], begin: float) -> float:
    """The longest time without an acknowledged label around a moment."""
    times = np.sort(np.asarray(acknowledged_at))
    around = times[(times >= begin - 1.0) & (times <= begin + AROUND_SECONDS)]
    return float(np.diff(around).max()) if around.size > 1 else float("nan")


def _silence(outcome: Outcome, failover: Disturbance) -> float:
    return silence_seconds(outcome.ledger.acknowledged_at, failover.begin)


def _latencies(outcome: Outcome, during: list[Disturbance] | None) -> str:
    """Predictions, retries included: all, or those sent during some disturbances."""
    at, seconds = np.asarray(outcome.ledger.predicted_at), np.asarray(outcome.ledger.prediction_seconds)
    if during is not None:
        sent = [(at >= each.begin) & (at <= each.end) for each in during]
        seconds = seconds[np.any(sent, axis=0)] if sent else seconds[:0]
    return f"{seconds.size:,}; {latency(seconds)}" if seconds.size else "none"


def _range(some: list[Disturbance]) -> str:
    seconds = [each.end - each.begin for each in some]
    return f"{min(seconds):.1f} to {max(seconds):.1f}"
