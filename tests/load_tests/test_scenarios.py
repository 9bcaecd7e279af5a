import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from load_tests.harness.traffic import zipf
from load_tests.scenarios import traffic
from load_tests.scenarios.__main__ import THRESHOLDS, main
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask, Book, Counted, Found
from load_tests.scenarios.results import EACH, OF_A_NAME, OF_A_SCENARIO, Figures, Threshold, judge, read_thresholds
from load_tests.scenarios.stage import LABELS, LOADS, VERDICTS, miscounted, parse_counts
from load_tests.scenarios.traffic import SCENARIOS

RUN_SECONDS = 20.0
SHIPPED = read_thresholds(THRESHOLDS)
FIGURES: dict[str, Figures] = {"a": {"rate": 3.0, "failures": 0.0}, "b": {"rate": 2.0, "failures": 1.0, "p50": None}}

METRICS = """
# TYPE sluice_http_requests_total counter
sluice_http_requests_total{method="POST",route="/predict",status="200",worker="0"} 5.0
sluice_http_requests_total{method="POST",route="/predict",status="503",worker="1"} 2.0
sluice_http_requests_total{method="GET",route="/metrics",status="200",worker="1"} 9.0
# TYPE sluice_predictions_total counter
sluice_predictions_total{tenant="a",predicted="normal",worker="0"} 4.0
sluice_predictions_total{tenant="_other",predicted="anomaly",worker="1"} 1.0
# TYPE sluice_labels_total counter
sluice_labels_total{tenant="a",label="normal",predicted="normal",worker="0"} 3.0
"""


def figures_of(scenario: str) -> set[str]:
    names = {FEEDBACK, *(ask.name for ask in SCENARIOS[scenario].asks(RUN_SECONDS))}
    own = {f"{scenario}.{measure}" for measure in OF_A_SCENARIO}
    return own | {f"{scenario}.{name}.{measure}" for name in names for measure in OF_A_NAME}


@pytest.mark.parametrize("threshold", SHIPPED, ids=lambda threshold: threshold.text)
def test_a_threshold_names_figures_that_exist(threshold: Threshold) -> None:
    if EACH in threshold.scenarios:
        threshold = threshold.of("scoring")
    known = {figure for scenario in threshold.scenarios for figure in figures_of(scenario)}
    assert {threshold.figure, threshold.beside} <= known


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_has_a_threshold_of_its_own(scenario: str) -> None:
    assert any(scenario in threshold.scenarios for threshold in SHIPPED)


@pytest.mark.parametrize("rule", ["", "a.rate <= 1", "a.rate / b.rate < 1", "a.rate / b.rate <= 1 on two cores"])
def test_a_threshold_compares_a_ratio_with_a_bound(tmp_path: Path, rule: str) -> None:
    file = tmp_path / "thresholds.toml"
    file.write_text(f'[thresholds]\n"x" = "{rule}"\n')
    with pytest.raises(ValueError, match="'x' is not"):
        read_thresholds(file)


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [
        (Threshold("x", "a.rate", "b.rate", True, 1.5), [("x", "1.5 x", True)]),
        (Threshold("x", "a.rate", "b.rate", True, 1.4), [("x", "1.5 x", False)]),
        (Threshold("x", "a.rate", "b.rate", False, 1.5), [("x", "1.5 x", True)]),
        (Threshold("x", "a.rate", "b.rate", False, 1.6), [("x", "1.5 x", False)]),
        (Threshold("x", "*.failures", "*.rate", True, 0), [("a: x", "0 x", True), ("b: x", "0.5 x", False)]),
        (Threshold("a missing figure", "a.rate", "b.p50", True, 9), [("a missing figure", "nothing", False)]),
        (Threshold("not played", "a.rate", "c.rate", True, 1), []),
    ],
)
def test_a_ratio_is_judged(threshold: Threshold, expected: list[tuple[str, str, bool]]) -> None:
    targets, notes = judge([threshold], FIGURES, 2)
    assert [(target.text, target.measured, target.met) for target in targets] == expected
    assert notes == []


def test_a_threshold_for_more_cores_is_noted_and_not_judged() -> None:
    wide = Threshold("wide", "a.rate", "b.rate", False, 2.0, cores=4)
    few, enough = (judge([wide], FIGURES, cores) for cores in (2, 4))
    assert few == ([], ["Not judged on 2 cores, but on 4: wide: wanted at least 2 x, measured 1.5 x."])
    assert ([target.met for target in enough[0]], enough[1]) == ([False], [])


