"""Retries of feedback, whose first answers are kept with their ids."""

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.learning.events import Outcome
from app.storage.client import connect
from app.storage.outcomes import GivenOutcome, OutcomeStore
from app.storage.redis_keys import keys_of
from app.tenants.errors import Abandoned
from app.tenants.registry import Tenants
from app.tenants.tenant import OUTCOMES_KEPT, FeedbackResult
from tests.servers import Server
from tests.tenants.workers import feedback, give, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

MANY = OUTCOMES_KEPT + 100


@dataclass
class Client:
    is_client_gone: bool = False


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


def replays(tenants: Tenants) -> int:
    return tenants._telemetry.outcome_replays  # noqa: SLF001


async def given(store: Server, tenants: Tenants, number: int = MANY) -> list[FeedbackResult]:
    """Give labels with ids, and wait until their outcomes are kept."""
    results = await give(tenants, "acme", *(feedback(k, f"id-{k}") for k in range(number)))
    await until(lambda: outcomes_kept(store) == number)
    return results


def outcomes_kept(store: Server) -> int:
    return sum(store.ask("HLEN", key) for key in store.ask("KEYS", "*:outcomes:*"))


def drop_outcomes(store: Server) -> None:
    """Leave the store as a crash does, or an older version of Sluice."""
    for key in store.ask("KEYS", "*:outcomes:*"):
        store.ask("DEL", key)


async def test_a_retry_of_any_age_gets_the_first_answer_without_a_replay(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        first = await given(store, tenants)
        again = await give(tenants, "acme", *(feedback(k, f"id-{k}") for k in range(MANY)))
        assert [each.outcome for each in again] == [each.outcome for each in first]
        assert all(each.duplicate for each in again)
        assert replays(tenants) == 0
    async with worker(store.url, tmp_path) as restarted:
        again = await give(restarted, "acme", *(feedback(k, f"id-{k}") for k in range(MANY)))
        assert [each.outcome for each in again] == [each.outcome for each in first]
        found = await (await restarted.hold("acme")).earlier_answer("id-3", feedback(3).label)
        assert found is not None
        assert found[0].outcome == first[3].outcome
        assert replays(restarted) == 0


async def test_a_batch_of_retries_whose_outcomes_are_not_kept_takes_one_replay(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        first = await given(store, tenants, 300)
    drop_outcomes(store)
    async with worker(store.url, tmp_path) as tenants:
        again = await give(tenants, "acme", *(feedback(k, f"id-{k}") for k in range(0, 300, 3)))
        assert [each.outcome for each in again] == [each.outcome for each in first[::3]]
        assert replays(tenants) == 1
    async with worker(store.url, tmp_path) as tenants:  # it has kept all outcomes that it passed
        again = await give(tenants, "acme", *(feedback(k, f"id-{k}") for k in range(298)))
        assert [each.outcome for each in again] == [each.outcome for each in first[:298]]
        assert replays(tenants) == 0


async def test_many_retries_at_once_wait_for_the_same_replay(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        first = await given(store, tenants, 200)
    drop_outcomes(store)
    async with worker(store.url, tmp_path) as tenants:
        await tenants.hold("acme")
        asked = [199, *range(20)]
        found = await asyncio.gather(*(give(tenants, "acme", feedback(k, f"id-{k}")) for k in asked))
        assert [each[0].outcome for each in found] == [first[k].outcome for k in asked]
        assert replays(tenants) == 1


async def test_a_replay_ends_when_the_client_is_gone(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await given(store, tenants, 200)
    drop_outcomes(store)
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold("acme")
        with pytest.raises(Abandoned):
            await tenant.give([feedback(199, "id-199")], Client(is_client_gone=True))
        assert outcomes_kept(store) == 0
        (again,) = await tenant.give([feedback(199, "id-199")], Client())
        assert isinstance(again, FeedbackResult)


async def test_an_outcome_is_kept_exactly_and_only_for_its_own_event(store: Server) -> None:
    connection = connect(store.url)
    try:
        outcomes, keys = OutcomeStore(connection, 60), keys_of("acme")
        found = Outcome(129, updated=True, score=0.1 + 0.2, predicted=-1, loss=math.inf)
        refused = Outcome(130, updated=False, refused="because")
        store.ask("SET", keys.feedback("a" * 32, "x"), "129 1:ff")
        store.ask("SET", keys.feedback("a" * 32, "y"), "130 1:ff")
        store.ask("SET", keys.feedback("a" * 32, "z"), "131 1:ff")  # is another event since a failover
        lost = [GivenOutcome("acme", "a" * 32, "z", "1:ff", Outcome(131 + k, updated=True)) for k in (-1, 1)]
        kept = [GivenOutcome("acme", "a" * 32, name, "1:ff", each) for name, each in (("x", found), ("y", refused))]
        await outcomes.write([*lost, *kept, GivenOutcome("acme", "a" * 32, "z", "1:00", Outcome(131, updated=True))])
        assert await outcomes.read("acme", "a" * 32, [129, 130, 131, 132]) == {129: found, 130: refused}
        assert 0 < store.ask("PTTL", keys.outcomes("a" * 32, 1)) <= 60_000
        assert store.ask("GET", keys.feedback("a" * 32, "x")) == b"129 1:ff", "as earlier versions read it"
    finally:
        await connection.aclose()
