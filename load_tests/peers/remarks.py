"""A sentence in every row where Sluice is not first: in what, by how much, and why."""

from collections.abc import Iterator

from load_tests.peers.contenders.contender import Group
from load_tests.peers.figures import Row
from load_tests.peers.results import PEERS, Ratios, Table, balanced, ratios

IN_MEMORY = "it keeps labels in memory only, while Sluice acknowledges none that is not on the disk"
SURE = 0.05  # of a sign test
NAMES = {"both": "scoring and learning", "predicting": "scoring under load", "learning": "learning under load"}


def remark(table: Table, row: Row) -> str:
    """What one should know about a row, and where it is ahead."""
    if row.absent:
        return f"Not measured: {row.absent}"
    return " ".join(part for part in (row.about, _faster(table, row), *_righter(table, row)) if part)


def _faster(table: Table, row: Row) -> str:
    if row.group is Group.OURS:
        return ""
    found = ratios(table, row, row.beside)
    ahead = [name for name in NAMES if (getattr(found, name) or 0.0) > 1.0]
    if not ahead:
        return ""
    is_alike = row.same_work in {"", row.beside}
    why = row.ahead if is_alike or ahead == ["predicting"] else f"{row.ahead}, and {IN_MEMORY}"
    sentence = f"**Faster than {row.beside}** ({_told(found, ahead)}): {why}."
    if is_alike:
        return sentence
    return f"{sentence} Beside {row.same_work}: {_told(ratios(table, row, row.same_work), ahead)}."


def _told(found: Ratios, names: list[str]) -> str:
    known = {name: value for name in names if (value := getattr(found, name)) is not None}
    return ", ".join(f"{NAMES[name]} {value:.2f} x" for name, value in known.items())


def _righter(table: Table, row: Row) -> Iterator[str]:
    if row.group not in PEERS:
        return
    for stream in table.streams:
        theirs, ours = balanced(row, stream), balanced(table.row(row.beside), stream)
        if theirs is not None and ours is not None and theirs > ours:
            told = f"**Ahead on {stream}** by {theirs - ours:.2f} points: {_differing(row, stream)}"
            yield "; ".join([told, *_behind(table, row)]) + "."


def _behind(table: Table, row: Row) -> Iterator[str]:
    """Where it is not ahead: what is good for one stream may be bad for another."""
    for stream in table.streams:
        theirs, ours = balanced(row, stream), balanced(table.row(row.beside), stream)
        if theirs is not None and ours is not None and theirs < ours:
            yield f"on {stream} it is behind by {ours - theirs:.2f} points"


def _differing(row: Row, stream: str) -> str:
    verdicts = row.played[stream].verdicts
    assert verdicts is not None
    counts = f"it alone is right on {verdicts.only_it_right:,} examples, Sluice alone on {verdicts.only_ours_right:,}"
    if verdicts.only_it_right <= verdicts.only_ours_right:
        often = "as" if verdicts.only_it_right == verdicts.only_ours_right else "more"
        return f"{counts}, so it errs {often} often, but less on the rarer class"
    if verdicts.chance > SURE:
        return f"{counts}, which may be chance (p = {verdicts.chance:.2f})"
    return f"{counts}, more than by chance (p = {verdicts.chance:.2g}); Sluice's settings were not chosen for it"
