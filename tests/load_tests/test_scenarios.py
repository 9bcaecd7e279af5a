import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from load_tests.harness.traffic import zipf
from load_tests.harness.wrk import Peak
from load_tests.scenarios import traffic
from load_tests.scenarios.__main__ import THRESHOLDS, main
from load_tests.scenarios.counts import LABELS, LOADS, VERDICTS, counts_in, miscounted
from load_tests.scenarios.plans import FEEDBACK, FEEDBACK_ROUTE, Ask, Counted, Found, LabelQueue
from load_tests.scenarios.results import EACH, OF_A_NAME, OF_A_SCENARIO, Threshold, judge, read_thresholds
from load_tests.scenarios.stage import middle, peaks
from load_tests.scenarios.traffic import SCENARIOS, delays

RUN_SECONDS = 20.0
SHIPPED = read_thresholds(THRESHOLDS)
FIGURES = {"a.rate": 3.0, "b.rate": 2.0, "a.failures": 0.0, "b.failures": 1.0, "b.p50": None}

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
    ("is_most", "bound", "met"), [(True, 1.5, True), (True, 1.4, False), (False, 1.5, True), (False, 1.6, False)]
)
def test_a_ratio_is_judged(is_most: bool, bound: float, met: bool) -> None:
    (target,), _ = judge([Threshold("x", "a.rate", "b.rate", is_most, bound)], FIGURES, ["a", "b"], 2)
    assert (target.met, target.measured) == (met, "1.5 x")


def test_a_star_is_each_scenario_that_was_played() -> None:
    targets, _ = judge([Threshold("failures", "*.failures", "*.rate", True, 0)], FIGURES, ["a", "b"], 2)
    assert [(target.text, target.met) for target in targets] == [("a: failures", True), ("b: failures", False)]


def test_a_scenario_that_was_not_played_is_not_judged() -> None:
    assert judge([Threshold("x", "a.rate", "b.rate", True, 1)], FIGURES, ["a"], 2) == ([], [])


def test_a_missing_figure_is_not_met() -> None:
    (target,), _ = judge([Threshold("x", "a.rate", "b.p50", True, 9)], FIGURES, ["a", "b"], 2)
    assert target.met is None


def test_a_threshold_for_more_cores_is_noted_and_not_judged() -> None:
    wide = Threshold("wide", "a.rate", "b.rate", False, 2.0, cores=4)
    few, enough = (judge([wide], FIGURES, ["a", "b"], cores) for cores in (2, 4))
    assert few == ([], ["Not judged on 2 cores, but on 4: wide: wanted at least 2 x, measured 1.5 x."])
    assert ([target.met for target in enough[0]], enough[1]) == ([False], [])


def test_of_a_mixed_day_one_request_in_100_is_feedback() -> None:
    names = Counter(ask.name for ask in traffic.mixed(RUN_SECONDS))
    assert names[FEEDBACK] * 99 == names["predict"]
    labels = {ask.body.partition(b'"label":')[2][:2] for ask in traffic.mixed(RUN_SECONDS) if ask.name == FEEDBACK}
    assert labels == {b"1,", b"-1"}


def test_the_tenants_of_a_mixed_day_are_as_popular_as_zipf_says() -> None:
    asked = Counter(ask.tenant for ask in traffic.mixed(RUN_SECONDS))
    assert len(asked) == 200
    requests = np.array([asked[f"zipf-{number:03d}"] for number in range(200)])
    expected = requests.sum() * zipf(200)
    assert zipf(200)[0] / zipf(200)[49] == pytest.approx(50)
    deviations = (requests - expected) / np.sqrt(expected)
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


def test_delays_have_a_long_tail_and_grow_with_the_run() -> None:
    short, long = (np.array(delays(np.random.default_rng(1), 10_000, seconds)) for seconds in (1.0, 10.0))
    assert long == pytest.approx(10 * short)
    assert np.median(short) == pytest.approx(10 / 480, rel=0.1)
    assert np.percentile(short, 99) > 20 * np.median(short)


def test_every_tenant_is_taught_before_it_is_asked() -> None:
    asks = traffic.mixed(RUN_SECONDS)
    taught = Counter(ask.tenant for ask in traffic.teaching(asks, 1000))
    assert taught == dict.fromkeys({ask.tenant for ask in asks}, 5)
    assert set(Counter(ask.tenant for ask in traffic.teaching(asks, 1)).values()) == {1}


def test_a_request_as_bytes_states_its_length() -> None:
    head, _, body = Ask("predict", "/predict", "a", b'{"x":1}').http.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /predict HTTP/1.1\r\n")
    assert b"content-length: %d" % len(body) in head


def test_labels_leave_the_queue_when_they_are_due() -> None:
    queue = LabelQueue()
    for name, delay in (("late", 9.0), ("soon", 1.0)):
        queue.put(Ask("predict", "/predict", name, b"", label=-1, delay_seconds=delay), f"id-{name}", now=100.0)
    assert queue.due(100.5) is None
    due = queue.due(109.0)
    assert due is not None
    assert due.is_label
    assert due.body == b'{"tenant":"soon","prediction_id":"id-soon","label":-1}'
    assert len(queue) == 1


def test_counts_are_summed_over_workers_and_statuses() -> None:
    counted = counts_in(METRICS)
    assert [counted[name] for name in ("/predict", VERDICTS, LABELS, LOADS)] == [7, 5, 3, 0]


@pytest.mark.parametrize(("requests", "verdicts", "expected"), [(7, 5, 0), (6, 5, 1), (9, 3, 4)])
def test_every_difference_of_the_counts_is_found(requests: int, verdicts: int, expected: int) -> None:
    found = found_of(Counted(requests, 0, 1.0, 1.0, 1.0), verdicts=verdicts, labels=3)
    routes = {FEEDBACK: FEEDBACK_ROUTE, "predict": "/predict"}
    assert miscounted(counts_in(METRICS), routes, found) == expected


def test_an_unknown_scenario_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--scenarios", "mixed,lukewarm"])
    assert "there is no scenario 'lukewarm'" in capsys.readouterr().err


def test_locust_stays_in_its_own_process() -> None:
    """It patches the sockets and threads of a process that imports it."""
    modules = {path.stem: path.read_text() for path in THRESHOLDS.parent.glob("*.py")}
    patched = re.compile(r"^(?:from|import) (?:locust|gevent|load_tests\.scenarios\.swarm)", re.MULTILINE)
    assert {name for name, text in modules.items() if patched.search(text)} == {"swarm"}


def test_a_python_without_locust_is_named(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.symlink_to("/bin/false")
    with pytest.raises(SystemExit, match="has no Locust"):
        main(["--locust-python", str(python)])


def test_a_peak_is_the_median_of_its_rounds_and_counts_every_failure() -> None:
    rounds = [Peak(8000.0, 3.0, 9.0, 1, 0.2), Peak(2000.0, 9.0, 40.0, 2, 0.1), Peak(7000.0, 4.0, 10.0, 0, 0.3)]
    assert middle(rounds) == Peak(7000.0, 4.0, 10.0, 3, 0.2)
    assert peaks({}, 5) == ({}, {})


def found_of(counted: Counted, verdicts: int, labels: int) -> Found:
    return Found(counted, {"predict": counted}, verdicts, labels, waiting=0, errors=[], cores=1.0)
