"""The page on quality, and the contenders and costs behind it."""

from pathlib import Path

import numpy as np
import pytest

from experiments.examples import store
from experiments.preparation import TRAIN, Facts
from experiments.quality import study
from experiments.quality.contenders import OURS, SPARSE
from experiments.quality.costs import Cost
from experiments.quality.report import Results, cold_table, sections, stream_table, targets
from experiments.quality.verdicts import NATURAL, RARE, RATIOS, Curve, Figures, Row
from load_tests.harness.report import DOCS, filled
from tests.experiments.examples import batch

RIVER = "river"


def figures(error: float, balanced: float) -> Figures:
    return Figures(error, balanced, balanced, error / 2, balanced, 0.9)


def row(contender: str, ratio: str, *runs: Figures, examples: int = 50_000, stream: str = study.PDD) -> Row:
    return Row(stream, contender, ratio, {"lr": 1.0} if contender == RIVER else {}, examples, list(runs))


@pytest.fixture
def results() -> Results:
    return Results(
        machine=["A machine"],
        load_averages=(0.0, 1.0),
        facts=[Facts(study.PDD, 50_000, None, 20_000, 1_500_000, 100_000)],
        rows=[
            row(OURS, NATURAL, figures(0.031, 0.969)),
            row(OURS, RARE, figures(0.01, 0.84), figures(0.01, 0.88)),
            row(SPARSE, NATURAL, figures(0.034, 0.965)),
            row(RIVER, NATURAL, figures(0.05, 0.95), examples=20_000),
        ],
        curves=[Curve(study.PDD, OURS, NATURAL, [0.6, 0.7, None, 0.8])],
        url_cost=Cost(15.0, 10.0, 60.0),
        mail_cost=Cost(4000.0, 1000.0, 10_000.0),
        peaks={"words": 9.0, "HTML": 11.0},
        absent=["bogofilter is missing."],
    )


def test_a_target_is_met_or_not(results: Results) -> None:
    found = {target.text: (target.measured, target.met) for target in targets(results)}
    assert found["pdd: error"] == ("3.10%", True)
    assert found["pdd: balanced accuracy at 1:99"] == ("86.00%", True)
    assert found["pdd: balanced accuracy lost by 90% sparsity, natural"] == ("0.40 points", False)
    assert found["A URL to features and score, beside urlsplit and tldextract"] == ("1.5 x", True)
    assert found["A mail of 10 KB to features and score, beside the parser"] == ("4 x", False)
    assert found["Peak memory of a mail of 25 MB (worst: HTML)"] == ("11 times its size", False)


def test_a_learner_with_a_limit_stands_beside_ours_over_the_same_examples(results: Results) -> None:
    table = stream_table(results, study.PDD)
    assert "| river | 5.00 (first 20,000; Sluice: 1.55) | 95.00 (first 20,000; Sluice: 96.90) | - | - |" in table
    assert "| **Sluice** | 3.10 | 96.90 | 96.90 | 86.00 | 4.00 |  |" in table
    assert "| **Sluice** | 60.00 | 70.00 | - | 80.00 |" in cold_table(results, [study.PDD], NATURAL)


def test_the_page_has_every_section(results: Results) -> None:
    page = filled(DOCS / "quality.md", sections(results, list(targets(results))))
    for text in ("### pdd", "### URLs, natural", "bogofilter is missing.", "**no**"):
        assert text in page


def test_every_contender_plays_a_stored_set(tmp_path: Path) -> None:
    pytest.importorskip("vowpalwabbit")
    from experiments.quality.libraries import CONTENDERS  # noqa: PLC0415 - only the benchmarks install these libraries

    folder = tmp_path / "pdd"
    store([batch(600)], folder / TRAIN)
    contenders = {name: each for name, each in CONTENDERS.items() if not each.reads_raws}
    found = [study.evaluate(**task.arguments) for task in study.tasks(study.QUICK, [folder], contenders)]
    rows = [row for outcome in found for row in outcome.rows]
    assert [(row.contender, row.ratio) for row in rows] == [(name, ratio) for name in contenders for ratio in RATIOS]
    assert all(row.examples == 600 for row in rows if row.ratio == NATURAL)
    assert np.array([row.mean("error") for row in rows if row.ratio == NATURAL]).max() < 0.4
    assert [facts.name for outcome in found for facts in outcome.facts] == [study.PDD]
