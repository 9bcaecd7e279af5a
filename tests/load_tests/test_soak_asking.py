"""The manners of the soak test's clients, towards services that are played by small servers."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack

import pytest

from load_tests.soak import asking
from load_tests.soak.asking import FORGOTTEN, Client
from load_tests.soak.balancing import Balancer
from load_tests.soak.ledger import Ledger
from load_tests.soak.traffic import Example, Label, Prediction
from tests.servers import free_port

ASKED = Prediction("acme", Example(b'{"a":1}', 1), None)
LABEL = Label("acme", "l-1", 1, b'{"a":1}')
BY_ID = Label("acme", "l-1", 1, b'{"a":1}', "p-1")
PREDICTED = (200, '{"prediction_id":"p-1","score":0.5}')
GIVEN = (200, '{"version":7,"duplicate":false}')
AGAIN = (200, '{"version":7,"duplicate":true}')
NOT_NOW = (503, '{"type":"/problems/store-unavailable","status":503}')
GONE = (410, '{"type":"/problems/prediction-expired","status":410}')
BROKEN = (500, '{"type":"/problems/internal","status":500}')
COUNTS = (409, f'{{"type":"{FORGOTTEN}","status":409}}')
HANG_UP = (0, "")


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE_SECONDS", 0.001)


class Played:
    """A service that answers what it is told to, the last answer again and again."""

    def __init__(self, *script: tuple[int, str]) -> None:
        self.port = free_port()
        self.heard: list[str] = []
        self._script = list(script)

    async def start(self) -> asyncio.Server:
        return await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.heard.append((await reader.readexactly(length)).decode())
                status, body = self._script.pop(0) if len(self._script) > 1 else self._script[0]
                if status == 0:
                    break
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        except EOFError:
            pass
        finally:
            writer.close()


def play(services: list[Played], ports: list[int], act: Callable[[Client], Coroutine[None, None, object]]) -> Ledger:
    """What a client writes down that asks these ports, on which these services answer."""

    async def main() -> Ledger:
        ledger = Ledger()
        balancer = Balancer(ports, ledger)
        async with AsyncExitStack() as running:
            for service in services:
                await running.enter_async_context(await service.start())
            await act(Client(balancer, ledger))
            balancer.close()
        return ledger

    return asyncio.run(asyncio.wait_for(main(), 20.0))


def given_to(*script: tuple[int, str], label: Label = LABEL) -> tuple[Ledger, list[str]]:
    service = Played(*script)
    ledger = play([service], [service.port], lambda client: client.give(label))
    return ledger, service.heard


def test_a_service_that_is_not_there_is_passed_over() -> None:
    service = Played(PREDICTED)
    ledger = play([service], [free_port(), service.port], lambda client: client.predict(ASKED))
    assert len(ledger.predicted_at) == 1
    assert ledger.passed_on == {"ConnectionRefusedError": 1}


def test_a_service_that_has_no_time_is_passed_over() -> None:
    busy, free = Played(NOT_NOW), Played(PREDICTED)
    ledger = play([busy, free], [busy.port, free.port], lambda client: client.predict(ASKED))
    assert ledger.predictions_failed == 0
    assert ledger.passed_on == {"answered with 503": 1}


def test_a_service_that_hangs_up_is_passed_over() -> None:
    dying, free = Played(HANG_UP), Played(PREDICTED)
    ledger = play([dying, free], [dying.port, free.port], lambda client: client.predict(ASKED))
    assert len(ledger.predicted_at) == 1
    assert ledger.passed_on == {"IncompleteReadError": 1}


def test_a_prediction_that_nobody_answers_has_failed() -> None:
    busy = Played(NOT_NOW)
    ledger = play([busy], [busy.port], lambda client: client.predict(ASKED))
    assert ledger.predictions_failed == 1
    assert len(busy.heard) == asking.ROUNDS


def test_an_answer_that_nobody_should_get_is_noted() -> None:
    broken = Played(BROKEN)
    ledger = play([broken], [broken.port], lambda client: client.predict(ASKED))
    assert ledger.predictions_failed == 1
    assert ledger.surprises == {"500 /problems/internal": 1}


def test_an_answer_that_cannot_be_read_is_noted() -> None:
    ledger, _ = given_to((200, "<html>"))
    assert ledger.given_up == ["l-1"]
    (text,) = ledger.surprises
    assert "cannot be read" in text


def test_a_label_is_sent_until_it_is_acknowledged_always_the_same() -> None:
    ledger, heard = given_to(NOT_NOW, HANG_UP, NOT_NOW, AGAIN)
    assert ledger.acknowledged["l-1"].version == 7
    assert ledger.duplicates == 1
    assert ledger.sent_again == 3
    assert heard == [LABEL.body.decode()] * 4


def test_a_label_that_nobody_takes_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LABEL_SECONDS", 0.05)
    ledger, _ = given_to(NOT_NOW)
    assert ledger.given_up == ["l-1"]
    assert not ledger.acknowledged


def test_a_label_whose_prediction_is_not_kept_comes_with_its_features() -> None:
    ledger, heard = given_to(GONE, GIVEN, label=BY_ID)
    assert ledger.acknowledged["l-1"].label == 1
    assert ledger.expired == 1
    assert heard == [BY_ID.body.decode(), LABEL.body.decode()]


def test_a_label_that_counts_though_its_answer_is_forgotten_must_be_in_the_log() -> None:
    ledger, _ = given_to(COUNTS)
    assert ledger.acknowledged["l-1"].version == 0
    assert ledger.forgotten == 1
    assert not ledger.surprises


def test_every_label_of_a_batch_is_acknowledged_by_itself() -> None:
    labels = [Label("acme", f"l-{number}", 1, b'{"a":1}') for number in range(3)]
    answer = '{"results":[{"version":7,"duplicate":false},{"error":{"type":"/problems/x","status":422}},{"version":8}]}'
    service = Played(NOT_NOW, (200, answer))
    ledger = play([service], [service.port], lambda client: client.give_all(labels))
    assert ledger.acknowledged.keys() == {"l-0", "l-2"}
    assert ledger.given_up == ["l-1"]
    assert ledger.surprises == {"422 /problems/x for a label in batches": 1}
    assert ledger.sent_again == 1


def test_a_batch_that_is_refused_as_a_whole_is_given_up() -> None:
    service = Played(BROKEN)
    ledger = play([service], [service.port], lambda client: client.give_all([LABEL]))
    assert ledger.given_up == ["l-1"]


def test_of_very_many_different_surprises_only_some_are_kept_in_words() -> None:
    ledger = Ledger()
    for number in range(1000):
        ledger.surprised(f"surprise {number}")
    assert ledger.surprises.total() == 1000
    assert len(ledger.surprises) < 50
