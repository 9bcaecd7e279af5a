"""The course of a soak test, and what is asked in it."""

from collections import Counter, defaultdict
from itertools import pairwise

import msgspec
import pytest

from load_tests.soak.__main__ import main
from load_tests.soak.plan import LEAST_GAP_SECONDS, SERVICES, Deed, Step, planned
from load_tests.soak.traffic import TENANTS, VOCABULARY, Label, Prediction, Traffic

LENGTHS = [20.0, 36.0, 120.0, 1200.0, 86_400.0]


def restarts(seconds: float) -> list[Step]:
    return [step for step in planned(seconds) if step.deed in {Deed.TERMINATE, Deed.KILL}]


@pytest.mark.parametrize("seconds", LENGTHS)
def test_the_store_fails_over_once_in_the_middle_and_its_primary_comes_back(seconds: float) -> None:
    steps = planned(seconds)
    assert [step.at_seconds for step in steps if step.deed is Deed.FAILOVER] == [seconds / 2]
    order = [step.deed for step in steps if step.deed in {Deed.FAILOVER, Deed.COMEBACK}]
    assert order == [Deed.FAILOVER, Deed.COMEBACK]


@pytest.mark.parametrize("seconds", LENGTHS)
def test_restarts_alternate_and_go_round_the_services_with_time_between_them(seconds: float) -> None:
    found = restarts(seconds)
    assert {step.deed for step in found} == {Deed.TERMINATE, Deed.KILL}
    for one, next_one in pairwise(found):
        assert one.deed != next_one.deed
        assert next_one.service == (one.service + 1) % SERVICES
        assert next_one.at_seconds - one.at_seconds >= LEAST_GAP_SECONDS - 1e-6


def test_in_a_run_of_the_usual_length_every_service_meets_both_kinds_of_restart() -> None:
    kinds = defaultdict(set)
    for step in restarts(1200.0):
        kinds[step.service].add(step.deed)
    assert kinds == {service: {Deed.TERMINATE, Deed.KILL} for service in range(SERVICES)}


@pytest.mark.parametrize("seconds", LENGTHS)
def test_nothing_is_disturbed_at_the_end(seconds: float) -> None:
    steps = planned(seconds)
    assert steps == sorted(steps, key=lambda step: step.at_seconds)
    assert steps[-1].at_seconds <= 0.701 * seconds


def test_most_requests_are_predictions_and_labels_come_in_every_way() -> None:
    traffic = Traffic()
    asked = [traffic.ask() for _ in range(20_000)]
    kinds = Counter(type(each) for each in asked)
    assert kinds[Prediction] / len(asked) > 0.9
    assert kinds[Label]
    assert kinds[list]
    assert any(isinstance(each, Prediction) and each.label_after_seconds for each in asked)


def test_popular_tenants_are_asked_more_often_and_none_is_forgotten() -> None:
    traffic = Traffic()
    asked = Counter(each.tenant for each in (traffic.ask() for _ in range(20_000)) if isinstance(each, Prediction))
    assert asked.keys() == set(TENANTS)
    assert asked[TENANTS[0]] > 10 * asked[TENANTS[-1]]


def test_every_tenant_is_taught_all_that_will_ever_be_asked() -> None:
    traffic = Traffic()
    first = list(traffic.first_labels())
    assert [label.tenant for label in first] == list(TENANTS)
    known = set(msgspec.json.decode(first[0].features))
    assert len(known) == VOCABULARY
    asked = [each.example.features for each in (traffic.ask() for _ in range(2000)) if isinstance(each, Prediction)]
    assert {name for features in asked for name in msgspec.json.decode(features)} <= known


def test_no_feedback_id_comes_twice() -> None:
    traffic = Traffic()
    asked = [*traffic.first_labels(), *(traffic.ask() for _ in range(5000))]
    labels = [label for each in asked for label in (each if isinstance(each, list) else [each])]
    ids = [label.feedback_id for label in labels if isinstance(label, Label)]
    assert len(ids) == len(set(ids)) > 100


def test_a_label_names_its_prediction_or_brings_its_features() -> None:
    by_features = Label("acme", "l-1", -1, b'{"a":1}')
    by_id = Label("acme", "l-2", 1, b'{"a":1}', "p-1")
    assert msgspec.json.decode(by_features.body) == {
        "tenant": "acme",
        "feedback_id": "l-1",
        "label": -1,
        "features": {"a": 1},
    }
    assert msgspec.json.decode(by_id.item) == {"feedback_id": "l-2", "label": 1, "prediction_id": "p-1"}


@pytest.mark.parametrize("text", ["0", "19", "soon"])
def test_a_length_that_makes_no_sense_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--seconds", text])
    assert text in capsys.readouterr().err
