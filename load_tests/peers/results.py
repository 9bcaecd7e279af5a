"""What one run found, and what it was to find."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.features.featurizer import Kind
from load_tests.harness.report import Target, at_least
from load_tests.peers.contenders.contender import Group
from load_tests.peers.figures import Row, times
from load_tests.peers.sizes import CONNECTIONS, Sizes

PEERS = (Group.PYTHON, Group.DAEMON, Group.MAIL)
MANY = f"{CONNECTIONS} connections"
TITLES: dict[Kind, str] = {"url": "URLs", "email": "Mails"}


@dataclass(frozen=True, slots=True)
class Table:
    """Everyone on one kind of input; the first of the streams is the one with the natural share of anomalies."""

    kind: Kind
    streams: list[str]
    rows: list[Row]

    def row(self, name: str) -> Row:
        """One contender."""
        return next(row for row in self.rows if row.name == name)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    sizes: Sizes
    machine: list[str]
    load_averages: tuple[float, float]
    minutes: float
    tables: list[Table]


@dataclass(frozen=True, slots=True)
class Ratios:
    """How many times the rate of Sluice a contender has; None where it was not measured."""

    both: float | None  # scoring and learning in turn, over one connection
    predicting: float | None  # over many
    learning: float | None


def ratios(table: Table, row: Row, beside: str) -> Ratios:
    """Beside one of Sluice's rows."""
    ours, stream = table.row(beside), table.streams[0]
    played = stream in row.played and stream in ours.played
    return Ratios(
        times(row.played[stream].rates, ours.played[stream].rates) if played else None,
        times(row.predicting.rates, ours.predicting.rates) if row.predicting and ours.predicting else None,
        times(row.learning.rates, ours.learning.rates) if row.learning and ours.learning else None,
    )


def targets(results: Results) -> list[Target]:
    """Sluice first where the same work is compared: in speed with services and mail filters, in verdicts with all."""
    return [target for table in results.tables for target in (*_speed(table), *_verdicts(table))]


def _speed(table: Table) -> Iterator[Target]:
    """A Python service without a log promises less than Sluice does, so only its scoring is the same work."""
    title = TITLES[table.kind]
    for row in table.rows:
        if row.group not in {Group.PYTHON, Group.MAIL}:
            continue
        ours = row.same_work if keeps_labels_alike(row) else row.beside
        found = ratios(table, row, ours)
        yield _first(title, f"scored per second, {MANY}", found.predicting, row, ours)
        if keeps_labels_alike(row):
            yield _first(title, f"learnt per second, {MANY}", found.learning, row, ours)
            yield _first(title, "scored and learnt per second, one connection", found.both, row, ours)


def keeps_labels_alike(row: Row) -> bool:
    """Whether a row of Sluice does the same work in learning: for mail filters, the one with a store in memory."""
    return row.group is Group.MAIL or row.same_work == row.beside


def _first(title: str, text: str, theirs: float | None, row: Row, ours: str) -> Target:
    return _beside(f"{title} {text}: {ours} beside {row.name}", theirs, row)


def _beside(text: str, theirs: float | None, row: Row) -> Target:
    if theirs is None:
        return Target(text, "at least 1 x", f"not measured: {row.absent}", None)
    return at_least(text, 1.0, 1.0 / theirs)


def _verdicts(table: Table) -> Iterator[Target]:
    for stream in table.streams:
        for row in table.rows:
            if row.group in PEERS and row.same_work != row.beside:  # with a log, verdicts are the same as without
                text = f"{stream}: balanced accuracy, beside {row.name}"
                yield _better(text, balanced(table.row(row.beside), stream), balanced(row, stream), row)


def balanced(row: Row, stream: str) -> float | None:
    """In percent."""
    played = row.played.get(stream)
    share = played.verdicts.balanced if played and played.verdicts else None
    return None if share is None else 100.0 * share


def _better(text: str, ours: float | None, theirs: float | None, row: Row) -> Target:
    if ours is None or theirs is None:
        return Target(text, "at least theirs", f"not measured: {row.absent or 'a class is missing'}", None)
    return Target(text, f"at least {theirs:.2f}%", f"{ours:.2f}%", ours >= theirs)
