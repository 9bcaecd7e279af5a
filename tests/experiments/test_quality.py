"""The benchmark of verdicts: forms, scenarios, search, kept verdicts, paired tests, and the page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.learning.first_settings import settings_of_new_tenants
from app.learning.state import TenantState
from experiments.examples import Examples
from experiments.quality import scenarios, verdicts
from experiments.quality.contenders import OURS, WEIGHT, Contender, Options, Played, ours
from experiments.quality.defaults import compare_defaults
from experiments.quality.points import Points
from experiments.quality.rivals import bogofilter
from experiments.quality.rivals.forms import AS_GIVEN, BINS, STANDARDISED, forms_of
from experiments.quality.scenarios import SCRIPTS
from experiments.quality.search import Point, climb, edge_of, lattice
from experiments.quality.significance import Judged, compare, mcnemar
from experiments.quality.streams import NATURAL, RATIOS, samples_of, streams
from experiments.sets import QUALITY_SOURCES
from kernels.arrays import Floats
from load_tests.harness.report import DOCS
from tests.data import shared_data

INVENTED = ("payments", "two-tailed", "mixed", "sensors", "units", "logs")
LABELS = np.array([1.0, -1.0, 1.0, -1.0])
SCORES = np.array([0.5, 0.5, 0.0, -1.0])  # right, wrong, wrong (a tie is normal), right


def stream(examples: int = 1200, positives: float = 0.3, *, given: bool = False) -> Examples:
    """Two features each, a word and a number, of which the number tells the label."""
    generator = np.random.default_rng(1)
    labels = np.where(generator.random(examples) < positives, 1.0, -1.0)
    values = np.column_stack([np.ones(examples), 50.0 + 5.0 * labels + generator.normal(size=examples)])
    keys = np.tile(np.array([3, 1 << 40], np.uint64), examples)
    return Examples(np.arange(examples + 1) * 2, keys, values.ravel(), labels, given=given)


def test_a_stream_of_numbers_has_three_forms_and_words_stay_words() -> None:
    forms = forms_of(stream(given=True))
    assert list(forms) == [AS_GIVEN, STANDARDISED, BINS]
    assert list(forms_of(stream())) == [AS_GIVEN]
    assert forms[STANDARDISED].values[1::2].mean() == pytest.approx(0.0, abs=1e-9)
    assert np.unique(forms[BINS].keys).size == 1 + 20
    assert forms[BINS].values == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_scenario_names_what_is_tested_and_its_right_labels(name: str) -> None:
    whole = stream()
    script = SCRIPTS[name](whole)
    assert script.tested.size == script.rows.size == script.truth.size > 0
    assert (np.diff(script.tested) > 0).all()
    right = -whole.labels if name == "all labels flip midway" else whole.labels
    assert (script.truth == right[script.rows]).all()


def test_a_delayed_label_comes_later_by_so_many_examples() -> None:
    whole = stream()
    lines = scenarios.delayed(whole).lines
    taught = np.flatnonzero(lines.labels)
    assert (lines.labels[taught] == whole.labels[: taught.size]).all()
    tests_before = np.cumsum(lines.labels == 0.0)[taught]
    assert (tests_before == np.arange(taught.size) + scenarios.DELAY + 1).all()


def test_a_learner_gets_no_more_labels_than_its_quota() -> None:
    whole, learnt = stream(), list[int]()
    scores = scenarios.play_active(whole, (lambda line: float(line % 7), lambda line, _: learnt.append(line)))
    assert scores.tolist() == [line % 7 for line in range(len(whole))]
    assert len(learnt) == max(int(scenarios.QUOTA * len(whole)), scenarios.WARM)
    learnt.clear()
    scenarios.play_alarms(whole, (lambda line: 1.0 if line < 10 else -1.0, lambda line, _: learnt.append(line)))
    assert learnt[:10] == list(range(10))
    assert len(learnt) < 0.1 * len(whole)


@pytest.mark.parametrize("contender", ours(), ids=lambda contender: contender.name)
@pytest.mark.parametrize("given", [True, False])
def test_each_of_ours_plays_line_by_line_as_in_a_batch(contender: Contender, given: bool) -> None:
    whole = stream(300, given=given)
    (batch,) = contender.play(whole, [{}])
    assert contender.online is not None
    score, learn = contender.online(whole, {})
    for line, label in enumerate(whole.labels.tolist()):
        assert (score(line) > 0.0) == (batch.scores[line] > 0.0)
        learn(line, label)
    unlabelled = replace(whole, labels=np.where(np.arange(300) < 200, whole.labels, 0.0))
    (some,) = contender.play(unlabelled, [{}])
    assert ((some.scores > 0.0) == (batch.scores > 0.0))[:200].all()


def test_ours_is_what_a_new_tenant_gets() -> None:
    whole = stream(300)
    state = TenantState(settings_of_new_tenants())
    scores, thresholds = state.learn_batch(whole.starts, whole.keys, whole.values, whole.labels)
    (played,) = ours()[0].play(whole, [{}])
    assert ours()[0].name == OURS
    assert ((played.scores > 0.0) == (scores > thresholds)).all()


def test_numbers_are_encoded_if_and_only_if_a_caller_gives_them() -> None:
    raw, encoded = (
        next(each for each in ours() if each.name == f"{OURS}, numbers {form}") for form in ("raw", "encoded")
    )
    for given in (True, False):
        whole = stream(300, given=given)
        same = (raw.play(whole, [{}])[0].scores == encoded.play(whole, [{}])[0].scores).all()
        assert same == (not given)


def test_bogofilter_is_undecided_until_the_first_label() -> None:
    if not bogofilter.is_installed():
        pytest.skip("bogofilter is not installed")
    raws = [b"Subject: a\n\nbuy cheap pills now\n", b"Subject: b\n\nlunch at noon tomorrow\n"] * 40
    labels = np.where(np.arange(80) < 40, 0.0, np.tile([1.0, -1.0], 40))
    lines = Examples(np.zeros(81, np.int64), np.empty(0, np.uint64), np.empty(0), labels, raws)
    (played,) = bogofilter.play_bogofilter(lines, [{bogofilter.CUTOFF: 0.5}])
    assert (played.scores[:60] == 0.0).all()
    assert ((played.scores[60:] > 0.0) == (labels[60:] > 0.0)).all()


class Oracle:
    """Is right on a share of the examples that its options name; counts the runs."""

    def __init__(self) -> None:
        self.runs = 0

    def play(self, lines: Examples, settings: Sequence[Options]) -> list[Played]:
        self.runs += len(settings)
        lots = np.random.default_rng(0).random(len(lines))
        return [Played(lines.labels * np.where(lots < float(each["right"]), 1.0, -1.0), 0.5) for each in settings]


def test_verdicts_are_computed_once(tmp_path: Path) -> None:
    oracle, whole = Oracle(), stream()
    contender = Contender("oracle", oracle.play, "1")
    for points in (Points(tmp_path / "points.sqlite"), Points(tmp_path / "points.sqlite")):
        high, low = points.play(contender, whole, [{"right": 0.9}, {"right": 0.5}])
        assert (high.said == (whole.labels > 0.0)).mean() == pytest.approx(0.9, abs=0.03)
        assert high.sparsity == 0.5
        assert (high.said != low.said).any()
    assert oracle.runs == 2
    points = Points(tmp_path / "points.sqlite")
    points.play(Contender("oracle", oracle.play, "2"), whole, [{"right": 0.9}])
    points.play(contender, whole.first(100), [{"right": 0.9}])
    assert oracle.runs == 4


def grid() -> Contender:
    return Contender("grid", Oracle().play, "", tuple({"step": 2.0**k} for k in range(9)), 2, (1.0, 3.0, 10.0, 30.0))


def test_the_search_ends_at_the_best_point_and_does_not_try_all() -> None:
    found = climb(grid(), [(2, 0)], lambda points: [(s - 6) ** 2 + (w - 2) ** 2 for s, w in points], moves=20)
    assert min(found, key=found.__getitem__) == (6, 2)
    assert len(found) < 9 * 4
    assert len(climb(grid(), [(2, 0)], lambda points: [float(-s) for s, _ in points], moves=1)) == 4


def test_a_search_from_all_over_the_grid_is_not_caught_in_a_local_optimum() -> None:
    def losses(points: Sequence[Point]) -> list[float]:
        return [min((s - 1) ** 2 + w**2 + 1.0, (s - 7) ** 2 + (w - 3) ** 2) for s, w in points]

    assert min(losses(list(climb(grid(), [(2, 0)], losses, moves=20)))) == 1.0
    assert min(losses(list(climb(grid(), lattice(grid()), losses, moves=20)))) == 0.0
    assert lattice(Contender("ours", Oracle().play, "")) == []


def test_an_optimum_at_an_end_of_the_grid_is_told() -> None:
    assert [edge_of(grid(), point) for point in ((4, 1), (0, 1), (4, 3), (8, 0))] == [
        *("", "step", "weight"),
        "step and weight",
    ]
    assert grid().options((1, 2)) == {"step": 2.0, WEIGHT: 10.0}


@pytest.mark.parametrize(
    ("ours_only", "theirs_only", "chance"), [(0, 0, 1.0), (9, 1, 0.0215), (5, 5, 1.0), (0, 6, 0.0313)]
)
def test_mcnemar_is_exact_for_few(ours_only: int, theirs_only: int, chance: float) -> None:
    assert mcnemar(ours_only, theirs_only) == pytest.approx(chance, abs=1e-4)


def test_mcnemar_is_continued_by_the_normal_distribution() -> None:
    assert mcnemar(540, 461) == pytest.approx(mcnemar(540, 460), rel=0.15)


def judged(ours_right: Floats, theirs_right: Floats, labels: Floats) -> Judged:
    rows = np.arange(labels.size)
    return Judged(rows, labels, ours_right.astype(np.int64), theirs_right.astype(np.int64))


def test_a_difference_counts_if_it_is_more_than_chance() -> None:
    labels = np.where(np.arange(1000) < 50, 1.0, -1.0)
    right = np.ones(1000)
    some_wrong, one_wrong = right.copy(), right.copy()
    some_wrong[:20], one_wrong[0] = 0.0, 0.0
    for balanced, size in ((True, 0.2), (False, 0.02)):
        won = compare([judged(right, some_wrong, labels)], balanced=balanced)
        assert won.verdict == "won"
        assert won.difference == pytest.approx(size)
        assert compare([judged(some_wrong, right, labels)], balanced=balanced).verdict == "lost"
        assert compare([judged(right, one_wrong, labels)], balanced=balanced).verdict == "level"
        assert compare([judged(right, right, labels)], balanced=balanced).chance == 1.0


def test_an_example_that_is_in_several_samples_is_no_further_evidence() -> None:
    labels = np.where(np.arange(1000) < 50, 1.0, -1.0)
    theirs = np.ones(1000)
    theirs[:3] = 0.0
    sample = judged(np.ones(1000), theirs, labels)
    once, often = (compare([sample] * times, balanced=True) for times in (1, 9))
    assert often.chance == pytest.approx(once.chance)


def test_samples_that_disagree_are_level() -> None:
    pytest.importorskip("scipy")
    labels = np.where(np.arange(4000) < 400, 1.0, -1.0)
    better, worse = np.ones(4000), np.ones(4000)
    worse[:60] = 0.0
    samples = [judged(better, worse, labels)] * 3 + [judged(worse, better, labels)] * 2
    samples = [Judged(s.rows + 4000 * k, s.labels, s.ours, s.theirs) for k, s in enumerate(samples)]
    assert compare(samples, balanced=True).verdict == "level"
    assert compare(samples[:3], balanced=True).verdict == "won"


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_ratio_keeps_all_normal_examples(ratio: str) -> None:
    whole = stream(4000)
    samples = samples_of(whole, ratio, [1, 2])
    assert len(samples) == (1 if ratio == NATURAL else 2)
    for sample in samples:
        normal, anomalies = (int((sample.truth < 0).sum()), int((sample.truth > 0).sum()))
        assert normal == int((whole.labels < 0).sum())
        assert ratio == NATURAL or anomalies == round(normal / RATIOS[ratio])
        assert (whole.labels[sample.rows] == sample.truth).all()
    assert samples_of(stream(300), "1:99", [1]) == []  # too few anomalies
    assert samples_of(stream(4000, 0.03), "1:19", [1]) == []  # there are fewer by nature


@pytest.mark.parametrize("name", INVENTED)
def test_an_invented_stream_comes_from_its_seed(name: str) -> None:
    first, again = (list(QUALITY_SOURCES[name].train(3000)) for _ in range(2))
    assert [batch.values.tolist() for batch in first] == [batch.values.tolist() for batch in again]
    labels = np.concatenate([batch.labels for batch in first])
    assert labels.size == 3000
    assert 0.01 < (labels > 0.0).mean() < 0.06


def test_a_zero_is_given_as_a_caller_gives_it(tmp_path: Path) -> None:
    found = streams()["payments"].read(tmp_path, 500)
    assert (np.diff(found.starts) == 3).all()
    assert (found.values == 0.0).any()
    assert found.given


def test_every_stream_is_described_on_the_page() -> None:
    page = (DOCS / "quality.md").read_text(encoding="utf-8")
    assert [name for name in streams() if f"`{name}`" not in page] == []


@pytest.mark.parametrize(("name", "positives"), [("sms", 747), ("lingspam", 481)])
def test_texts_are_read_whole(name: str, positives: int) -> None:
    shared_data(QUALITY_SOURCES[name].files[0])
    labels = np.concatenate([batch.labels for batch in QUALITY_SOURCES[name].train(None)])
    assert int((labels > 0.0).sum()) == positives


def test_a_score_above_zero_says_anomaly() -> None:
    found = verdicts.confusion(LABELS, SCORES)
    assert (found.true_positives, found.false_negatives) == (1, 1)
    assert (found.true_negatives, found.false_positives) == (1, 1)
    assert found.error == 0.5


def test_a_curve_counts_everything_so_far() -> None:
    assert verdicts.curve(LABELS, SCORES, (1, 2, 3, 4)) == [None, 0.5, 0.25, 0.5]
    assert verdicts.last_half(LABELS, SCORES) == 0.5
    assert verdicts.mean_curve([[None, 0.5, None], [0.25, 1.0, None]]) == [0.25, 0.75, None]


def test_the_settings_of_new_tenants_are_compared_with_those_of_before(tmp_path: Path) -> None:
    rows = list(compare_defaults(["payments"], ["natural", "1:9"], [1], tmp_path))
    assert [row[:2] for row in rows] == [["payments", "natural"]], "too few anomalies for 1:9"
    (row,) = rows
    assert float(row[3]) > float(row[2]) + 5.0
    assert row[-1] == "won"
