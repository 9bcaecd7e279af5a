"""The benchmark of verdicts: forms, scenarios, search, kept verdicts, paired tests, and the page."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments.preparation import Facts
from experiments.quality import verdicts
from experiments.quality.contenders import OURS, SPARSE, WEIGHT
from experiments.quality.costs import Cost
from experiments.quality.report import Results, optima_table, sections, summary_table, targets
from experiments.quality.review_curve import Point, Reviewed
from experiments.quality.scenarios import ONLINE, SCRIPTS
from experiments.quality.significance import Comparison
from experiments.quality.streams import NATURAL, PDD
from experiments.quality.verdicts import BALANCED, ERROR, Match, Outcome, Row
from load_tests.harness.report import DOCS, filled

INVENTED = ("payments", "two-tailed", "mixed", "sensors", "units", "logs")


def row(contender: str, objective: str, error: float, balanced: float, edge: str = "") -> Row:
    setting: dict[str, float | str] = {} if contender.startswith(OURS) else {"lr": 1.0, WEIGHT: 3.0}
    return Row(contender, "", objective, setting, edge, 9, error, balanced, balanced, 0.9)


@pytest.fixture
def results() -> Results:
    rows = [
        row(name, objective, error, balanced, edge)
        for objective in (BALANCED, ERROR)
        for name, error, balanced, edge in (
            (OURS, 0.031, 0.969, ""),
            (SPARSE, 0.034, 0.965, ""),
            ("VW", 0.05, 0.95, "step"),
        )
    ]
    facts = Facts(PDD, 50_000, None, 20_000, 1_500_000, 100_000)
    matches = [
        Match(scenario, OURS, "VW", objective, 0.9, 0.8, Comparison(difference, chance))
        for objective in (BALANCED, ERROR)
        for scenario, difference, chance in (("", 0.1, 0.0001), (next(iter(ONLINE)), -0.1, 0.01))
    ]
    return Results(
        machine=["A machine"],
        outcomes=[
            Outcome(PDD, NATURAL, facts, rows, matches, [verdicts.Curve(OURS, [0.6, 0.7, None, 0.8])], 0.9),
            Outcome(PDD, "1:99", facts),
        ],
        costs={"url": Cost(15.0, 10.0, 60.0), "mail": Cost(4000.0, 1000.0, 10_000.0)},
        peaks={"words": 9.0, "HTML": 11.0},
        absent=["bogofilter is missing."],
        reviews=[
            Point(PDD, "1:99", 0.03, Reviewed(500, 40, 0.9), Reviewed(600, 6, 0.8), Reviewed(2400, 24, 0.91)),
            Point(PDD, "1:19", 0.03, Reviewed(500, 90, 0.93), Reviewed(600, 30, 0.9), Reviewed(2400, 120, 0.92)),
        ],
    )


def test_a_target_is_met_or_not(results: Results) -> None:
    found = {target.text: (target.measured, target.met) for target in targets(results)}
    assert found["pdd: error"] == ("3.10%", True)
    assert found["pdd: balanced accuracy lost by 90% sparsity, natural"] == ("0.40 points", False)
    assert found["A URL to features and score, beside urlsplit and tldextract"] == ("1.5 x", True)
    assert found["Peak memory of a mail of 25 MB (worst: HTML)"] == ("11 times its size", False)
    assert "pdd: balanced accuracy at 1:99" not in found


def test_the_page_has_every_section(results: Results) -> None:
    page = filled(DOCS / "quality.md", sections(results, list(targets(results))))
    for text in (
        "| pdd | 1:99 | 3 | 90.0 | 80.0 | 91.0 | 500 (40) | 600 (6) | 2,400 (24) | **no** |",
        "| pdd | 1:19 | 3 | 93.0 | 90.0 | 92.0 | 500 (90) | 600 (30) | 2,400 (120) | yes |",
        "| pdd | natural | VW | 80.00 | 90.00 | < 0.001 | won |",
        "| pdd | VW | 80.00 | 90.00 | 0.010 | **lost** |",
        "| **Sluice** | 96.90 | 3.10 |",
        "| **Sluice** | 60.00 | 70.00 | - | 80.00 |",
        "Too few anomalies: pdd at 1:99.",
        "bogofilter is missing.",
    ):
        assert text in page
    assert "| **Sluice** | 1 / 0 / 0 | 1 / 0 / 0 | 0 / 0 / 1 | 0 / 0 / 1 |" in summary_table(results)
    assert "| VW | balanced | 1 | 9 | 1 to 1, median 1 | 3 to 3, median 3 | step: 1 |" in optima_table(results)


@pytest.mark.parametrize(("name", "ratio"), [("payments", NATURAL), ("breast-cancer", "1:9")])
def test_every_contender_plays_a_stream(name: str, ratio: str, tmp_path: Path) -> None:
    pytest.importorskip("vowpalwabbit")
    from experiments.quality import plan, study  # noqa: PLC0415 - only the benchmarks install these libraries

    sizes = replace(plan.QUICK, examples=400, ratios=(ratio,), moves=0)
    (task,) = plan.tasks(sizes, [name], tmp_path)
    found = study.evaluate(**task.arguments)
    again = study.evaluate(**task.arguments)
    assert found == again
    assert {each.objective for each in found.rows} == ({BALANCED, ERROR} if ratio == NATURAL else {BALANCED})
    assert {each.contender.split()[0] for each in found.rows} >= {"Sluice", "VW", "scikit-learn", "river"}
    assert {match.scenario for match in found.matches} == {""}
    assert (found.batch_last_half is not None) == (ratio == NATURAL)
    changes = plan.change_tasks(sizes, [(name, ratio)], tmp_path)
    assert [task.name for task in changes] == (["payments natural"] if ratio == NATURAL else [])
    for change in changes:
        changed = study.change(**change.arguments)
        assert {match.scenario for match in changed.matches} == {*SCRIPTS, *ONLINE}
        assert {match.ours for match in changed.matches} == {
            OURS,
            f"{OURS}, objective error",
            f"{OURS}, cs-ssol",
            f"{OURS}, ftrl",
        }


def test_natural_and_rare_anomalies_come_first_and_small_streams_before_large_ones(tmp_path: Path) -> None:
    pytest.importorskip("vowpalwabbit")
    from experiments.quality import plan  # noqa: PLC0415 - only the benchmarks install these libraries

    names = [task.name for task in plan.tasks(plan.WHOLE, [PDD, "wine", "phishtank"], tmp_path)]
    assert names[:4] == ["wine natural", "wine 1:99", "pdd natural", "pdd 1:99"]
    assert names[6:8] == ["wine 1:9", "wine 1:19"]
    assert len(names) == 12


def test_a_page_says_what_there_was_no_time_for(results: Results) -> None:
    text = sections(replace(results, outcomes=[], unplayed=["Not played yet: pdd 1:99."]), [])
    assert text["machine"].endswith("Not played yet: pdd 1:99.")
    assert text["cold"] == "Not played yet."
