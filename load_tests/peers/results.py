"""What was measured of each contender: its table, with a remark where Sluice is not first, and the targets."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from app.features.featurizer import Kind
from experiments.quality.verdicts import confusion, last_half
from kernels.arrays import Floats
from load_tests.harness.jobs import Percentiles
from load_tests.harness.report import Target, at_least, shown, table_of
from load_tests.peers.contenders import LEARN, PREDICT, Contender, Group

CONNECTIONS = 16  # of a load; a stream is played over one
PEERS = (Group.PYTHON, Group.DAEMON, Group.MAIL)
TITLES: dict[Kind, str] = {"url": "URLs", "email": "Mails"}

# Kinds of work: in turn over one connection, then each over many.
BOTH, PREDICTING, LEARNING = "scoring and learning", "scoring under load", "learning under load"
COMPARED = {
    PREDICTING: f"scored per second, {CONNECTIONS} connections",
    LEARNING: f"learnt per second, {CONNECTIONS} connections",
    BOTH: "scored and learnt per second, one connection",
}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Accuracy before learning, and the number of examples on which only one of the two, it or Sluice, was right."""

    balanced: float | None
    last_half: float | None
    only_it_right: int
    only_ours_right: int

    @property
    def chance(self) -> float:
        """The probability of so large a difference between two that are equally good: a sign test."""
        differing = self.only_it_right + self.only_ours_right
        if not differing:
            return 1.0
        excess = max(abs(self.only_it_right - self.only_ours_right) - 1.0, 0.0)
        return math.erfc(excess / math.sqrt(2.0 * differing))


def judged(labels: Floats, said: Floats, ours: Floats) -> Verdicts:
    """Compare verdicts, each above 0 for an anomaly, with those of Sluice."""
    right, ours_right = (said > 0.0) == (labels > 0.0), (ours > 0.0) == (labels > 0.0)
    return Verdicts(
        confusion(labels, said).balanced_accuracy,
        last_half(labels, said),
        int(np.count_nonzero(right & ~ours_right)),
        int(np.count_nonzero(~right & ours_right)),
    )


@dataclass(slots=True)
class Row:
    """One contender on one kind of input."""

    contender: Contender
    absent: str = ""  # why it did not take part, or how it failed
    rates: dict[str, list[float]] = field(default_factory=dict)  # examples per second in each turn, by kind of work
    latencies: dict[str, Percentiles] = field(default_factory=dict)  # by kind of request, or of work under load
    verdicts: dict[str, Verdicts] = field(default_factory=dict)  # by stream

    def balanced(self, stream: str) -> float | None:
        """Balanced accuracy in percent."""
        share = self.verdicts[stream].balanced if stream in self.verdicts else None
        return None if share is None else 100.0 * share


@dataclass(frozen=True, slots=True)
class Table:
    """All contenders on one kind of input; the first stream has the natural share of anomalies."""

    kind: Kind
    streams: list[str]
    rows: dict[str, Row]

    def times(self, row: Row, beside: str, work: str) -> float | None:
        """The rate of a row in terms of another: compared turn by turn, so that a noisy minute affects both."""
        theirs, ours = row.rates.get(work), self.rows[beside].rates.get(work)
        if theirs is None or ours is None:
            return None
        return median(one / other for one, other in zip(theirs, ours, strict=True))


def render(found: Table) -> str:
    def rate(work: str, header: str) -> tuple[str, Callable[[Row], str]]:
        return header, lambda row: f"{median(row.rates[work]):,.0f}" if work in row.rates else "-"

    def beside(work: str) -> tuple[str, Callable[[Row], str]]:
        return "x Sluice", lambda row: shown(found.times(row, row.contender.beside, work), ".2f", missing="-")

    def latency(kind: str, header: str = "") -> tuple[str, Callable[[Row], str]]:
        return (
            f"{header}p50 / p99, ms",
            lambda row: (
                f"{row.latencies[kind].p50:.2f} / {row.latencies[kind].p99:.2f}" if kind in row.latencies else "-"
            ),
        )

    return table_of(
        found.rows.values(),
        ("contender", lambda row: f"**{row.contender.name}**" if row.contender.is_ours else row.contender.name),
        rate(BOTH, COMPARED[BOTH]),
        beside(BOTH),
        latency(PREDICT, "predict "),
        latency(LEARN, "learn "),
        rate(PREDICTING, f"predict per second, {CONNECTIONS} connections"),
        beside(PREDICTING),
        latency(PREDICTING),
        rate(LEARNING, f"learn per second, {CONNECTIONS} connections"),
        beside(LEARNING),
        latency(LEARNING),
        *((f"balanced % on {each} (last half)", lambda row, each=each: _balanced(row, each)) for each in found.streams),
        ("remarks", lambda row: remark(found, row)),
    )


