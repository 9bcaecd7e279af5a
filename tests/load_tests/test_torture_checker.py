"""The checker of the torture test finds each kind of violation in a history that was made by hand, and no other."""

from typing import Any

import pytest

from load_tests.torture.checker import AMBIGUOUS_SECONDS, check
from load_tests.torture.history import Attempt, Disruption, Found, History, Kind, Logged, Operation, TenantFound
from load_tests.torture.report import details

LABEL: dict[str, Any] = {"label": 1, "features": {"a": 1.0}}


class Script:
    """A history of one tenant, with a final state that fits it until a test changes something."""

    def __init__(self) -> None:
        self.history = History()
        self.found = Found({"acme": TenantFound("acme", [], replayed="d1", shown={"service 1, worker 1": "d1"})})

    @property
    def log(self) -> list[Logged]:
        return self.found.tenants["acme"].log

    def operate(self, kind: Kind, name: str, *attempts: Attempt, tenant: str = "acme", **wanted: object) -> Operation:
        return self.history.add(Operation(kind, tenant, name, wanted, list(attempts)))

    def label(self, name: str, *attempts: Attempt, logged: bool = True) -> Operation:
        if logged:
            self.log.append(Logged(len(self.log) + 1, name, 1))
        return self.operate(Kind.LABEL, name, *attempts, **LABEL)

    def disrupt(self, begin: float, end: float, fault: str = "kill -9 of the store", target: str = "store") -> None:
        self.history.disruptions.append(Disruption(fault, target, begin, end))

    def promises(self) -> list[str]:
        violations = check(self.history, self.found)
        assert details(self.history, violations) is not None
        return [violation.promise for violation in violations]


def attempt(at: float, status: int = 200, service: int = 0, **answer: object) -> Attempt:
    return Attempt(service, f"t-{at}", at, at + 0.1, status, answer, f"t-{at}" if status else "")


def given(at: float, name: str, **changes: object) -> Attempt:
    """An acknowledged attempt to give a label."""
    answer: dict[str, Any] = {
        "tenant": "acme",
        "feedback_id": name,
        "label": 1,
        "version": 1,
        "duplicate": False,
    } | changes
    return attempt(at, **answer)


@pytest.fixture
def script() -> Script:
    made = Script()
    made.label("fine", attempt(1, 503), attempt(2, 0), given(3, "fine"))
    return made


def test_a_history_that_keeps_every_promise_has_no_violation(script: Script) -> None:
    script.operate(Kind.SETTING, "set", attempt(4), eta=0.5)
    script.log.append(Logged(2, "", changes={"eta": 0.5}))
    script.operate(Kind.UNNAMED_LABEL, "kim", attempt(5, 0), attempt(6, tenant="acme", label=1), **LABEL)
    script.log.extend([Logged(3, "kim", 1), Logged(4, "kim", 1)])
    assert script.promises() == []


def test_a_lost_label_is_found(script: Script) -> None:
    script.label("lost", given(4, "lost"), logged=False)
    assert script.promises() == ["lost label"]


def test_a_label_that_was_never_acknowledged_may_be_missing_but_must_not_be_given_up(script: Script) -> None:
    script.label("open", attempt(4, 503), attempt(5, 0), logged=False)
    assert script.promises() == ["unavailable"]


def test_a_doubled_label_is_found(script: Script) -> None:
    script.log.append(Logged(2, "fine", 1))
    assert script.promises() == ["doubled label"]


def test_a_label_without_an_id_is_there_at_most_once_for_each_attempt(script: Script) -> None:
    script.operate(Kind.UNNAMED_LABEL, "kim", attempt(6, tenant="acme", label=1), **LABEL)
    script.log.extend([Logged(2, "kim", 1), Logged(3, "kim", 1)])
    assert script.promises() == ["doubled label"]


def test_a_label_without_an_id_that_was_acknowledged_is_not_lost(script: Script) -> None:
    script.operate(Kind.UNNAMED_LABEL, "kim", attempt(6, tenant="acme", label=1), **LABEL)
    assert script.promises() == ["lost label"]


