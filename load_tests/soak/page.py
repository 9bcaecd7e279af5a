"""What a run found, as tables and as the section of docs/performance.md."""

from collections.abc import Sequence

import numpy as np

from load_tests.harness.report import machine_list, misses, table, targets_table
from load_tests.soak.disturbing import Disturbance
from load_tests.soak.judging import moved, targets
from load_tests.soak.load import CLIENTS, PER_SECOND
from load_tests.soak.memory import Life, growth
from load_tests.soak.outcome import Outcome
from load_tests.soak.plan import SERVICES, Deed
from load_tests.soak.traffic import BATCH, FEATURES, MEAN_DELAY_SECONDS, TENANTS, VOCABULARY

AROUND_SECONDS = 60.0  # after a failover; labels that are missing longer would have ended the run
MIB = 2**20

METHOD = f"""### How it was done
- **The store** is a Valkey with a replica and a Sentinel, `appendfsync always`, replication as it is by default:
  asynchronous. In the middle of the run the replica is cut off, some labels later the primary is killed (-9): so its
  successor lacks labels that were acknowledged. Later the old primary comes back, and Sentinel makes it a replica.
- **{SERVICES} services** share it. One after the other is stopped, by SIGTERM and kill -9 in turns, and started again;
  the next one only when it is ready. In the last 30% of the run nothing is disturbed.
- **The clients** are {CLIENTS}, as behind a load balancer: each asks, waits for the answer, and pauses; in all they ask
  some {PER_SECOND:g} times a second. A service that is not there, or answers 503, is passed over for the next one. A
  label is sent until it is acknowledged, always with the same `feedback_id`; if its prediction is not kept (410), with
  its features.
- **The traffic**: {len(TENANTS)} tenants, as popular as Zipf's law says, and examples of {FEATURES} features out of
  {VOCABULARY:,}. Labels come by `prediction_id` (after {MEAN_DELAY_SECONDS:g} s on average), with their features, and
  in batches of {BATCH}.
- **In the end** every label that was acknowledged is looked for in the logs, as they lie in the store. Every tenant
  must have the same version and digest on all services, on a fresh one that has only the store to begin from, and in a
  replay of the log from its first event.
- **Memory** of a service is compared between the first and the last third of a life, without its first minute. It may
  grow by a tenth: a worker remembers the last events, up to 32 MiB. The store keeps every label, and is judged by the
  label, while nothing is disturbed."""


def soak_section(outcome: Outcome, facts: list[str], load_averages: tuple[float, float]) -> str:
    """The whole section."""
    found = targets(outcome)
    parts = [
        machine_list(facts, load_averages, own="less than 1"),
        "### Promises\n" + targets_table(found) + "\n\n" + misses(found),
        "### What happened\n" + happened_table(outcome),
        "### Memory of the services\n" + memory_table(outcome),
        METHOD,
    ]
    return "\n\n".join(parts)


def happened_table(outcome: Outcome) -> str:
    """The run in figures."""
    ledger = outcome.ledger
    ways = ", ".join(f"{count:,} {way}" for way, count in sorted(ledger.ways.items()))
    rows: list[tuple[object, ...]] = [
        ("requests answered", f"{ledger.requests:,} in {outcome.seconds:,.0f} s"),
        ("predictions", _latencies(outcome, None)),
        ("predictions while a service restarted", _latencies(outcome, outcome.of(Deed.TERMINATE, Deed.KILL))),
        ("predictions while the store failed over", _latencies(outcome, outcome.of(Deed.FAILOVER))),
        ("labels acknowledged", f"{len(ledger.acknowledged):,}: {ways}"),
        ("of them known from an attempt that had no answer", f"{ledger.duplicates:,}"),
        ("of them told by a 409 that they count, without the first answer", f"{ledger.forgotten:,}"),
        ("labels whose prediction was not kept any more (410)", f"{ledger.expired:,}"),
        ("predictions answered without an id", f"{ledger.predictions_not_kept:,}"),
        ("requests passed on to another service", _passed_on(outcome)),
        ("times that no service took a label, and it was sent again", f"{ledger.sent_again:,}"),
        *_restart_rows(outcome),
        *_failover_rows(outcome),
    ]
    return table(("what", "measured"), [*rows, *(("unexpected: " + _cell(text), n) for text, n in _surprises(outcome))])


def memory_table(outcome: Outcome) -> str:
    """Every life of a service, and the store."""
    header = ("process", "from", "to", "early, MiB", "late, MiB", "growth")
    return table(header, [_memory_row(life, outcome) for life in [*outcome.lives, outcome.store] if life.samples])


def silence_seconds(acknowledged_at: Sequence[float], begin: float) -> float:
    """The longest time without an acknowledged label around a moment."""
    times = np.sort(np.asarray(acknowledged_at))
    around = times[(times >= begin - 1.0) & (times <= begin + AROUND_SECONDS)]
    return float(np.diff(around).max()) if around.size > 1 else float("nan")


def _memory_row(life: Life, outcome: Outcome) -> tuple[object, ...]:
    begin, end = life.began - outcome.began, life.samples[-1].at - outcome.began
    found = growth(life)
    if found is None:
        return (life.name, f"{max(begin, 0):.0f} s", f"{end:.0f} s", *_first_and_last(life), "too short")
    early, late = found.early.bytes / MIB, found.late.bytes / MIB
    return (life.name, f"{max(begin, 0):.0f} s", f"{end:.0f} s", f"{early:.1f}", f"{late:.1f}", f"{found.ratio:.3f} x")


def _first_and_last(life: Life) -> tuple[str, str]:
    return f"{life.samples[0].bytes / MIB:.1f}", f"{life.samples[-1].bytes / MIB:.1f}"


def _restart_rows(outcome: Outcome) -> list[tuple[object, ...]]:
    return [
        (f"restarts by {deed}", f"{len(found)}; gone for {_range([each.seconds for each in found])} s")
        for deed in (Deed.TERMINATE, Deed.KILL)
        if (found := outcome.of(deed))
    ]


def _failover_rows(outcome: Outcome) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        (
            "failover: no label was acknowledged for",
            f"{silence_seconds(outcome.ledger.acknowledged_at, each.begin):.1f} s",
        )
        for each in outcome.of(Deed.FAILOVER)
    ]
    return [
        *rows,
        ("events that it lost, and services appended again", f"{outcome.appended_again:,}"),
        (
            "labels that have another version than their answer said",
            f"{moved(outcome.ledger.acknowledged, outcome.tenants):,}",
        ),
        ("models that had to be rescued to files", f"{outcome.rescued:,}"),
    ]


def _latencies(outcome: Outcome, during: list[Disturbance] | None) -> str:
    """Of predictions, retries included; of all, or of those that were asked during some disturbances."""
    at, seconds = np.asarray(outcome.ledger.predicted_at), np.asarray(outcome.ledger.prediction_seconds)
    if during is not None:
        asked = [(at >= each.begin) & (at <= each.end) for each in during]
        seconds = seconds[np.any(asked, axis=0)] if asked else seconds[:0]
    if not seconds.size:
        return "none"
    p50, p99, worst = np.percentile(seconds * 1e3, [50, 99, 100])
    return f"{seconds.size:,}; p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {worst:.0f} ms"


def _passed_on(outcome: Outcome) -> str:
    reasons = outcome.ledger.passed_on
    return f"{reasons.total():,}" + "".join(f"; {count:,} {reason}" for reason, count in reasons.most_common())


def _surprises(outcome: Outcome) -> list[tuple[str, int]]:
    return outcome.ledger.surprises.most_common()


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")