def _balanced(row: Row, stream: str) -> str:
    share = row.balanced(stream)
    half = None if share is None else row.verdicts[stream].last_half
    return shown(share, ".2f", missing="-") + ("" if half is None else f" ({100.0 * half:.2f})")


def remark(table: Table, row: Row) -> str:
    if row.absent:
        return f"Not measured: {row.absent}"
    parts = (row.contender.about, _faster(table, row), *_more_accurate(table, row))
    return " ".join(part for part in parts if part)


def _faster(table: Table, row: Row) -> str:
    def ratios(beside: str) -> dict[str, float]:
        found = {work: table.times(row, beside, work) for work in (BOTH, PREDICTING, LEARNING)}
        return {work: ratio for work, ratio in found.items() if ratio is not None}

    def listed(found: dict[str, float]) -> str:
        return ", ".join(f"{work} {found[work]:.2f} x" for work in ahead if work in found)

    it = row.contender
    found = ratios(it.beside)
    ahead = [work for work, ratio in found.items() if ratio > 1.0]
    if it.is_ours or not ahead:
        return ""
    also = f" Beside {it.same_work}: {listed(ratios(it.same_work))}." if it.same_work not in {"", it.beside} else ""
    return f"**Faster than {it.beside}**: {listed(found)}.{also}"


def _more_accurate(table: Table, row: Row) -> Iterator[str]:
    for stream, verdicts in row.verdicts.items():
        theirs, ours = row.balanced(stream), table.rows[row.contender.beside].balanced(stream)
        if row.contender.group in PEERS and theirs is not None and ours is not None and theirs > ours:
            yield (
                f"**Ahead on {stream}** by {theirs - ours:.2f} points: it alone is right on "
                f"{verdicts.only_it_right:,} examples, Sluice alone on {verdicts.only_ours_right:,} "
                f"(sign test: p = {verdicts.chance:.2g})."
            )


def targets(tables: list[Table]) -> list[Target]:
    """Sluice is first where the work is the same: in speed beside services and mail filters, in verdicts beside all."""
    return [target for table in tables for target in (*_speed(table), *_verdicts(table))]


def _speed(table: Table) -> Iterator[Target]:
    """A Python service without a log promises less than Sluice, so only its scoring is the same work."""
    for row in table.rows.values():
        it = row.contender
        if it.group not in {Group.PYTHON, Group.MAIL}:
            continue
        alike = it.group is Group.MAIL or it.same_work == it.beside  # a row of Sluice keeps labels as it does
        ours = it.same_work if alike else it.beside
        for work in COMPARED if alike else (PREDICTING,):
            name = f"{TITLES[table.kind]} {COMPARED[work]}: {ours} beside {it.name}"
            theirs = table.times(row, ours, work)
            if theirs is None:
                yield Target(name, "at least 1 x", f"not measured: {row.absent}", None)
            else:
                yield at_least(name, 1.0, 1.0 / theirs)


def _verdicts(table: Table) -> Iterator[Target]:
    for stream in table.streams:
        for row in table.rows.values():
            it = row.contender
            if it.group not in PEERS or it.same_work == it.beside:  # with a log, verdicts are the same as without
                continue
            text = f"{stream}: balanced accuracy, beside {it.name}"
            ours, theirs = table.rows[it.beside].balanced(stream), row.balanced(stream)
            if ours is None or theirs is None:
                yield Target(text, "at least theirs", f"not measured: {row.absent or 'a class is missing'}", None)
            else:
                yield Target(text, f"at least {theirs:.2f}%", f"{ours:.2f}%", ours >= theirs)
