"""What was measured of each contender, how the rows compare, and the targets."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from app.features.featurizer import Kind
from experiments.quality.verdicts import confusion, last_half
from kernels.arrays import Floats
from load_tests.harness.jobs import Percentiles
from load_tests.harness.report import Target, at_least
from load_tests.peers.contenders import Group

CONNECTIONS = 16  # of a load; a stream is played over one
PEERS = (Group.PYTHON, Group.DAEMON, Group.MAIL)
Ratios = dict[str, float | None]  # both (in turn, over one connection), predicting, learning (over many); None: unknown
TITLES: dict[Kind, str] = {"url": "URLs", "email": "Mails"}


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


@dataclass(frozen=True, slots=True)
class Played:
    """One stream over one connection: examples scored and learnt per second in each turn, and latencies."""

    rates: list[float]
    predict: Percentiles | None  # None for feedback alone
    learn: Percentiles
    verdicts: Verdicts | None  # None for the limit


@dataclass(frozen=True, slots=True)
class Loaded:
    """One kind of request over many connections: examples per second in each round, and latencies."""

    rates: list[float]
    latency: Percentiles


@dataclass(slots=True)
class Row:
    """One contender on one kind of input."""

    name: str
    group: Group
    beside: str
    same_work: str
    about: str
    ahead: str
    absent: str | None = None  # why it did not take part, or how it failed
    played: dict[str, Played] = field(default_factory=dict)  # by stream
    predicting: Loaded | None = None
    learning: Loaded | None = None

    def balanced(self, stream: str) -> float | None:
        """Balanced accuracy in percent."""
        played = self.played.get(stream)
        share = played.verdicts.balanced if played and played.verdicts else None
        return None if share is None else 100.0 * share


@dataclass(frozen=True, slots=True)
class Table:
    """All contenders on one kind of input; the first stream has the natural share of anomalies."""

    kind: Kind
    streams: list[str]
    rows: list[Row]

    def row(self, name: str) -> Row:
        return next(row for row in self.rows if row.name == name)

    def ratios(self, row: Row, beside: str) -> Ratios:
        """The rates of a row in terms of one of Sluice's rows."""
        ours, stream = self.row(beside), self.streams[0]
        return {
            "both": _times(row.played.get(stream), ours.played.get(stream)),
            "predicting": _times(row.predicting, ours.predicting),
            "learning": _times(row.learning, ours.learning),
        }


def _times(theirs: Played | Loaded | None, ours: Played | Loaded | None) -> float | None:
    """Compared turn by turn, so that a noisy minute affects both."""
    if theirs is None or ours is None:
        return None
    return median(one / other for one, other in zip(theirs.rates, ours.rates, strict=True))


def judged(labels: Floats, said: Floats, ours: Floats) -> Verdicts:
    """Compare verdicts, each above 0 for an anomaly, with those of Sluice."""
    right, ours_right = (said > 0.0) == (labels > 0.0), (ours > 0.0) == (labels > 0.0)
    return Verdicts(
        confusion(labels, said).balanced_accuracy,
        last_half(labels, said),
        int(np.count_nonzero(right & ~ours_right)),
        int(np.count_nonzero(~right & ours_right)),
    )


def targets(tables: list[Table]) -> list[Target]:
    """Sluice is first where the work is the same: in speed beside services and mail filters, in verdicts beside all."""
    return [target for table in tables for target in (*_speed(table), *_verdicts(table))]


def _speed(table: Table) -> Iterator[Target]:
    """A Python service without a log promises less than Sluice, so only its scoring is the same work."""
    for row in table.rows:
        if row.group not in {Group.PYTHON, Group.MAIL}:
            continue
        alike = row.group is Group.MAIL or row.same_work == row.beside  # a row of Sluice keeps labels as it does
        ours = row.same_work if alike else row.beside
        found = table.ratios(row, ours)
        compared = {f"scored per second, {CONNECTIONS} connections": found["predicting"]}
        if alike:
            compared[f"learnt per second, {CONNECTIONS} connections"] = found["learning"]
            compared["scored and learnt per second, one connection"] = found["both"]
        for text, theirs in compared.items():
            name = f"{TITLES[table.kind]} {text}: {ours} beside {row.name}"
            if theirs is None:
                yield Target(name, "at least 1 x", f"not measured: {row.absent}", None)
            else:
                yield at_least(name, 1.0, 1.0 / theirs)


def _verdicts(table: Table) -> Iterator[Target]:
    for stream in table.streams:
        for row in table.rows:
            if row.group not in PEERS or row.same_work == row.beside:  # with a log, verdicts are the same as without
                continue
            text = f"{stream}: balanced accuracy, beside {row.name}"
            ours, theirs = table.row(row.beside).balanced(stream), row.balanced(stream)
            if ours is None or theirs is None:
                reason = row.absent or "a class is missing"
                yield Target(text, "at least theirs", f"not measured: {reason}", None)
            else:
                yield Target(text, f"at least {theirs:.2f}%", f"{ours:.2f}%", ours >= theirs)
