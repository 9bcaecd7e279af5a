"""A contender plays a stream at its natural ratio, with rare anomalies and from a cold start; and the page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from app.learning.state import TenantState
from experiments.examples import Examples, store
from experiments.preparation import TRAIN, Facts
from experiments.quality import study, verdicts
from experiments.quality.contenders import OURS, SPARSE, Contender, Options, Played, sluice
from experiments.quality.costs import Cost
from experiments.quality.report import Results, cold_table, sections, stream_table, targets
from experiments.quality.study import QUICK, cold, play, samples_of, windows
from experiments.quality.verdicts import NATURAL, POINTS, RARE, RATIOS, Curve, Figures, Row
from load_tests.harness.report import DOCS, filled
from tests.experiments.examples import batch

LABELS = np.array([1.0, -1.0, 1.0, -1.0])
SCORES = np.array([0.5, 0.5, 0.0, -1.0])  # right, wrong, wrong (a tie is normal), right


@dataclass
class Oracle:
    """Is right on the share of examples that its setting names; keeps the lengths of the streams that it played."""

    lengths: list[int] = field(default_factory=list)

    def play(self, stream: Examples, settings: Sequence[Options]) -> list[Played]:
        self.lengths.append(len(stream))
        lots = np.random.default_rng(0).random(len(stream))
        rights = [np.where(lots < float(options["right"]), 1.0, -1.0) for options in settings]
        return [Played(stream.labels * right, sparsity=0.5) for right in rights]

    def contender(self, limit: int | None = None, tuned_on: int | None = None) -> Contender:
        grid = tuple({"right": share} for share in (0.6, 0.9, 0.5))
        return Contender("oracle", self.play, grid, limit, tuned_on)


def noise(examples: int, positives: float = 0.5) -> Examples:
    """Examples of one feature each."""
    labels = np.where(np.random.default_rng(1).random(examples) < positives, 1.0, -1.0)
    return Examples(np.arange(examples + 1), np.ones(examples, np.uint64), np.ones(examples), labels)


def test_the_best_setting_is_taken() -> None:
    (row,) = play(Oracle().contender(), [noise(1000)], NATURAL, {"all": 1000})
    assert (row.setting, row.mean("sparsity")) == ({"right": 0.9}, 0.5)
    assert row.mean("error") == pytest.approx(0.1, abs=0.03)


def test_a_stream_that_is_a_beginning_of_another_is_not_played_again() -> None:
    oracle = Oracle()
    whole, beginning = play(oracle.contender(), [noise(1000)], NATURAL, {"all": 1000, "beginning": 300})
    assert oracle.lengths == [1000]
    assert (whole.examples, beginning.examples) == (1000, 300)
    assert beginning.mean("sparsity") is None


def test_a_setting_may_be_chosen_on_the_beginning_and_the_stream_limited() -> None:
    oracle = Oracle()
    (row,) = play(oracle.contender(tuned_on=100), [noise(1000)], NATURAL, {"all": 1000})
    assert (oracle.lengths, row.setting) == ([100, 1000], {"right": 0.9})
    (row,) = play(Oracle().contender(limit=200), [noise(1000)], NATURAL, {"all": 1000})
    assert row.examples == 200


def test_every_seed_is_a_run_at_one_setting() -> None:
    (row,) = play(Oracle().contender(), samples_of(noise(4000), (1, 2, 3)), RARE, {"all": 4000})
    assert (len(row.runs), row.setting["right"]) == (3, 0.9)
    assert row.spread("balanced") is not None
    assert row.mean("balanced") == pytest.approx(0.9, abs=0.1)


def test_only_learners_with_a_choice_weigh_rare_anomalies() -> None:
    assert [len(Oracle().contender().settings(rare=rare)) for rare in (False, True)] == [3, 6]
    assert [len(sluice().settings(rare=rare)) for rare in (False, True)] == [1, 1]


def test_cold_starts_are_windows_of_the_stream() -> None:
    found = windows(noise(5000), NATURAL, QUICK.seeds, QUICK.starts[NATURAL])
    assert [len(window) for window in found] == [POINTS[NATURAL][-1]] * QUICK.starts[NATURAL]
    rare = windows(noise(8000), RARE, QUICK.seeds, QUICK.starts[RARE])
    assert all((window.labels > 0).mean() < 0.03 for window in rare)
    assert cold(Oracle().contender(), found, "all", {"right": 1.0}, NATURAL).values == [1.0] * len(POINTS[NATURAL])


def test_ours_has_the_settings_that_it_ships_with_and_starts_anew() -> None:
    stream = noise(300)
    scores, _ = TenantState().learn_batch(stream.starts, stream.keys, stream.values, stream.labels)
    for played in sluice().play(stream, [{}, {}]):
        assert (played.scores == scores).all()


def test_a_score_above_zero_says_anomaly() -> None:
    found = verdicts.confusion(LABELS, SCORES)
    assert (found.true_positives, found.false_negatives) == (1, 1)
    assert (found.true_negatives, found.false_positives) == (1, 1)
    assert found.error == 0.5


def test_a_curve_counts_everything_so_far() -> None:
    assert verdicts.curve(LABELS, SCORES, (1, 2, 3, 4)) == [None, 0.5, 0.25, 0.5]
    assert verdicts.last_half(LABELS, SCORES) == 0.5
    assert verdicts.mean_curve([[None, 0.5, None], [0.25, 1.0, None]]) == [0.25, 0.75, None]


RIVER = "river"


def figures(error: float, balanced: float) -> Figures:
    return Figures(error, balanced, balanced, error / 2, balanced, 0.9)


def row(contender: str, ratio: str, *runs: Figures, examples: int = 50_000, stream: str = study.PDD) -> Row:
    return Row(stream, contender, ratio, {"lr": 1.0} if contender == RIVER else {}, examples, list(runs))


@pytest.fixture
def results() -> Results:
    return Results(
        machine=["A machine"],
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
