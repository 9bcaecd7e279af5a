"""The checker of the torture test finds what goes wrong in the review queue."""

import pytest

from load_tests.torture.history import Attempt, Kind, TenantFound
from tests.load_tests.test_torture_checker import Script, attempt, given

FAILOVER = "failover to a replica that is behind"
ITEM = "b-1-0-1"


@pytest.fixture
def script() -> Script:
    made = Script()
    made.found.tenants["acme"] = TenantFound("acme", [], replayed="d1", shown={"service 1, worker 1": "d1"})
    return made


def lease(script: Script, at: float, person: str, *items: str, seconds: int = 4) -> None:
    name = f"lease-{at}"
    found = [{"prediction_id": each, "lease": name} for each in items or (ITEM,)]
    script.operate(Kind.LEASE, name, attempt(at, tenant="acme", items=found), moderator=person, lease_seconds=seconds)


def end(script: Script, at: float, action: str, person: str, leased_at: float, *attempts: Attempt) -> None:
    answer = attempt(at, tenant="acme", prediction_id=ITEM, action=action)
    wanted = {"action": action, "prediction_id": ITEM, "moderator": person, "lease": f"lease-{leased_at}"}
    script.operate(Kind.END_LEASE, f"end-{at}", *(attempts or (answer,)), **wanted)


def label(script: Script, at: float, name: str = "first") -> None:
    script.history.reviewed[name] = ITEM
    script.label(name, given(at, name))


def test_a_lease_after_the_other_is_no_violation(script: Script) -> None:
    lease(script, 1, "kim", ITEM, "b-1-2-1")
    lease(script, 5.2, "lee")
    end(script, 6, "release", "lee", 5.2)
    lease(script, 6.5, "kim")
    end(script, 7, "skip", "kim", 6.5, attempt(7, 0), attempt(8, 409))
    lease(script, 8.5, "lee")
    label(script, 9)
    assert script.promises() == []


def test_an_item_that_two_people_have_is_found(script: Script) -> None:
    lease(script, 1, "kim")
    lease(script, 2, "lee")
    assert script.promises() == ["leased twice"]


@pytest.mark.parametrize(("fault", "begin"), [(FAILOVER, 0.95), ("clock jump of the store", 1.5)])
def test_a_lease_that_the_store_has_lost_is_excused(script: Script, fault: str, begin: float) -> None:
    lease(script, 1, "kim")
    lease(script, 2, "lee")
    script.disrupt(begin, begin + 0.2, fault)
    assert script.promises() == []


def test_a_failover_after_a_lease_is_no_excuse(script: Script) -> None:
    lease(script, 1, "kim")
    script.disrupt(1.5, 1.8, FAILOVER)
    lease(script, 2, "lee")
    assert script.promises() == ["leased twice"]


def test_an_item_that_is_shown_after_its_label_is_found(script: Script) -> None:
    lease(script, 1, "kim")
    label(script, 2)
    lease(script, 3, "lee")
    assert script.promises() == ["settled item shown"]
    script.disrupt(1.9, 2.5, FAILOVER)
    assert script.promises() == []


def test_a_label_that_was_given_with_the_features_settles_nothing(script: Script) -> None:
    lease(script, 1, "kim")
    script.history.reviewed["first"] = ITEM
    script.log.clear()
    script.label("first", attempt(2, 410), given(2.2, "first"))
    lease(script, 3, "lee")
    assert script.promises() == []


@pytest.mark.parametrize("action", ["skip", "unsure"])
def test_an_item_that_is_shown_again_to_the_same_person_is_found(script: Script, action: str) -> None:
    lease(script, 1, "kim")
    end(script, 2, action, "kim", 1)
    lease(script, 3, "kim")
    assert script.promises() == ["passed item shown"]


def test_a_kept_prediction_without_a_label_must_be_in_the_queue(script: Script) -> None:
    script.found.unlabelled["acme"] = {ITEM, "b-1-2-1"}
    script.found.queues["acme"] = {"b-1-2-1"}
    assert script.promises() == ["lost item"]
    for number, person in enumerate(("kim", "lee", "ann")):
        lease(script, 1 + number, person)
        end(script, 1.5 + number, "unsure", person, 1 + number)
    assert script.promises() == []


def test_an_ending_of_another_lease_is_an_unexpected_answer(script: Script) -> None:
    lease(script, 1, "kim")
    end(script, 2, "skip", "kim", 1, attempt(2, tenant="acme", prediction_id="another", action="skip"))
    assert script.promises() == ["wrong answer"]
