"""What was best, and how ours compares with the best rival on the same lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from experiments.quality.contenders import Contender
from experiments.quality.points import Said
from experiments.quality.scenarios import Script
from experiments.quality.search import Point
from experiments.quality.significance import Judged, compare
from experiments.quality.verdicts import BALANCED, ERROR, OBJECTIVES, Match, Row, confusion
from kernels.arrays import Floats


class Best(msgspec.Struct, frozen=True):
    """A contender's best point for an objective, with its verdicts on the tested lines of each sample."""

    contender: Contender
    form: str
    point: Point
    said: list[Said]
    row: Row


def matches_of(scenario: str, bests: Sequence[Best], samples: Sequence[Script]) -> list[Match]:
    """Compare each of ours with the best rival, for each objective."""
    found = []
    for objective in OBJECTIVES:
        theirs = [best for best in bests if not best.contender.is_ours and best.row.objective == objective]
        if not theirs:
            continue
        rival = min(theirs, key=lambda best: loss_of(_figures(best.row), objective))
        for our in bests:
            if our.contender.is_ours and our.row.objective == objective:
                judged = [
                    Judged(s.rows, s.truth, right(s.truth, ours), right(s.truth, his))
                    for s, ours, his in zip(samples, our.said, rival.said, strict=True)
                ]
                our_share, their_share = (getattr(each.row, objective) for each in (our, rival))
                comparison = compare(judged, balanced=objective == BALANCED)
                named = f"{rival.row.contender}, {rival.row.form}" if rival.row.form else rival.row.contender
                found.append(Match(scenario, our.contender.name, named, objective, our_share, their_share, comparison))
    return found


def right(truth: Floats, said: Said) -> Any:  # noqa: ANN401 - an array of 0 and 1
    """Return 1 for each right verdict."""
    return (said == (truth > 0.0)).astype(np.int64)


def figures_of(truth: Floats, said: Said) -> dict[str, float]:
    found = confusion(truth, np.where(said, 1.0, -1.0))
    assert found.error is not None
    return {ERROR: found.error, BALANCED: found.balanced_accuracy or 0.0}


def loss_of(figures: Mapping[str, float], objective: str) -> float:
    return figures[ERROR] if objective == ERROR else 1.0 - figures[BALANCED]


def forms_of_best(bests: Sequence[Best]) -> list[str]:
    """Return the form of the best rival that climbed, for each objective."""
    found = {}
    for best in sorted(bests, key=lambda each: -loss_of(_figures(each.row), each.row.objective)):
        if best.contender.climbs:
            found[best.row.objective] = best.form
    return list(dict.fromkeys(found.values()))


def _figures(row: Row) -> dict[str, float]:
    return {ERROR: row.error, BALANCED: row.balanced or 0.0}
