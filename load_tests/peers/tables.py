"""The tables of a run, with a remark in every row where Sluice is not first: in what, by how much, and why."""

from collections.abc import Callable, Iterator
from statistics import median

from load_tests.harness.jobs import Percentiles
from load_tests.harness.report import shown, table_of
from load_tests.peers.contenders import Group
from load_tests.peers.results import CONNECTIONS, PEERS, Loaded, Ratios, Row, Table

IN_MEMORY = "it keeps labels in memory only, while Sluice acknowledges none that is not on the disk"
SIGNIFICANT = 0.05  # of a sign test
NAMES = {"both": "scoring and learning", "predicting": "scoring under load", "learning": "learning under load"}

Column = tuple[str, Callable[[Row], object]]


def peers_table(found: Table) -> str:
    """A line for every contender."""
    stream = found.streams[0]

    def loaded(kind: str, verb: str) -> Iterator[Column]:
        def of(row: Row) -> Loaded | None:
            part: Loaded | None = getattr(row, kind)
            return part

        yield f"{verb} per second, {CONNECTIONS} connections", lambda row: _rate(of(row))
        yield "x Sluice", lambda row: _times(found.ratios(row, row.beside)[kind])
        yield "p50 / p99, ms", lambda row: _latency(getattr(of(row), "latency", None))

    return table_of(
        found.rows,
        ("contender", lambda row: f"**{row.name}**" if row.group is Group.OURS else row.name),
        ("scored and learnt per second, one connection", lambda row: _rate(row.played.get(stream))),
        ("x Sluice", lambda row: _times(found.ratios(row, row.beside)["both"])),
        ("predict p50 / p99, ms", lambda row: _latency(getattr(row.played.get(stream), "predict", None))),
        ("learn p50 / p99, ms", lambda row: _latency(getattr(row.played.get(stream), "learn", None))),
        *loaded("predicting", "predict"),
        *loaded("learning", "learn"),
        *((f"balanced % on {each} (last half)", lambda row, each=each: _balanced(row, each)) for each in found.streams),
        ("remarks", lambda row: remark(found, row)),
    )


def _rate(part: object) -> str:
    rates: list[float] | None = getattr(part, "rates", None)
    return "-" if rates is None else f"{median(rates):,.0f}"


def _times(ratio: float | None) -> str:
    return shown(ratio, ".2f", missing="-")


def _latency(latency: Percentiles | None) -> str:
    return "-" if latency is None else f"{latency.p50:.2f} / {latency.p99:.2f}"


def _balanced(row: Row, stream: str) -> str:
    share = row.balanced(stream)
    verdicts = row.played[stream].verdicts if share is not None else None
    half = shown(verdicts.last_half if verdicts else None, ".2%").removesuffix("%")
    return shown(share, ".2f", f" ({half})" if half else "", missing="-")


def remark(table: Table, row: Row) -> str:
    """What to know about a row, and where it is ahead."""
    if row.absent:
        return f"Not measured: {row.absent}"
    return " ".join(part for part in (row.about, _faster(table, row), *_more_accurate(table, row)) if part)


def _faster(table: Table, row: Row) -> str:
    found = table.ratios(row, row.beside)
    ahead = [name for name in NAMES if (found[name] or 0.0) > 1.0]
    if row.group is Group.OURS or not ahead:
        return ""
    is_alike = row.same_work in {"", row.beside}
    why = row.ahead if is_alike or ahead == ["predicting"] else f"{row.ahead}, and {IN_MEMORY}"
    sentence = f"**Faster than {row.beside}** ({_listed(found, ahead)}): {why}."
    if is_alike:
        return sentence
    return f"{sentence} Beside {row.same_work}: {_listed(table.ratios(row, row.same_work), ahead)}."


def _listed(found: Ratios, names: list[str]) -> str:
    return ", ".join(f"{NAMES[name]} {found[name]:.2f} x" for name in names if found[name] is not None)


def _more_accurate(table: Table, row: Row) -> Iterator[str]:
    """Where it is ahead; then where it is behind, since what is good for one stream may be bad for another."""
    if row.group not in PEERS:
        return
    beside = table.row(row.beside)
    both = {stream: (row.balanced(stream), beside.balanced(stream)) for stream in table.streams}
    ahead = {stream: it - ours for stream, (it, ours) in both.items() if it is not None and ours is not None}
    behind = [f"on {stream} it is behind by {-points:.2f} points" for stream, points in ahead.items() if points < 0.0]
    for stream, points in ahead.items():
        if points > 0.0:
            yield "; ".join([f"**Ahead on {stream}** by {points:.2f} points: {_differing(row, stream)}", *behind]) + "."


def _differing(row: Row, stream: str) -> str:
    verdicts = row.played[stream].verdicts
    assert verdicts is not None
    counts = f"it alone is right on {verdicts.only_it_right:,} examples, Sluice alone on {verdicts.only_ours_right:,}"
    if verdicts.only_it_right <= verdicts.only_ours_right:
        often = "as" if verdicts.only_it_right == verdicts.only_ours_right else "more"
        return f"{counts}, so it errs {often} often, but less on the rarer class"
    if verdicts.chance > SIGNIFICANT:
        return f"{counts}, which may be chance (p = {verdicts.chance:.2f})"
    return f"{counts}, more than by chance (p = {verdicts.chance:.2g}); Sluice's settings were not chosen for it"
