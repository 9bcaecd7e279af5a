"""Snapshots: when they are taken, how many are kept, and what happens when one cannot be used."""

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest

from app.storage.client import connect
from app.storage.event_log import Draft, EventLog, Group
from app.storage.metadata import Position
from app.storage.redis_keys import keys_of
from app.storage.snapshots import SnapshotStore
from app.tenants import snapshotter
from app.tenants.errors import LogReplaced, SnapshotBusy, TenantDamaged
from app.tenants.snapshotter import SnapshotPolicy, locked
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, lose, replayed, until, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store.flush_all()
    monkeypatch.setattr(snapshotter, "CHECK_SECONDS", 0.05)


def snapshot_versions(store: Server, name: str) -> list[int]:
    return sorted(int(version) for version in store.ask("HKEYS", keys_of(name).headers))


async def test_a_start_is_a_snapshot_and_the_log_behind_it(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(30)))
        taken = await tenants.snapshot("acme")
        await give(tenants, "acme", *(feedback(number) for number in range(30, 50)))
        before = await digest(tenants, "acme")
    async with worker(store.url, tmp_path) as tenants:
        assert await digest(tenants, "acme") == before == await replayed(store.url, "acme")
        assert (await tenants.hold("acme")).snapshot_version == taken.version == 30


async def test_snapshots_come_by_events_and_by_time(store: Server, tmp_path: Path) -> None:
    policy = SnapshotPolicy(every_events=20, every_seconds=1e9)
    async with worker(store.url, tmp_path, snapshots=policy) as tenants:
        await give(tenants, "few", feedback(1))
        await give(tenants, "many", *(feedback(number) for number in range(25)))
        await until(lambda: snapshot_versions(store, "many"))
        assert snapshot_versions(store, "few") == []
    async with worker(store.url, tmp_path, snapshots=SnapshotPolicy(every_seconds=0.1)) as tenants:
        await give(tenants, "few", feedback(2))
        await until(lambda: snapshot_versions(store, "few"))


async def test_shutdown_takes_missing_snapshots(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        tenants.follower.trouble = "it was down a moment ago"
        await tenants.stop(5.0)
        assert snapshot_versions(store, "acme") == [1]


async def test_some_snapshots_are_kept_and_the_log_is_trimmed_before_them(store: Server, tmp_path: Path) -> None:
    policy = SnapshotPolicy(every_events=10**9, kept=2, retained_events=5)
    async with worker(store.url, tmp_path, snapshots=policy) as tenants:
        for start in range(0, 40, 10):
            await give(tenants, "acme", *(feedback(number) for number in range(start, start + 10)))
            await tenants.snapshot("acme")
        assert snapshot_versions(store, "acme") == [30, 40]
        first = store.ask("XRANGE", keys_of("acme").log, "-", "+", "COUNT", 1)[0][0]
        assert first == b"0-31", "the oldest kept snapshot needs everything behind it"
        before = await digest(tenants, "acme")
    async with worker(store.url, tmp_path) as tenants:
        assert await digest(tenants, "acme") == before


async def test_retention_keeps_more_of_the_log_than_snapshots_need(store: Server, tmp_path: Path) -> None:
    policy = SnapshotPolicy(every_events=10**9, kept=1, retained_events=25)
    async with worker(store.url, tmp_path, snapshots=policy) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(40)))
        await tenants.snapshot("acme")
        assert store.ask("XLEN", keys_of("acme").log) == 25


async def test_a_log_of_large_events_takes_snapshots_early_and_stays_within_its_bytes(
    store: Server, tmp_path: Path
) -> None:
    policy = SnapshotPolicy(every_events=10**9, every_seconds=1e9, kept=2, log_bytes=60_000)
    async with worker(store.url, tmp_path, snapshots=policy) as tenants:
        tenant = await tenants.hold("acme")
        for number in range(1000):
            await give(tenants, "acme", feedback(number))
            await until(lambda: tenant.unsaved_bytes < policy.every_bytes)
        snapshots, log = snapshot_versions(store, "acme"), keys_of("acme").log
        assert 2 <= len(snapshots) <= 4, "the last ones, and few from before"
        assert store.ask("MEMORY", "USAGE", log) < 1.5 * policy.log_bytes  # an event also has its chain there
        first = int(store.ask("XRANGE", log, "-", "+", "COUNT", 1)[0][0].decode()[2:])
        assert 1 < first <= snapshots[0] + 1, "the oldest kept snapshot needs everything behind it"
        before = await digest(tenants, "acme")
        assert tenant.unsaved_bytes < policy.every_bytes
    async with worker(store.url, tmp_path) as tenants:
        assert await digest(tenants, "acme") == before


