"""The checker of the torture test finds what goes wrong with labels that are taken back or replaced."""

import random

import pytest

from load_tests.torture.history import Attempt, Kind, Logged, Operation
from load_tests.torture.workload import RARE, SMALL_SERVICE, STEADY, item_of, services_of
from tests.load_tests.test_torture_checker import LABEL, Script, attempt, given

FAILOVER = "failover to a replica that is behind"
FIRST = {"version": 1, "label": -1, "feedback_id": "first", "moderator": None}


@pytest.fixture
def script() -> Script:
    made = Script()
    for name in ("one", "two"):
        made.label(name, given(1, name))
    return made


def retracted(at: float, number: int = 2, already: int = 0) -> Attempt:
    return attempt(at, tenant="acme", retracted=number, already_retracted=already, labels=[])


def retract(script: Script, *attempts: Attempt) -> None:
    script.operate(Kind.RETRACT, "back", *attempts, labels=["one", "two"])


def take_back(script: Script, *names: str) -> None:
    log = script.log
    log[:] = [Logged(each.version, each.name, each.label, retracted=each.name in names) for each in log]


def second(script: Script, at: float, **answer: object) -> None:
    """A second label of the prediction whose first label is `first`."""
    script.log.append(Logged(len(script.log) + 1, "second", 1, prediction_id="p"))
    script.operate(Kind.SECOND_LABEL, "second", given(at, "second", **answer), **LABEL)


def first(script: Script, at: float, *, is_retracted: bool) -> None:
    script.log.append(Logged(len(script.log) + 1, "first", 1, prediction_id="p", retracted=is_retracted))
    script.operate(Kind.LABEL, "first", given(at, "first"), **LABEL)


def test_labels_that_the_log_takes_back_are_no_violation(script: Script) -> None:
    take_back(script, "one", "two")
    retract(script, attempt(2, 503), attempt(3, 0), retracted(4, 0, 2))
    assert script.promises() == []


def test_a_lost_retraction_is_found_unless_a_service_has_reported_it(script: Script) -> None:
    take_back(script, "one")
    retract(script, retracted(4))
    assert script.promises() == ["lost retraction"]
    script.found.unretracted.add("acme")
    assert script.promises() == []


def test_a_retraction_that_was_not_acknowledged_promises_nothing_but_must_not_be_given_up(script: Script) -> None:
    retract(script, attempt(4, 503))
    assert script.promises() == ["unavailable"]


def test_labels_that_went_with_their_tenant_need_not_be_taken_back(script: Script) -> None:
    retract(script, retracted(2))
    script.operate(Kind.DELETE, "delete", attempt(3, 204))
    del script.found.tenants["acme"]
    assert script.promises() == []


@pytest.mark.parametrize("answer", [attempt(4, 404, type="/problems/unknown-label"), retracted(4, 1)])
def test_a_label_that_a_retraction_does_not_find_is_found(script: Script, answer: Attempt) -> None:
    retract(script, answer)
    assert script.promises() == ["unknown label"]
    script.disrupt(0.5, 6, FAILOVER)
    assert script.promises() == [], "the log gets its lost labels back just then"


def test_of_a_retraction_that_found_some_labels_those_that_it_names_are_taken_back(script: Script) -> None:
    script.disrupt(0.5, 6, FAILOVER)
    retract(script, attempt(4, tenant="acme", retracted=1, already_retracted=0, labels=[{"feedback_id": "one"}]))
    assert script.promises() == ["lost retraction"]
    take_back(script, "one")
    assert script.promises() == []


@pytest.mark.parametrize("status", [404, 409, 500])
def test_only_documented_answers_are_expected(script: Script, status: int) -> None:
    second_label = Operation(Kind.SECOND_LABEL, "acme", "late", LABEL, [attempt(4, status, type="/problems/other")])
    script.history.add(second_label)
    assert script.promises() == ["unexpected answer"]
    second_label.attempts[0].answer["type"] = "/problems/label-too-old"
    assert script.promises() == []


def test_a_second_label_takes_the_place_of_the_first(script: Script) -> None:
    first(script, 3, is_retracted=True)
    second(script, 4, replaced=FIRST)
    assert script.promises() == []


def test_a_replaced_label_that_still_stands_is_found(script: Script) -> None:
    first(script, 3, is_retracted=False)
    second(script, 4, replaced=FIRST)
    assert script.promises() == ["lost retraction", "two labels stand"]


def test_two_labels_of_a_prediction_may_stand_after_a_failover_only(script: Script) -> None:
    first(script, 3, is_retracted=False)
    second(script, 5)
    assert script.promises() == ["two labels stand"]
    script.disrupt(3.5, 4.5, FAILOVER)
    assert script.promises() == []


def test_a_second_label_is_neither_lost_nor_doubled(script: Script) -> None:
    second(script, 4)
    script.log.append(Logged(9, "second", 1))
    assert script.promises() == ["doubled label"]
    del script.log[2:]
    assert script.promises() == ["lost label"]


def test_a_label_for_a_prediction_is_sent_without_its_features() -> None:
    label = Operation(Kind.LABEL, "acme", "mine", dict(LABEL))
    assert item_of(label) == {"feedback_id": "mine", **LABEL}
    assert item_of(label, "p-1") == {"feedback_id": "mine", "label": 1, "prediction_id": "p-1"}


def test_rare_tenants_are_used_by_the_small_service_alone() -> None:
    dice = random.Random(1)  # noqa: S311 - it need not be secret
    assert {services_of(RARE[0], dice) for _ in range(9)} == {(SMALL_SERVICE,)}
    assert {services_of(STEADY[0], dice) for _ in range(30)} == {(0, 1), (1, 0)}