def test_of_a_mixed_day_one_request_in_100_is_feedback_and_tenants_are_as_popular_as_zipf_says() -> None:
    asks = traffic.mixed(RUN_SECONDS)
    names, asked = Counter(ask.name for ask in asks), Counter(ask.tenant for ask in asks)
    assert names[FEEDBACK] * 99 == names["predict"]
    assert {ask.body.partition(b'"label":')[2][:2] for ask in asks if ask.name == FEEDBACK} == {b"1,", b"-1"}
    expected = len(asks) * zipf(200)
    assert expected[0] / expected[49] == pytest.approx(50)
    deviations = (np.array([asked[f"zipf-{number:03d}"] for number in range(200)]) - expected) / np.sqrt(expected)
    assert np.abs(deviations).max() < 4.5
    assert np.square(deviations).mean() == pytest.approx(1, abs=0.5)  # chi-square, by its degrees of freedom


def test_a_hot_tenant_has_nine_requests_in_ten_and_its_neighbours_a_name() -> None:
    asks = traffic.hot(RUN_SECONDS)
    assert sum(ask.tenant == "hot" for ask in asks) / len(asks) == pytest.approx(0.9, abs=0.01)
    assert {ask.name for ask in asks if ask.tenant != "hot"} == {"neighbours", FEEDBACK}
    assert sum(ask.name == FEEDBACK for ask in asks) * 100 == len(asks)


def test_a_cold_tenant_comes_again_only_after_all_others() -> None:
    tenants = [ask.tenant for ask in traffic.cold(RUN_SECONDS)]
    assert len(tenants) % traffic.COLD_TENANTS == 0  # so that it also holds where they begin again
    assert len(set(tenants[: traffic.COLD_TENANTS])) == traffic.COLD_TENANTS
    assert tenants == tenants[: traffic.COLD_TENANTS] * (len(tenants) // traffic.COLD_TENANTS)


@pytest.mark.parametrize("scenario", ["batch", "ndjson"])
def test_a_batch_has_100_items(scenario: str) -> None:
    assert {ask.body.count(b'"features":') for ask in SCENARIOS[scenario].asks(RUN_SECONDS)} == {100}


def test_a_quarter_is_labelled_and_most_of_it_within_the_run() -> None:
    asks = traffic.feedback(RUN_SECONDS)
    labelled = [ask for ask in asks if ask.label]
    assert len(labelled) / len(asks) == pytest.approx(0.25, abs=0.02)
    assert np.mean([ask.delay_seconds < RUN_SECONDS / 4 for ask in labelled]) > 0.8


def test_every_tenant_is_taught_before_it_is_asked() -> None:
    asks = traffic.mixed(RUN_SECONDS)
    taught = Counter(ask.tenant for ask in traffic.teaching(asks, 1000))
    assert taught == dict.fromkeys({ask.tenant for ask in asks}, 5)
    assert set(Counter(ask.tenant for ask in traffic.teaching(asks, 1)).values()) == {1}


def test_a_label_is_given_when_it_is_due() -> None:
    late, soon = (Ask("predict", "/predict", "a", b"", label=-1, delay_seconds=delay) for delay in (9.0, 1.0))
    book = Book([late, soon])
    for ask, number in ((late, b"1"), (soon, b"2")):
        book.enter(ask, b'{"prediction_id":"%b","needs_review":false}' % number, now=100.0)
    assert [book.next(100.5) for _ in range(3)] == [late, soon, late]
    due = book.next(109.0)
    assert due.is_label
    assert due.body == b'{"tenant":"a","prediction_id":"2","label":-1}'
    book.enter(due, b"", now=109.0)
    assert (book.verdicts, book.labels, book.waiting) == (2, 1, 1)


def test_counts_are_summed_over_workers_and_statuses() -> None:
    counted = parse_counts(METRICS)
    assert [counted[name] for name in ("/predict", VERDICTS, LABELS, LOADS)] == [7, 5, 3, 0]


@pytest.mark.parametrize(("requests", "verdicts", "expected"), [(7, 5, 0), (6, 5, 1), (9, 3, 4)])
def test_every_difference_of_the_counts_is_found(requests: int, verdicts: int, expected: int) -> None:
    counted = Counted(requests, 0, 1.0, 1.0, 1.0)
    found = Found(counted, {"predict": counted}, verdicts, labels=3, waiting=0, errors=[], cores=1.0)
    routes = {FEEDBACK: FEEDBACK_ROUTE, "predict": "/predict"}
    assert miscounted(parse_counts(METRICS), routes, found) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenarios", "mixed,lukewarm"], "there is no scenario 'lukewarm'"),
        (["--seconds", "0.5"], "0.5 is not from 1"),
        (["--locust-python", "/bin/false"], "/bin/false has no Locust"),
    ],
)
def test_a_wrong_option_is_named(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(options)
    assert message in capsys.readouterr().err


def test_locust_stays_in_its_own_process() -> None:
    """It patches the sockets and threads of a process that imports it."""
    modules = {path.stem: path.read_text() for path in THRESHOLDS.parent.glob("*.py")}
    patched = re.compile(r"^(?:from|import) (?:locust|gevent|load_tests\.scenarios\.swarm)", re.MULTILINE)
    assert {name for name, text in modules.items() if patched.search(text)} == {"swarm"}