def test_a_lost_setting_is_found(script: Script) -> None:
    script.operate(Kind.SETTING, "set", attempt(4), eta=0.5)
    assert script.promises() == ["lost setting"]


def test_a_deletion_takes_labels_from_before_it_along(script: Script) -> None:
    script.label("before", given(4, "before"), logged=False)
    script.operate(Kind.DELETE, "delete", attempt(5, 204))
    script.log.clear()
    script.label("after", given(6, "after"))
    assert script.promises() == []


def test_a_deletion_does_not_take_labels_from_after_it_along(script: Script) -> None:
    script.operate(Kind.DELETE, "delete", attempt(5, 204))
    script.log.clear()
    script.label("after", given(6, "after"), logged=False)
    assert script.promises() == ["lost label"]


def test_a_deletion_without_an_answer_may_take_labels_along_for_a_while(script: Script) -> None:
    script.operate(Kind.DELETE, "delete", attempt(5, 0), attempt(6, 204))
    script.log.clear()
    script.label("soon", given(8, "soon"), logged=False)
    assert script.promises() == []
    script.label("late", given(9 + AMBIGUOUS_SECONDS, "late"), logged=False)
    assert script.promises() == ["lost label"]


def test_a_label_that_a_deletion_should_have_taken_along_is_found(script: Script) -> None:
    script.operate(Kind.DELETE, "delete", attempt(4 + AMBIGUOUS_SECONDS, 204))
    script.label("after", given(5 + AMBIGUOUS_SECONDS, "after"))
    assert script.promises() == ["revived tenant"]


def test_a_deleted_tenant_that_is_there_again_is_found(script: Script) -> None:
    script.operate(Kind.LABEL, "only", attempt(1, tenant="gone", feedback_id="only", label=1), tenant="gone", **LABEL)
    script.operate(Kind.DELETE, "delete", attempt(5, 204), tenant="gone")
    assert script.promises() == []
    script.found.tenants["gone"] = TenantFound("gone", [])
    assert script.promises() == ["revived tenant"]


def test_different_digests_and_a_broken_log_are_found(script: Script) -> None:
    script.found.tenants["acme"].shown["service 2, worker 1"] = "d2"
    script.found.tenants["acme"].is_whole = False
    assert script.promises() == ["broken log", "different digests"]


def test_a_lost_import_is_found(script: Script) -> None:
    script.found.tenants["copy"] = TenantFound("copy", [], replayed="d1")
    script.operate(Kind.IMPORT, "first", attempt(1), tenant="copy", digest="d1")
    assert script.promises() == []
    script.operate(Kind.IMPORT, "second", attempt(3), tenant="copy", digest="d2")
    assert script.promises() == ["lost import"]


@pytest.mark.parametrize("wrong", [{"feedback_id": "another"}, {"tenant": "shop"}, {"label": -1}])
def test_an_answer_to_another_request_is_found(script: Script, wrong: dict[str, Any]) -> None:
    script.label("mine", given(4, "mine", **wrong))
    assert script.promises() == ["wrong answer"]


def test_the_request_id_of_another_request_is_found(script: Script) -> None:
    answer = given(4, "mine")
    answer.echo = "t-5"
    script.label("mine", answer)
    assert script.promises() == ["wrong answer"]


@pytest.mark.parametrize("wrong", [{"score": 0.25}, {"version": 8}, {"explanation": [{"feature": "b"}]}])
def test_a_prediction_with_a_wrong_answer_is_found(script: Script, wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"tenant": "acme", "score": 0.5, "version": 7, "explanation": [{"feature": "a"}]}
    script.operate(Kind.PREDICT, "p", attempt(4, **right), features=["a"], expected=(7, 0.5))
    assert script.promises() == []
    script.operate(Kind.PREDICT, "q", attempt(5, **right | wrong), features=["a"], expected=(7, 0.5))
    assert script.promises() == ["wrong answer"]


@pytest.mark.parametrize("status", [500, 502, 504, 404, 409, 422])
def test_an_error_that_is_not_documented_is_found(script: Script, status: int) -> None:
    script.label("bad", attempt(4, status, type="/problems/internal-error"), logged=False)
    assert script.promises() == ["unexpected answer"]


