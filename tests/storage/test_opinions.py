"""Blind second opinions in a real store."""

import asyncio
from collections.abc import Sequence

import pytest

from app.storage.client import Connection
from app.storage.event_log import EventLog
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of
from app.storage.review import opinions
from app.storage.review.opinions import Candidate, Labelled, Opinion, OpinionStore, Said, SecondLeases

pytestmark = pytest.mark.anyio
FIRST = Labelled(7, -1, 'ann\n"x"', None)
BOB = Said(1, "bob", None)
MINUTE = 60_000


@pytest.fixture
async def desk(connection: Connection) -> OpinionStore:
    await EventLog(connection, 3600).create("acme")
    block = Block("acme", "0123456789ab-1", [b"h", b"x"], count=9, size=2)
    await PredictionStore(connection, 3600, 1000).write([block])
    return OpinionStore(connection)


def candidates(count: int) -> list[Candidate]:
    return [Candidate(f"0123456789ab-1-{number:x}-1", FIRST) for number in range(count)]


async def lease(
    desk: OpinionStore, given: Sequence[Candidate], person: str = "b0", limit: int = 1, milliseconds: int = MINUTE
) -> SecondLeases:
    return await desk.lease("acme", given, person=person, lease="l", limit=limit, milliseconds=milliseconds)


async def answer(
    desk: OpinionStore, which: Candidate, said: Said = BOB, person: str = "b0", *, skip: bool = False
) -> str:
    action = "skip" if skip else "opinion"
    return await desk.answer("acme", which.prediction_id, action, person=person, said=said)  # type: ignore[arg-type]


async def test_an_opinion_is_kept_with_the_label_that_it_is_about(desk: OpinionStore) -> None:
    (one,) = candidates(1)
    leased = await lease(desk, [one])
    assert (leased.waiting, leased.prediction_ids) == (1, [one.prediction_id])
    assert await answer(desk, one) == "done"
    (found,) = await desk.read("acme")
    assert found == Opinion(one.prediction_id, found.at_milliseconds, FIRST, BOB)
    assert (await lease(desk, [one])).waiting == 0


async def test_one_person_at_a_time_has_a_prediction(desk: OpinionStore) -> None:
    given = candidates(12)
    found = await asyncio.gather(*(lease(desk, given, f"{person:02x}", 3) for person in range(5)))
    leased = [each for some in found for each in some.prediction_ids]
    assert sorted(leased) == sorted(each.prediction_id for each in given), "5 people take all 12, each once"
    assert await answer(desk, given[0], person="99") == "leased"


async def test_who_asks_again_gets_the_same(desk: OpinionStore) -> None:
    given = candidates(3)
    assert (await lease(desk, given)).prediction_ids == (await lease(desk, given)).prediction_ids


async def test_counting_leases_nothing(desk: OpinionStore) -> None:
    counted = await lease(desk, candidates(3), limit=0)
    assert (counted.waiting, counted.prediction_ids) == (3, [])
    assert (await lease(desk, candidates(3), "c0", 3)).waiting == 3


async def test_an_ended_lease_returns_by_itself(desk: OpinionStore) -> None:
    given = candidates(1)
    await lease(desk, given, milliseconds=1)
    await asyncio.sleep(0.01)
    assert await answer(desk, given[0]) == "waiting"
    assert (await lease(desk, given, "c0")).prediction_ids == [given[0].prediction_id]


async def test_who_has_skipped_a_prediction_does_not_see_it_again(desk: OpinionStore) -> None:
    given = candidates(1)
    await lease(desk, given)
    assert [await answer(desk, given[0], skip=True) for _ in range(2)] == ["done", "done"]
    assert (await lease(desk, given)).waiting == 0
    assert (await lease(desk, given, "c0")).prediction_ids == [given[0].prediction_id]


async def test_an_answer_can_be_sent_again_but_not_changed(desk: OpinionStore) -> None:
    given = candidates(1)
    await lease(desk, given)
    assert [await answer(desk, given[0]) for _ in range(2)] == ["done", "done"]
    assert await answer(desk, given[0], Said(-1, "bob", None)) == "gone"
    assert await answer(desk, given[0], skip=True) == "gone"


async def test_a_prediction_that_is_not_kept_is_not_shown(desk: OpinionStore) -> None:
    assert (await lease(desk, [Candidate("0123456789ab-2-0-1", FIRST)])).waiting == 0


async def test_only_the_newest_opinions_are_kept(desk: OpinionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opinions, "MOST_OPINIONS", 2)
    given = candidates(4)
    await lease(desk, given, limit=4)
    for each in given:
        assert await answer(desk, each) == "done"
        await asyncio.sleep(0.002)
    assert {each.prediction_id for each in await desk.read("acme")} == {each.prediction_id for each in given[2:]}


async def test_opinions_go_with_their_tenant(desk: OpinionStore, connection: Connection) -> None:
    given = candidates(3)
    await lease(desk, given, limit=3)
    await answer(desk, given[0])
    await answer(desk, given[1], skip=True)
    await EventLog(connection, 3600).delete("acme")
    assert await connection.redis.keys(f"{keys_of('acme').prefix}:second:*") == []
    assert await answer(desk, given[2]) == "waiting"
    assert (await lease(desk, given)).prediction_ids == []


async def test_what_cannot_be_read_is_left_out(desk: OpinionStore, connection: Connection) -> None:
    for number, damaged in enumerate([b"", b"1\n{}\n[]", b"x\n[1]\n[1]", b"5\n[7,-1,null,null]\n[1,2,3]"]):
        await connection.ask("HSET", keys_of("acme").opinions, f"p{number}", damaged)
    assert await desk.read("acme") == []
