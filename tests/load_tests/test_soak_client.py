"""The clients of the soak test, towards small servers with scripted answers."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack

import msgspec
import pytest

from load_tests.soak import client as module
from load_tests.soak.client import FORGOTTEN, ROUNDS, Balancer, Client, Ledger
from load_tests.soak.traffic import Example, Label, Prediction
from tests.servers import free_port

PREDICTION = Prediction("acme", Example('{"a":1}', 1), None)
LABEL = Label("acme", "l-1", 1, '{"a":1}')
BY_ID = Label("acme", "l-1", 1, '{"a":1}', "p-1")
PREDICTED = (200, '{"prediction_id":"p-1","score":0.5}')
GIVEN = (200, '{"version":7,"duplicate":false}')
AGAIN = (200, '{"version":7,"duplicate":true}')
UNAVAILABLE = (503, '{"type":"/problems/store-unavailable","status":503}')
GONE = (410, '{"type":"/problems/prediction-expired","status":410}')
BROKEN = (500, '{"type":"/problems/internal","status":500}')
COUNTS = (409, f'{{"type":"{FORGOTTEN}","status":409}}')
HANG_UP = (0, "")


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.001)


class Scripted:
    """A service with scripted answers, the last one again and again; without any, nothing listens."""

    def __init__(self, *script: tuple[int, str]) -> None:
        self.port = free_port()
        self.bodies: list[str] = []
        self._script = list(script)

    async def start(self, stack: AsyncExitStack) -> None:
        if self._script:
            await stack.enter_async_context(await asyncio.start_server(self._serve, "127.0.0.1", self.port))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.bodies.append((await reader.readexactly(length)).decode())
                status, body = self._script.pop(0) if len(self._script) > 1 else self._script[0]
                if status == 0:
                    break
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        except EOFError:
            pass
        finally:
            writer.close()


def play(act: Callable[[Client], Coroutine[None, None, object]], *services: Scripted) -> Ledger:
    """The ledger of a client that asks these services."""

    async def main() -> Ledger:
        ledger = Ledger()
        balancer = Balancer([service.port for service in services], ledger)
        async with AsyncExitStack() as stack:
            for service in services:
                await service.start(stack)
            await act(Client(balancer, ledger))
            balancer.close()
        return ledger

    return asyncio.run(asyncio.wait_for(main(), 20.0))


def given(*script: tuple[int, str], label: Label = LABEL) -> tuple[Ledger, list[str]]:
    service = Scripted(*script)
    return play(lambda client: client.give(label), service), service.bodies


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (Scripted(), "ConnectionRefusedError"),
        (Scripted(UNAVAILABLE), "answered with 503"),
        (Scripted(HANG_UP), "IncompleteReadError"),
    ],
    ids=["away", "unavailable", "hangs up"],
)
def test_a_service_that_cannot_answer_is_passed_over(first: Scripted, reason: str) -> None:
    ledger = play(lambda client: client.predict(PREDICTION), first, Scripted(PREDICTED))
    assert len(ledger.predicted_at) == 1
    assert ledger.passed_on == {reason: 1}


def test_a_prediction_that_no_service_answers_has_failed() -> None:
    busy = Scripted(UNAVAILABLE)
    assert play(lambda client: client.predict(PREDICTION), busy).predictions_failed == 1
    assert len(busy.bodies) == ROUNDS


def test_an_unexpected_answer_is_noted() -> None:
    ledger = play(lambda client: client.predict(PREDICTION), Scripted(BROKEN))
    assert ledger.predictions_failed == 1
    assert ledger.unexpected == {"500 /problems/internal": 1}
    ledger, _ = given((200, "<html>"))
    assert ledger.given_up == ["l-1"]
    assert "invalid body" in next(iter(ledger.unexpected))


def test_a_label_is_sent_until_it_is_acknowledged_always_the_same() -> None:
    ledger, bodies = given(UNAVAILABLE, HANG_UP, UNAVAILABLE, AGAIN)
    assert ledger.acknowledged["l-1"].version == 7
    assert (ledger.duplicates, ledger.sent_again) == (1, 3)
    assert bodies == [LABEL.body.decode()] * 4


def test_a_label_that_no_service_takes_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LABEL_SECONDS", 0.05)
    ledger, _ = given(UNAVAILABLE)
    assert ledger.given_up == ["l-1"]
    assert not ledger.acknowledged


def test_a_label_whose_prediction_is_not_kept_comes_with_its_features() -> None:
    ledger, bodies = given(GONE, GIVEN, label=BY_ID)
    assert ledger.acknowledged["l-1"].label == 1
    assert ledger.expired == 1
    assert [sorted(msgspec.json.decode(body)) for body in bodies] == [
        ["feedback_id", "label", "prediction_id", "tenant"],
        ["features", "feedback_id", "label", "tenant"],
    ]


def test_a_label_that_counts_though_its_answer_is_forgotten_must_be_in_the_log() -> None:
    ledger, _ = given(COUNTS)
    assert ledger.acknowledged["l-1"].version == 0
    assert ledger.forgotten == 1
    assert not ledger.unexpected


def test_every_label_of_a_batch_is_acknowledged_by_itself() -> None:
    labels = [Label("acme", f"l-{number}", 1, '{"a":1}') for number in range(3)]
    answer = '{"results":[{"version":7,"duplicate":false},{"error":{"type":"/problems/x","status":422}},{"version":8}]}'
    ledger = play(lambda client: client.give_all(labels), Scripted(UNAVAILABLE, (200, answer)))
    assert ledger.acknowledged.keys() == {"l-0", "l-2"}
    assert ledger.given_up == ["l-1"]
    assert ledger.unexpected == {"422 /problems/x for a label in batches": 1}
    assert ledger.sent_again == 1
    assert play(lambda client: client.give_all([LABEL]), Scripted(BROKEN)).given_up == ["l-1"]


def test_of_very_many_different_unexpected_answers_only_some_are_kept_in_words() -> None:
    ledger = Ledger()
    for number in range(1000):
        ledger.note_unexpected(f"answer {number}")
    assert ledger.unexpected.total() == 1000
    assert len(ledger.unexpected) < 50
