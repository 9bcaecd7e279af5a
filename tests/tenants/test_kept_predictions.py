"""Predictions kept for feedback."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.storage.client import connect
from app.storage.predictions import PredictionStore
from app.storage.redis_keys import keys_of
from app.tenants.errors import PredictionExpired
from app.tenants.predictions import kept_predictions
from app.tenants.predictions.blocks import EARLIER_HEAD, KeptPrediction
from app.tenants.predictions.kept_predictions import KeptPredictions
from app.tenants.registry import Tenants, cancel_all
from app.tenants.tenant import Tenant, Verdict
from tests.servers import Server
from tests.tenants.workers import feedback, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


class Status:
    def __init__(self) -> None:
        self.trouble: str | None = None
        self.away: dict[str, str] = {}


@asynccontextmanager
async def pending_of(url: str, status: Status | None = None, *, enabled: bool = True) -> AsyncIterator[KeptPredictions]:
    connection = connect(url)
    pending = KeptPredictions(PredictionStore(connection, 60, 10_000), status or Status(), enabled=enabled)
    work = asyncio.create_task(pending.run())
    yield pending
    await cancel_all([work])
    await connection.aclose()


async def kept(tenants: Tenants, pending: KeptPredictions, given: bytes, name: str = "acme") -> str:
    tenant = await tenants.hold(name)
    found = pending.keep(tenant, given, tenant.predict(feedback(1).example))
    assert found is not None
    return found.prediction_id


async def test_a_prediction_is_found_here_at_once_and_elsewhere_soon(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as here, pending_of(store.url) as there:
        names = [await kept(tenants, here, b"%d" % n) for n in range(700)]
        assert len(set(names)) == len(names)
        found = await here.recall("acme", names[7])
        assert abs(time.time_ns() // 1_000_000 - found.at_milliseconds) < 60_000
        assert found == KeptPrediction(b"7", -1, 0.0, 0, found.at_milliseconds)
        assert (await there.recall("acme", names[-1])).given == b"%d" % (len(names) - 1)
        await here.write()
        assert (await here.recall("acme", names[300])).given == b"300"


async def test_predictions_kept_together_are_found_each_by_its_id(
    store: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_predictions, "BLOCK_BYTES", 100)  # several blocks
    monkeypatch.setattr(kept_predictions, "ROUND_TRIP_BYTES", 300)  # and several round trips
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as here, pending_of(store.url) as there:
        tenant = await tenants.hold("acme")
        verdict = tenant.predict(feedback(1).example)
        parts = [[b"%d-%d" % (part, n) for n in range(7)] for part in range(9)]
        ids = {each: name for some in parts for each, name in zip(some, keep(here, tenant, some, verdict), strict=True)}
        await here.write()
        for given, prediction_id in ids.items():
            found = await there.recall("acme", prediction_id)
            assert found == KeptPrediction(given, -1, 0.0, 0, found.at_milliseconds)


def keep(pending: KeptPredictions, tenant: Tenant, given: list[bytes], verdict: Verdict) -> list[str]:
    found = pending.keep_all(tenant, given, [verdict] * len(given))
    return [each.prediction_id for each in found if each is not None]


@pytest.mark.parametrize(
    "prediction_id", ["", "-", "x-y", "x-1", "a-b-3", "é-1", "0123456789ab-1-0-1", "0123456789ab-1-0-ffffffff"]
)
async def test_an_unknown_id_has_expired(store: Server, prediction_id: str) -> None:
    async with pending_of(store.url) as pending:
        with pytest.raises(PredictionExpired):
            await pending.recall("acme", prediction_id)


async def test_a_prediction_belongs_to_its_tenant(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        name = await kept(tenants, pending, b"x")
        with pytest.raises(PredictionExpired):
            await pending.recall("other", name)


async def test_a_prediction_that_an_earlier_version_kept_is_found(store: Server) -> None:
    block, given = "0123456789ab-1", [b"first", b"second"]
    heads = [EARLIER_HEAD.pack(0x51BF, len(each), 1, 0.5, 7, 1_700_000_000_000) for each in given]
    with store.client() as client:
        client.set(f"{keys_of('acme').pending}:{block}", heads[0] + given[0] + heads[1] + given[1])
    async with pending_of(store.url) as pending:
        for start, each in ((0, given[0]), (len(heads[0]) + len(given[0]), given[1])):
            found = await pending.recall("acme", f"{block}-{start:x}-{len(each):x}")
            assert found == KeptPrediction(each, 1, 0.5, 7, 1_700_000_000_000)


async def test_a_changed_id_finds_nothing(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        first, second = [await kept(tenants, pending, given) for given in (b"first", b"second")]
        await pending.write()
        block, start, _ = second.rsplit("-", 2)
        for changed in (f"{block}-{int(start, 16) + 1:x}-6", f"{block}-{start}-5", f"{block}-0-6", first[:-1] + "6"):
            with pytest.raises(PredictionExpired):
                await pending.recall("acme", changed)
        assert (await pending.recall("acme", second)).given == b"second"


async def test_nothing_is_kept_if_it_is_turned_off(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        tenant = await tenants.configure("acme", {"keep_predictions": False})
        verdict = tenant.predict(feedback(1).example)
        assert pending.keep(tenant, b"x", verdict) is None
        tenant = await tenants.hold("other")
        async with pending_of(store.url, enabled=False) as off:
            assert off.keep(tenant, b"x", verdict) is None


async def test_nothing_is_kept_while_the_store_is_unavailable(store: Server, tmp_path: Path) -> None:
    status = Status()
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url, status) as pending:
        tenant = await tenants.hold("acme")
        status.trouble = "Redis cannot be reached"
        assert pending.keep(tenant, b"x", tenant.predict(feedback(1).example)) is None


async def test_a_large_request_waits_for_the_writer_but_not_for_a_store_that_hangs(
    store: Server, tmp_path: Path
) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        tenant = await tenants.hold("acme")
        verdict = tenant.predict(feedback(1).example)
        for _ in range(200):
            assert pending.keep(tenant, bytes(1 << 20), verdict) is not None, "200 MiB are more than may wait"
            await pending.give_way()
        store.freeze()
        try:
            for _ in range(12):
                pending.keep(tenant, bytes(1 << 20), verdict)
            async with asyncio.timeout(1.0):
                await pending.give_way()
        finally:
            store.thaw()
        await pending.write()


async def test_deleting_a_tenant_deletes_its_predictions(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url) as pending:
        await kept(tenants, pending, b"secret")
        await pending.write()
        await tenants.delete("acme", purge=True)
        left = store.ask("KEYS", f"{keys_of('acme').prefix}:*")
        assert [key.decode() for key in left] == [keys_of("acme").meta]


async def test_of_too_many_predictions_the_newest_are_kept(store: Server, tmp_path: Path) -> None:
    connection = connect(store.url)
    pending = KeptPredictions(PredictionStore(connection, 60, 100), Status(), enabled=True)
    async with worker(store.url, tmp_path) as tenants:
        tenant = await tenants.hold("acme")
        ids = keep(pending, tenant, [b"%d" % number for number in range(1000)], tenant.predict(feedback(1).example))
        await pending.write()
        assert (await pending.recall("acme", ids[-1])).given == b"999"
        assert (await pending.recall("acme", ids[-80])).given == b"920"
        with pytest.raises(PredictionExpired):
            await pending.recall("acme", ids[0])
    await connection.aclose()


async def test_predictions_of_tenants_on_a_failed_node_are_not_kept(store: Server, tmp_path: Path) -> None:
    status = Status()
    async with worker(store.url, tmp_path) as tenants, pending_of(store.url, status) as pending:
        tenant, away = await tenants.hold("acme"), await tenants.hold("away")
        status.away[keys_of("away").changes] = "its node does not answer"
        verdict = tenant.predict(feedback(1).example)
        assert pending.keep(tenant, b"x", verdict) is not None
        assert pending.keep(away, b"x", verdict) is None
