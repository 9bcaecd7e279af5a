"""The clients of the soak test, towards services with scripted answers; and what they send."""

import asyncio
from collections import Counter
from collections.abc import Coroutine

import msgspec
import pytest

from load_tests.soak import client as module
from load_tests.soak.client import FORGOTTEN, ROUNDS, Client, Ledger
from load_tests.soak.traffic import TENANTS, VOCABULARY, Label, Prediction, Traffic
from tests.load_tests.scripted import ScriptedPool

PREDICTION = Prediction("acme", '{"a":1}', None)
LABEL = Label("acme", "l-1", 1, '{"a":1}')
PREDICTED = (200, '{"prediction_id":"p-1","score":0.5}')
GIVEN = (200, '{"version":7,"duplicate":false}')
AGAIN = (200, '{"version":7,"duplicate":true}')
UNAVAILABLE = (503, '{"type":"/problems/store-unavailable","status":503}')
GONE = (410, '{"type":"/problems/prediction-expired","status":410}')
BROKEN = (500, '{"type":"/problems/internal","status":500}')
COUNTS = (409, f'{{"type":"{FORGOTTEN}","status":409}}')


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.001)


def run(act: Coroutine[None, None, object]) -> None:
    asyncio.run(asyncio.wait_for(act, 20.0))


def predicted(*services: ScriptedPool) -> Ledger:
    ledger = Ledger()
    run(Client(services, ledger).predict(PREDICTION))
    return ledger


def given(service: ScriptedPool, *labels: Label) -> Ledger:
    ledger = Ledger()
    run(Client([service], ledger).give(*labels))
    return ledger


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ConnectionRefusedError, "ConnectionRefusedError"),
        (UNAVAILABLE, "answered with 503"),
        (EOFError, "EOFError"),
    ],
    ids=["away", "unavailable", "hangs up"],
)
def test_a_service_that_cannot_answer_is_passed_over(answer: tuple[int, str] | type[Exception], reason: str) -> None:
    ledger = predicted(ScriptedPool(answer), ScriptedPool(PREDICTED))
    assert len(ledger.predicted_at) == 1
    assert ledger.passed_on == {reason: 1}


def test_a_prediction_that_no_service_answers_has_failed() -> None:
    busy = ScriptedPool(UNAVAILABLE)
    assert predicted(busy).predictions_failed == 1
    assert len(busy.bodies) == ROUNDS


def test_an_unexpected_answer_is_noted() -> None:
    ledger = predicted(ScriptedPool(BROKEN))
    assert ledger.predictions_failed == 1
    assert ledger.unexpected == {"500 /problems/internal for a prediction": 1}
    ledger = given(ScriptedPool((200, "<html>")), LABEL)
    assert ledger.given_up == ["l-1"]
    assert "invalid body" in next(iter(ledger.unexpected))


def test_a_label_is_sent_until_it_is_acknowledged_always_the_same() -> None:
    service = ScriptedPool(UNAVAILABLE, EOFError, UNAVAILABLE, AGAIN)
    ledger = given(service, LABEL)
    assert ledger.acknowledged["l-1"].version == 7
    assert (ledger.duplicates, ledger.sent_again) == (1, 3)
    assert service.bodies == ['{"tenant":"acme","feedback_id":"l-1","label":1,"features":{"a":1}}'] * 4


def test_a_label_that_no_service_takes_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LABEL_SECONDS", 0.05)
    ledger = given(ScriptedPool(UNAVAILABLE), LABEL)
    assert ledger.given_up == ["l-1"]
    assert not ledger.acknowledged


def test_a_label_whose_prediction_is_not_kept_comes_with_its_features() -> None:
    service = ScriptedPool(GONE, GIVEN)
    ledger = given(service, Label("acme", "l-1", 1, '{"a":1}', "p-1"))
    assert ledger.acknowledged["l-1"].label == 1
    assert (ledger.expired, ledger.forms) == (1, {"by prediction_id": 1})
    assert ["features" in body for body in service.bodies] == [False, True]


def test_a_label_that_counts_though_its_answer_is_forgotten_must_be_in_the_log() -> None:
    ledger = given(ScriptedPool(COUNTS), LABEL)
    assert ledger.acknowledged["l-1"].version == 0
    assert ledger.forgotten == 1
    assert not ledger.unexpected


def test_every_label_of_a_batch_is_acknowledged_by_itself() -> None:
    labels = [Label("acme", f"l-{number}", 1, '{"a":1}') for number in range(3)]
    answer = '{"results":[{"version":7,"duplicate":false},{"error":{"type":"/problems/x","status":422}},{"version":8}]}'
    service = ScriptedPool(UNAVAILABLE, (200, answer))
    ledger = given(service, *labels)
    assert len(msgspec.json.decode(service.bodies[1])["items"]) == 3
    assert ledger.acknowledged.keys() == {"l-0", "l-2"}
    assert ledger.given_up == ["l-1"]
    assert ledger.unexpected == {"422 /problems/x for a label in batches": 1}
    assert ledger.sent_again == 1
    assert given(ScriptedPool(BROKEN), *labels).given_up == ["l-0", "l-1", "l-2"]


def test_most_requests_are_predictions_and_labels_come_in_every_form_under_unique_ids() -> None:
    traffic = Traffic()
    known = set(msgspec.json.decode(next(traffic.first_labels()).features))
    sent = [traffic.next_request() for _ in range(20_000)]
    predictions = [each for each in sent if isinstance(each, Prediction)]
    labels = [each for each in sent if isinstance(each, list)]
    ids = [label.feedback_id for some in labels for label in some]
    tenants = Counter(each.tenant for each in predictions)
    assert len(predictions) / len(sent) > 0.9
    assert {len(some) for some in labels} == {1, 5}
    assert len(ids) == len(set(ids)) > 100
    assert tenants.keys() == set(TENANTS)
    assert tenants[TENANTS[0]] > 10 * tenants[TENANTS[-1]]
    assert len(known) == VOCABULARY
    assert {name for each in predictions[:2000] for name in msgspec.json.decode(each.features)} <= known
