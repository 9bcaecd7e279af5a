"""A claim is judged by the numbers alone."""

from collections.abc import Mapping
from typing import Any

import pytest

from experiments.paper import sparsity, timing
from experiments.paper.curves import Fit, Fits, Point, Value, error
from experiments.paper.evaluation import Run
from experiments.paper.plan import Findings
from experiments.paper.protocol import ALL, EVEN_ONES, LEARNERS, QUICK
from experiments.paper.report.claims import Claim, claims
from experiments.paper.search import Chosen
from experiments.paper.timing import Timed, Timing

STEADY = ((0.0, 0.02), (0.5, 0.02), (0.9, 0.022), (0.96, 0.025), (0.98, 0.03))
FALLING = ((0.0, 0.03), (0.5, 0.06), (0.9, 0.2), (0.96, 0.3), (0.98, 0.4))
TITLES = {"made": "Made"}


def curve(points: tuple[tuple[float, float], ...], shift: float = 0.0) -> list[Point]:
    return [
        Point(place, [Run(place, value + shift + by, 1.0 - value - shift - by) for by in (-0.001, 0.001)])
        for place, value in points
    ]


def fits(learner: str, points: list[Point]) -> Fits:
    return Fits("made", learner, [Fit("paper", Chosen({"eta": 1.0}, 0.1, [], 1), points)])


def found(shifts: Mapping[str, float]) -> Findings:
    """Dual averaging is steady, truncated gradient falls; and each is shifted as given."""
    curves = {
        name: curve(STEADY if LEARNERS[name].averages else FALLING, shifts.get(name, 0.0))[
            : 5 if LEARNERS[name].is_sparse else 1
        ]
        for name in ALL
    }
    named = {f"{name} on made": fits(name, points) for name, points in curves.items()}
    costs = {"fsol": 1.0, "ssol": 2.0}
    timed = Timing(
        "made", 80, 1_000, [Timed(name, 0.0, 0.0, 0.5, False, [costs.get(name, 3.0)]) for name in timing.LEARNERS_TIMED]
    )
    even = {key: each for key, each in named.items() if each.learner in EVEN_ONES}
    by_study: dict[str, dict[str, Any]] = {sparsity.EVEN: even, sparsity.RARE: named, timing.STUDY: {"made": timed}}
    return Findings({}, by_study, QUICK, 1.0)


def judged(shifts: Mapping[str, float]) -> dict[str, Claim]:
    return {claim.name.split()[0]: claim for claim in claims(found(shifts), TITLES, "wider")}


GOOD = {
    "ssol": -0.005,
    "ada-rda": -0.002,
    "ada-fobos": -0.001,
    "cs-ssol": -0.01,
    "cs-fsol": -0.006,
    "cs-ftrl": -0.003,
    "cs-ogd": -0.02,
}


def test_all_hold_where_the_numbers_say_so() -> None:
    assert {name: claim.summary for name, claim in judged(GOOD | {"cs-ogd": -0.017}).items()} == dict.fromkeys(
        ("Dual", "Truncated", "SSOL", "Second", "Costs", "CS-SSOL", "FSOL"), "**holds** (1 of 1)"
    )


def test_a_dual_averaging_that_loses_more_than_a_point_is_not_stable() -> None:
    unsteady = found(GOOD)
    unsteady.found[sparsity.EVEN]["fsol on made"] = fits("fsol", curve(FALLING))
    claim = claims(unsteady, TITLES, "paper")[0]
    assert claim.summary == "**does not hold** (0 of 1)"
    assert "fsol +17.00" in claim.verdicts["Made"][0]


def test_a_tie_within_a_standard_deviation_counts_for_ssol_and_more_does_not() -> None:
    assert judged({**GOOD, "fsol": -0.006})["SSOL"].verdicts["Made"][1]
    assert not judged({**GOOD, "fsol": -0.008})["SSOL"].verdicts["Made"][1]


def test_one_pair_in_the_wrong_order_is_enough_to_fail() -> None:
    assert not judged({**GOOD, "fsol": -0.0021})["Second"].verdicts["Made"][1]
    assert not judged({**GOOD, "cs-fsol": 0.01})["Costs"].verdicts["Made, 1:99"][1]


def test_a_value_is_read_from_a_curve() -> None:
    points = curve(((0.0, 0.1), (1.0, 0.3)))

    def at(own: list[Point], level: float | None) -> Value | None:
        return fits("fsol", own).at("paper", level, error)

    between = at(points, 0.5)
    assert between is not None
    assert between.mean == pytest.approx(0.2)
    assert at(points, None) == at(points, 0.0)
    assert at(points[:1], 0.9) == at(points, 0.0)  # a learner without lambda
    assert at(curve(((0.0, 0.1), (0.5, 0.3))), 0.9) is None  # not reached
    assert str(Value(0.01234, 0.0005)) == "1.23 ± 0.05"