async def test_one_worker_at_a_time_takes_a_snapshot(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        store.ask("SET", keys_of("acme").snapshot_lock, "another")
        with pytest.raises(SnapshotBusy):
            await tenants.snapshot("acme")
        assert store.ask("GET", keys_of("acme").snapshot_lock) == b"another"


async def test_the_lock_of_snapshots_lasts_as_long_as_its_owner_lives(
    store: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.snapshots.LOCK_MILLISECONDS", 300)
    monkeypatch.setattr(snapshotter, "RENEW_SECONDS", 0.05)
    connection = connect(store.url)
    snapshots = SnapshotStore(connection)
    async with locked(snapshots, "acme"):
        await asyncio.sleep(0.8)
        assert await snapshots.lock("acme") is None
    assert await snapshots.lock("acme") is not None, "as if by a worker that is killed then"
    async with locked(snapshots, "acme", wait_seconds=5.0):
        pass
    await connection.aclose()


async def test_a_second_snapshot_writes_only_what_changed(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(30)))
        await tenants.snapshot("acme")
        again = await tenants.snapshot("acme")
        assert again.written == 0


async def broken(store: Server, tmp_path: Path, how: str) -> tuple[int, str]:
    """Create a tenant with snapshots at 10 and 20 and a log up to 30, whose newest snapshot is broken."""
    async with worker(store.url, tmp_path) as tenants:
        for start in (0, 10):
            await give(tenants, "acme", *(feedback(number) for number in range(start, start + 10)))
            await tenants.snapshot("acme")
        await give(tenants, "acme", *(feedback(number) for number in range(20, 30)))
        before = await digest(tenants, "acme")
    keys = keys_of("acme")
    header = msgspec.json.decode(store.ask("HGET", keys.headers, 20))
    if how == "chunk":
        name = header["chunks"][0]["hash"]
        store.ask("HSET", keys.chunks, name, b"x" + store.ask("HGET", keys.chunks, name)[1:])
    elif how == "missing":
        store.ask("HDEL", keys.chunks, header["chunks"][0]["hash"])
    elif how == "garbage":
        store.ask("HSET", keys.headers, 20, b"garbage")
    else:
        header["extra"]["born"] = "foreign"
        store.ask("HSET", keys.headers, 20, msgspec.json.encode(header))
    return before


@pytest.mark.parametrize("how", ["chunk", "missing", "garbage", "foreign"])
async def test_a_bad_snapshot_is_set_aside_and_the_older_one_used(
    store: Server, tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = await broken(store, tmp_path, how)
    with caplog.at_level(logging.ERROR):
        async with worker(store.url, tmp_path) as tenants:
            assert await digest(tenants, "acme") == before
            assert (await tenants.hold("acme")).snapshot_version == 10
    assert "tenant acme: snapshot 20 is set aside" in caplog.text
    assert snapshot_versions(store, "acme") == [10]
    assert store.ask("HEXISTS", keys_of("acme").aside, 20)


async def test_a_damaged_tenant_leaves_the_others_alone(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(10)))
        await tenants.snapshot("acme")
        await give(tenants, "other", feedback(1))
    store.ask("XTRIM", keys_of("acme").log, "MAXLEN", 2)
    store.ask("HSET", keys_of("acme").headers, 10, b"garbage")
    async with worker(store.url, tmp_path) as tenants:
        for _ in range(2):
            with pytest.raises(TenantDamaged, match="its log does not follow its snapshots"):
                await tenants.hold("acme")
        await give(tenants, "other", feedback(2))
        assert "damaged: acme" in tenants.ready().parts["tenants"].detail
        assert tenants.ready().ready


async def test_an_event_of_a_later_version_stops_its_tenant_only(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        await give(tenants, "other", feedback(1))
        position = (await tenants.hold("acme")).position
        await append_foreign(store.url, "acme", position)
    async with worker(store.url, tmp_path) as tenants:
        with pytest.raises(TenantDamaged, match="event 2 of its log cannot be read"):
            await tenants.hold("acme")
        assert (await digest(tenants, "other"))[0] == 1


async def test_an_event_that_cannot_be_applied_does_not_stop_other_tenants(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold("acme")
        with pytest.raises(TenantDamaged):
            await tenants._writer.append(tenant, [Draft(b"\x92\xa6future\x01")])  # noqa: SLF001 - no client can
        (given,) = await give(tenants, "other", feedback(1))
        assert given.outcome.version == 1


async def append_foreign(url: str, name: str, position: Position) -> None:
    connection = connect(url)
    await EventLog(connection, 60).append([Group(name, position, [Draft(b"\x92\xa6future\x01")])])
    await connection.aclose()


async def test_attempts_that_fail_do_not_make_the_last_snapshot_look_young(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SnapshotPolicy(every_seconds=0.1)) as tenants:
        tenant = await tenants.hold("acme")
        store.ask("SET", keys_of("acme").snapshot_lock, "another worker")
        taken_at, tried_at = tenant.snapshot_at, tenant.snapshot_tried_at
        await give(tenants, "acme", feedback(1))
        await until(lambda: tenant.snapshot_tried_at > tried_at)
        assert tenant.snapshot_at == taken_at


@pytest.mark.parametrize("others", [1, 2, 3])
async def test_a_state_that_is_not_on_the_log_is_not_committed(store: Server, tmp_path: Path, others: int) -> None:
    """After a failover, others may have appended before this worker has compared itself with the log."""
    async with worker(store.url, tmp_path) as a:
        await give(a, "acme", *(feedback(number) for number in range(10)))
        tenant = await a.hold("acme")
        lose(store, "acme", 2)
        tenant.in_flight += 1  # so that it does not follow
        async with worker(store.url, tmp_path) as b:
            await give(b, "acme", *(feedback(100 + number) for number in range(others)))
            with pytest.raises(SnapshotBusy):
                await a.snapshot("acme")
            assert snapshot_versions(store, "acme") == []
            tenant.in_flight -= 1
            assert await digest(a, "acme") == await digest(b, "acme") == await replayed(store.url, "acme")
            assert (await a.snapshot("acme")).version == 10 + others


@pytest.mark.parametrize("others", [2, 3])
async def test_a_snapshot_of_another_history_is_set_aside(
    store: Server, tmp_path: Path, others: int, caplog: pytest.LogCaptureFixture
) -> None:
    """At the version of the log, and before it; the older good one is used."""
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(number) for number in range(5)))
        await tenants.snapshot("acme")
        await give(tenants, "acme", *(feedback(number) for number in range(5, 10)))
        await tenants.snapshot("acme")
    lose(store, "acme", 2)
    lost = store.ask("HGET", keys_of("acme").headers, 10)
    store.ask("HDEL", keys_of("acme").headers, 10)
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", *(feedback(100 + number) for number in range(others)))
    store.ask("HSET", keys_of("acme").headers, 10, lost)
    async with worker(store.url, tmp_path) as tenants:
        assert await digest(tenants, "acme") == await replayed(store.url, "acme")
        assert (await tenants.hold("acme")).snapshot_version == 5
    assert snapshot_versions(store, "acme") == [5]
    assert "snapshot 10 is set aside: the log has another history than the snapshot" in caplog.text


async def test_a_load_during_an_import_does_not_set_aside_the_new_snapshot(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as a, worker(store.url, tmp_path) as b:
        await give(a, "acme", *(feedback(number) for number in range(10)))
        await a.snapshot("acme")
        file = b"".join([piece async for piece in await a.export("acme")])
        before = await digest(a, "acme")
        recovery = b._retractions.replayer.recovery  # noqa: SLF001 - a load that is slow
        versions, meta = await recovery.snapshots.versions_and_meta("acme")
        assert meta.position is not None
        await a.imported("acme", file, replace=True)  # the new incarnation has a snapshot of the same version
        with pytest.raises(LogReplaced):
            await recovery._start("acme", meta.position, versions)  # noqa: SLF001
        assert await digest(b, "acme") == before
        assert await recovery.snapshots.versions("acme") == [10]
