"""Workers that share a store apply each event once, in one order, bit for bit."""

import asyncio
from pathlib import Path

import pytest

from app.storage.redis_keys import keys_of
from app.tenants.errors import FeedbackConflict
from app.tenants.tenant import FeedbackResult
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, replayed, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_feedback_is_learnt_before_it_is_answered(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold("acme")
        before = tenant.predict(feedback(1).example)
        (given,) = await give(tenants, "acme", feedback(1))
        after = tenant.predict(feedback(1).example)
    assert given.outcome.version == after.version == 1
    assert given.outcome.score == before.score == 0.0
    assert after.score * feedback(1).label > 0.0


async def test_two_and_four_workers_agree_bit_for_bit(store: Server, tmp_path: Path) -> None:
    async with (
        worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b,
        worker(store.url, tmp_path) as c, worker(store.url, tmp_path) as d,
    ):  # fmt: skip
        workers = [a, b, c, d]
        await asyncio.gather(*(give(workers[n % 4], f"t{n % 3}", feedback(n)) for n in range(300)))
        for name in ("t0", "t1", "t2"):
            found = {await digest(each, name) for each in workers}
            assert found == {await replayed(store.url, name)}
            assert {version for version, _ in found} == {100}


async def test_a_worker_follows_what_others_append(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        tenant = await b.hold("acme")
        for number in range(100):
            await give(a, "acme", feedback(number))
        await until(lambda: tenant.state.version == 100)
        assert await digest(a, "acme") == await digest(b, "acme")


async def test_a_feedback_id_has_one_effect_and_one_answer(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(20)))
        tries = [give((a, b)[n % 2], "acme", feedback(99, "id-1")) for n in range(20)]
        answers = [answer for (answer,) in await asyncio.gather(*tries)]
        assert {answer.outcome for answer in answers} == {answers[0].outcome}
        assert sorted(answer.duplicate for answer in answers) == [False] + [True] * 19
        assert (await digest(b, "acme"))[0] == 21
        (conflict,) = await (await b.hold("acme")).give([feedback(99, "id-1", label=-feedback(99).label)])
        assert isinstance(conflict, FeedbackConflict)
        (conflict,) = await (await b.hold("acme")).give([feedback(98, "id-1", label=feedback(99).label)])
        assert isinstance(conflict, FeedbackConflict)


async def test_a_retry_after_a_restart_gets_the_first_answer(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        given = [await give(tenants, "acme", feedback(n, f"id-{n}")) for n in range(10)]
        await tenants.snapshot("acme")
        given += [await give(tenants, "acme", feedback(n, f"id-{n}")) for n in range(10, 20)]
    async with worker(store.url, tmp_path) as tenants:
        again = [await give(tenants, "acme", feedback(n, f"id-{n}")) for n in range(20)]
    assert [each.outcome for (each,) in again] == [each.outcome for (each,) in given]
    assert all(each.duplicate for (each,) in again)


async def test_one_id_twice_in_one_call_is_one_event(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        first, second = await give(tenants, "acme", feedback(1, "x"), feedback(1, "x"))
    assert first == FeedbackResult("x", second.outcome, duplicate=False)
    assert second.duplicate


async def test_chunks_of_a_dead_writer_are_removed(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(50)))
        store.ask("HSET", keys_of("acme").chunks, "0" * 32, b"half-written")
        taken = await tenants.snapshot("acme")
        assert store.ask("HLEN", keys_of("acme").chunks) == taken.chunks


async def test_names_are_in_the_log_once_and_known_to_every_worker(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(50)))
        await give(b, "acme", feedback(3))
        here, there = await a.hold("acme"), await b.hold("acme")
        await digest(a, "acme")
        assert list(here.state.names) == list(there.state.names)
        assert {name for _, name in here.state.names} >= {"class:1", "class:-1"}
        assert b"class:" not in store.ask("XREVRANGE", keys_of("acme").log, "+", "-", "COUNT", 1)[0][1][b"p"]


async def test_a_feedback_id_finds_its_answer_without_the_input(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        (given,) = await give(tenants, "acme", feedback(1, "id-1", label=1))
        tenant = await tenants.hold("acme")
        found = await tenant.earlier_answer("id-1", 1)
        assert found == (FeedbackResult("id-1", given.outcome, duplicate=True), None)
        assert await tenant.earlier_answer("id-2", 1) is None
        with pytest.raises(FeedbackConflict):
            await tenant.earlier_answer("id-1", -1)


async def test_the_request_that_writes_may_be_cancelled(store: Server, tmp_path: Path) -> None:
    """Its label may be in the log or not; later requests are not delayed, and the log is followed."""
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold("acme")
        store.freeze()
        try:
            leading = asyncio.create_task(tenant.give([feedback(1)]))
            await asyncio.sleep(0.05)
            waiting = asyncio.create_task(tenant.give([feedback(2)]))
            await asyncio.sleep(0.05)
            leading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leading
        finally:
            store.thaw()
        (given,) = await waiting
        assert isinstance(given, FeedbackResult)
        await give(tenants, "acme", feedback(3))
        assert tenant.in_flight == 0
        assert await digest(tenants, "acme") == await replayed(store.url, "acme")


async def test_concurrent_labels_share_round_trips(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await tenants.hold("acme")
        before = int(store.ask("INFO", "commandstats")["cmdstat_evalsha"]["calls"])
        await asyncio.gather(*(give(tenants, "acme", feedback(number)) for number in range(100)))
        assert int(store.ask("INFO", "commandstats")["cmdstat_evalsha"]["calls"]) - before <= 10
        assert await digest(tenants, "acme") == await replayed(store.url, "acme")