def test_an_answer_that_is_forgotten_still_counts_as_an_acknowledgement(script: Script) -> None:
    forgotten = attempt(4, 409, type="/problems/feedback-forgotten")
    script.label("old", forgotten)
    assert script.promises() == []
    script.label("older", forgotten, logged=False)
    assert script.promises() == ["lost label"]


def test_a_retry_gets_the_first_answer(script: Script) -> None:
    script.label("twice", given(4, "twice"), given(5, "twice", duplicate=True))
    assert script.promises() == []
    script.label("other", given(6, "other"), given(7, "other", duplicate=True, version=2))
    assert script.promises() == ["changed answer"]


def test_a_retry_that_is_no_duplicate_is_found(script: Script) -> None:
    script.label("twice", given(4, "twice"), given(5, "twice"))
    assert script.promises() == ["changed answer"]


def test_a_failover_may_change_the_version_of_a_label(script: Script) -> None:
    script.label("twice", given(4, "twice"), given(9, "twice", duplicate=True, version=2))
    script.disrupt(5, 6, "failover to a replica that is behind")
    assert script.promises() == []


def test_a_revoked_key_that_is_accepted_is_found(script: Script) -> None:
    script.operate(Kind.CREATE_KEY, "k", attempt(1, 201), tenant="")
    script.operate(Kind.REVOKE_KEY, "k", attempt(10, 204), tenant="")
    script.operate(Kind.USE_KEY, "k", attempt(12), tenant="")
    assert script.promises() == [], "it was revoked just now"
    script.operate(Kind.USE_KEY, "k", attempt(20), tenant="")
    assert script.promises() == ["revoked key alive"]


def test_a_revoked_key_may_live_while_its_service_cannot_reach_the_store(script: Script) -> None:
    script.operate(Kind.REVOKE_KEY, "k", attempt(10, 204), tenant="")
    script.disrupt(11, 30)
    script.operate(Kind.USE_KEY, "k", attempt(20), tenant="")
    assert script.promises() == []
    script.operate(Kind.USE_KEY, "k", attempt(40), tenant="")
    assert script.promises() == ["revoked key alive"]


def test_a_key_that_a_failover_revives_is_found_in_the_end(script: Script) -> None:
    script.operate(Kind.REVOKE_KEY, "k", attempt(10, 204), tenant="")
    script.found.keys["k"] = {401}
    assert script.promises() == []
    script.found.keys["k"] = {401, 200}
    assert script.promises() == ["revoked key alive"]


def test_a_valid_key_that_is_refused_is_found(script: Script) -> None:
    script.operate(Kind.CREATE_KEY, "k", attempt(1, 201), tenant="")
    script.found.keys["k"] = {200}
    script.operate(Kind.USE_KEY, "k", attempt(2, 401), tenant="")
    assert script.promises() == [], "not every worker knows it yet"
    script.operate(Kind.USE_KEY, "k", attempt(20, 401), tenant="")
    assert script.promises() == ["valid key refused"]
    script.found.keys["k"] = {200, 401}
    assert script.promises() == ["valid key refused"] * 2


def test_flaws_of_processes_are_violations(script: Script) -> None:
    script.found.flaws.append("service 1 did not end on SIGTERM")
    assert script.promises() == ["process"]


def test_a_violation_is_shown_with_its_attempts_and_the_faults_around_them(script: Script) -> None:
    script.label("lost", attempt(4, 503), given(5, "lost"), logged=False)
    script.disrupt(4.5, 6)
    script.disrupt(60, 61, "kill -9 of a worker", "service 1")
    script.history.began = 0.0
    text = details(script.history, check(script.history, script.found))
    lines = text.splitlines()
    assert lines[1] == "* lost label: acme lost"
    assert [line.split("s  ")[1].split(":")[0] for line in lines[3:]] == [
        "label lost to service 1, t-4",
        "-- kill -9 of the store (store) until 6.00 s",
        "label lost to service 1, t-5",
    ]
