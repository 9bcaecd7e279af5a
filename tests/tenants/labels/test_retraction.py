"""Retractions: afterwards the state is that of a log in which the labels never stood, on every worker."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from app.learning.config import Value
from app.storage.event_codec import RetractionRecord, decode_record
from app.storage.redis_keys import keys_of
from app.tenants.errors import LabelUnknown, RetractionTooOld
from app.tenants.labels.retraction import Asked
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.tenant import Tenant
from kernels.registry import ALGORITHMS
from tests.servers import Server
from tests.tenants.labels.helpers import MANY, NAME, SHORT, check, retract
from tests.tenants.workers import copy_of, digest, fail_over_to, feedback, give, stored_entries, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
async def test_the_state_is_that_of_a_log_without_the_labels(store: Server, tmp_path: Path, algorithm: str) -> None:
    rng = np.random.default_rng(len(algorithm))
    settings: list[dict[str, Value]] = [
        {"algorithm": algorithm, "max_features": 400},
        {"bias": True},
        {"normalize": "none"},
    ]
    async with worker(store.url, tmp_path, snapshots=MANY) as one, worker(store.url, tmp_path, snapshots=MANY) as other:
        await one.configure(NAME, settings[0])
        await other.hold(NAME)
        number, standing = 0, list[str]()
        for _ in range(12):
            for _ in range(int(rng.integers(1, 12))):
                await give((one, other)[number % 2], NAME, feedback(number, f"id-{number}"))
                standing.append(f"id-{number}")
                number += 1
            if rng.random() < 0.3:
                await one.configure(NAME, settings[int(rng.integers(1, 3))])
            if rng.random() < 0.4:
                await one.snapshot(NAME)
            chosen = rng.choice(standing, min(len(standing), int(rng.integers(1, 6))), replace=False).tolist()
            found = await retract((one, other)[number % 2], *chosen)
            assert [str(label.feedback_id) for label in found.labels] == sorted(chosen, key=standing.index)
            standing = [each for each in standing if each not in chosen]
            await check(store, one, other)
    async with worker(store.url, tmp_path) as restarted:
        await restarted.hold(NAME)
        await check(store, restarted)


async def test_a_preview_tells_what_a_retraction_does_and_changes_nothing(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as tenants:
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(50)))
        await tenants.snapshot(NAME)
        stood, ids = await digest(tenants, NAME), [f"id-{number}" for number in range(5, 45)]
        said = await retract(tenants, *ids, dry_run=True)
        assert await digest(tenants, NAME) == stood
        assert len(await stored_entries(store.url, NAME)) == 50
        done = await retract(tenants, *ids)
        assert (len(said.labels), said.before, said.after) == (40, done.before, done.after)
        assert (said.before.examples, said.after.examples) == (50, 10)
        again = await retract(tenants, *ids)
        assert (again.labels, again.already, again.version) == ([], 40, 51)


async def test_labels_of_a_moderator_or_a_key_within_a_time(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold(NAME)
        for number in range(30):
            who = {"moderator": f"m{number % 3}", "key_id": f"k{number % 2}"}
            given = feedback(number)
            await asyncio.sleep(0.002)  # the times differ
            await tenant.give([type(given)(given.label, given.example, f"id-{number}", **who)])  # type: ignore[arg-type]
        times = [decode_record(entry.payload).at_milliseconds for entry in await stored_entries(store.url, NAME)]
        found = await tenants.retract(NAME, LabelFilter(moderator="m1"), Asked(), dry_run=True)
        assert {label.moderator for label in found.labels} == {"m1"}
        assert len(found.labels) == 10
        wanted = LabelFilter(key_id="k0", since=times[10], until=times[20])
        found = await tenants.retract(NAME, wanted, Asked("stolen", "lead", "k9", "r1"), dry_run=False)
        assert [label.version for label in found.labels] == [11, 13, 15, 17, 19]
        last = decode_record((await stored_entries(store.url, NAME))[-1].payload)
        assert isinstance(last, RetractionRecord)
        assert (last.reason, last.moderator, last.key_id, last.request_id) == ("stolen", "lead", "k9", "r1")
        await check(store, tenants)


async def test_an_unknown_label_is_an_error_and_nothing_is_taken_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, feedback(1, "known"))
        with pytest.raises(LabelUnknown, match="'another'"):
            await retract(tenants, "known", "another")
        assert len(await stored_entries(store.url, NAME)) == 1


async def test_a_label_before_the_beginning_of_the_log_is_too_old(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SHORT) as tenants:
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(20)))
        await tenants.snapshot(NAME)
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(20, 30)))
        with pytest.raises(RetractionTooOld, match="begins with version 21"):
            await retract(tenants, "id-3")
        with pytest.raises(RetractionTooOld, match="since 20"):
            await tenants.retract(NAME, LabelFilter(moderator="m"), Asked(), dry_run=False)
        await retract(tenants, "id-25")
        assert (await digest(tenants, NAME))[0] == 31
        assert tenants.held(NAME).state.prequential.lifetime.examples == 29  # type: ignore[union-attr]


async def test_labels_from_before_an_import_without_the_log_are_too_old(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(20)))
        file = b"".join([piece async for piece in await tenants.export(NAME)])
        await tenants.imported(NAME, file, replace=True)
        with pytest.raises(RetractionTooOld, match="begins with version 21; it has no label with the feedback_id"):
            await retract(tenants, "id-3")
        for since in (None, 2_000_000_000_000):
            with pytest.raises(RetractionTooOld, match=r"begins with version 21; earlier labels .* no later one"):
                await tenants.retract(NAME, LabelFilter(moderator="m", since=since), Asked(), dry_run=False)
        await tenants.configure(NAME, {"bias": True})
        with pytest.raises(RetractionTooOld, match=r"begins with version 21; earlier labels .* no later one"):
            await tenants.retract(NAME, LabelFilter(moderator="m"), Asked(), dry_run=True)
        await give(tenants, NAME, feedback(20, "id-20"))
        assert len((await retract(tenants, "id-20")).labels) == 1


async def test_no_snapshot_with_a_retracted_label_stays_or_comes_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as tenants:
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(10)))
        await tenants.snapshot(NAME)
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(10, 20)))
        await tenants.snapshot(NAME)
        copy = store.ask("HGETALL", keys_of(NAME).headers)
        await retract(tenants, "id-15")
        assert sorted(int(version) for version in store.ask("HKEYS", keys_of(NAME).headers)) == [10, 21]
        assert {int(version) for version in copy} == {10, 20}


async def test_feedback_during_a_rebuild_waits_and_is_not_lost(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, *(feedback(number, f"id-{number}") for number in range(2000)))
        await one.snapshot(NAME)
        await give(one, NAME, *(feedback(number, f"id-{number}") for number in range(2000, 4000)))
        shares: list[float] = []
        watch = asyncio.create_task(watch_progress(await one.hold(NAME), shares))
        work = [retract(one, "id-2003"), *(give((one, other)[k % 2], NAME, feedback(k, f"new-{k}")) for k in range(40))]
        await asyncio.gather(*work)
        watch.cancel()
        assert shares
        assert sorted(shares) == shares
        assert 0.0 <= shares[0] <= shares[-1] <= 1.0
        await check(store, one, other)
        assert one.held(NAME).state.prequential.lifetime.examples == 4039  # type: ignore[union-attr]


async def watch_progress(tenant: Tenant, shares: list[float]) -> None:
    """Note how much of a rebuild is done, as long as there is one."""
    while True:
        if tenant.rebuilding is not None:
            shares.append(tenant.rebuilding.share)
        await asyncio.sleep(0)


async def test_a_retraction_that_a_failover_loses_is_made_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path) as other:
        await give(one, NAME, *(feedback(number, f"id-{number}") for number in range(20)))
        await other.hold(NAME)
        copy = copy_of(store)
        await give(one, NAME, *(feedback(number, f"id-{number}") for number in range(20, 30)))
        await retract(one, "id-7", "id-25")
        await check(store, one, other)
        fail_over_to(store, copy)
        await give(other, NAME, feedback(99, "id-99"))
        for _ in range(3):
            await one.follower.compare_once()
            await other.follower.compare_once()
        await check(store, one, other)
        entries = await stored_entries(store.url, NAME)
        assert len(entries) == 32
        assert sum(isinstance(decode_record(entry.payload), RetractionRecord) for entry in entries) == 1


async def test_a_worker_that_loads_a_snapshot_after_a_retraction_still_knows_what_came_before(
    store: Server, tmp_path: Path
) -> None:
    async with worker(store.url, tmp_path) as one, worker(store.url, tmp_path / "other") as other:
        await give(one, NAME, *(feedback(number, f"id-{number}") for number in range(20)))
        await check(store, one, other)
        copy = copy_of(store)
        await give(one, NAME, *(feedback(number, f"id-{number}") for number in range(20, 30)))
        await retract(one, "id-25")  # and takes a snapshot, which the other one loads
        await give(other, NAME, feedback(30, "id-30"))
        await one.stop(0)
        fail_over_to(store, copy)
        for _ in range(3):
            await other.follower.compare_once()
        await check(store, other)
        assert len(await stored_entries(store.url, NAME)) == 32


async def test_the_history_says_what_was_taken_back(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, *(feedback(number, f"id-{number}") for number in range(1200)))
        wrong = LabelFilter(feedback_ids=frozenset(["id-3", "id-700"]))
        await tenants.retract(NAME, wrong, Asked("wrong", "lead"), dry_run=False)
        await give(tenants, NAME, feedback(1200, "id-1200"))
        found = [each async for each in await tenants.labels(NAME, LabelFilter())]
        assert [label.version for label, _ in found] == [1202, *range(1200, 0, -1)]
        taken_back = {label.feedback_id: how for label, how in found if how is not None}
        assert taken_back.keys() == {"id-3", "id-700"}
        assert (taken_back["id-3"].version, taken_back["id-3"].reason, taken_back["id-3"].moderator) == (
            1201,
            "wrong",
            "lead",
        )
        early = [each async for each in await tenants.labels(NAME, LabelFilter(), before=6)]
        assert [(label.version, how is not None) for label, how in early] == [
            (5, False), (4, True), (3, False), (2, False), (1, False)
        ]  # fmt: skip
        some = LabelFilter(feedback_ids=frozenset(["id-3"]), label=found[-4][0].label)
        assert [label.version async for label, _ in await tenants.labels(NAME, some)] == [4]


async def test_retries_get_their_first_answers_also_around_a_retraction(store: Server, tmp_path: Path) -> None:
    given = [feedback(number, f"id-{number}") for number in range(40)]
    async with worker(store.url, tmp_path) as tenants:
        first = [result.outcome for result in await give(tenants, NAME, *given)]
        await retract(tenants, "id-7")
        later = await give(tenants, NAME, feedback(99, "id-99"))
        again = await give(tenants, NAME, given[7], given[20])
        assert [(result.duplicate, result.outcome) for result in again] == [(True, first[7]), (True, first[20])]
    for key in store.ask("KEYS", f"{keys_of(NAME).prefix}:outcomes:*"):
        store.ask("DEL", key)
    async with worker(store.url, tmp_path) as tenants:  # a replay finds the outcomes: as it was, or without the label
        again = await give(tenants, NAME, given[7], given[20], feedback(99, "id-99"))
        assert [result.outcome for result in again] == [first[7], first[20], later[0].outcome]
        await check(store, tenants)


async def test_a_replay_for_a_retry_changes_no_answer_from_before_a_retraction(store: Server, tmp_path: Path) -> None:
    given = [feedback(number, f"id-{number}") for number in range(40)]
    async with worker(store.url, tmp_path) as tenants:
        first = [result.outcome for result in await give(tenants, NAME, *given)]
        await retract(tenants, "id-7")
        (later,) = await give(tenants, NAME, feedback(99, "id-99"))
        block = f"{keys_of(NAME).prefix}:outcomes:{(await tenants.hold(NAME)).incarnation[:8]}:0"
        await until(lambda: store.ask("HDEL", block, later.outcome.version))
        await retract(tenants, "id-8")
    store.ask("DEL", keys_of(NAME).headers)  # no snapshot is left
    async with worker(store.url, tmp_path) as tenants:
        (again,) = await give(tenants, NAME, feedback(99, "id-99"))
        assert again.outcome == later.outcome
    async with worker(store.url, tmp_path) as tenants:
        assert [result.outcome for result in await give(tenants, NAME, *given)] == first


async def test_rebuilding_remembers_no_answer_from_before_another_retraction(store: Server, tmp_path: Path) -> None:
    given = [feedback(number, f"id-{number}") for number in range(600)]
    async with worker(store.url, tmp_path) as tenants:
        first = [result.outcome for result in await give(tenants, NAME, *given[:100])]
        await retract(tenants, "id-20")
        first += [result.outcome for result in await give(tenants, NAME, *given[100:])]
        await retract(tenants, "id-7")
        assert [result.outcome for result in await give(tenants, NAME, *given)] == first
