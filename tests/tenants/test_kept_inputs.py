"""Raw inputs kept beside predictions."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.learning.review import Chosen
from app.storage.client import connect
from app.storage.predictions import PredictionStore
from app.storage.review.inputs import InputStore, RawInput
from app.tenants.predictions import kept_predictions
from app.tenants.predictions.kept_predictions import KeptPredictions
from app.tenants.registry import Tenants, cancel_all
from tests.reviews import GivenChoice
from tests.servers import Server
from tests.tenants.test_kept_predictions import Status
from tests.tenants.workers import feedback, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
URL = RawInput("url", "http://example.org/login")
MAIL = RawInput("email", b"Subject: hi\n\n" + bytes(range(256)) * 200)
CHOSEN = Chosen(3, 0.01, 0.0)


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


@asynccontextmanager
async def predictions_of(
    url: str, most_bytes: int = 1 << 20, choices: Iterable[Chosen | None] = ()
) -> AsyncIterator[KeptPredictions]:
    connection, chosen = connect(url), iter(choices)
    store = PredictionStore(connection, 60, 10_000, most_bytes)
    kept = KeptPredictions(
        store, Status(), enabled=True, choice=GivenChoice(lambda *_: next(chosen, None)), inputs=InputStore(connection)
    )
    work = asyncio.create_task(kept.run())
    yield kept
    await cancel_all([work])
    await connection.aclose()


async def keep(tenants: Tenants, kept: KeptPredictions, setting: str, raw: RawInput) -> str:
    tenant = await tenants.configure("acme", {"keep_inputs": setting})
    found = kept.keep(tenant, b"{}", tenant.predict(feedback(1).example), lambda: raw)
    assert found is not None
    return found.prediction_id


@pytest.mark.parametrize("raw", [URL, MAIL, RawInput("text", ""), RawInput("email", "Subject: \u00e9\n\n")])
async def test_an_input_is_found_here_at_once_and_elsewhere_after_the_block_is_written(
    store: Server, tmp_path: Path, raw: RawInput
) -> None:
    async with (
        worker(store.url, tmp_path) as tenants,
        predictions_of(store.url) as here,
        predictions_of(store.url) as there,
    ):
        prediction_id = await keep(tenants, here, "all", raw)
        assert await here.recall_input("acme", prediction_id) == raw
        await here.write()
        assert here.waiting_bytes == 0
        assert await here.recall_input("acme", prediction_id) == await there.recall_input("acme", prediction_id) == raw
        assert (await there.recall("acme", prediction_id)).given == b"{}"
        assert await there.recall_input("other", prediction_id) is None


async def test_none_stores_nothing_raw(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, predictions_of(store.url, choices=[CHOSEN]) as kept:
        prediction_id = await keep(tenants, kept, "none", URL)
        assert await kept.recall_input("acme", prediction_id) is None
        await kept.write()
        assert await kept.recall_input("acme", prediction_id) is None
        with store.client() as client:
            values = [client.dump(key) or b"" for key in client.scan_iter()]
            assert not any(b"example.org" in value for value in values)
            assert not list(client.scan_iter("*:inputs"))


async def test_review_keeps_the_inputs_of_chosen_predictions(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, predictions_of(store.url, choices=[None, CHOSEN]) as kept:
        first = await keep(tenants, kept, "review", URL)
        second = await keep(tenants, kept, "review", URL)
        assert await kept.recall_input("acme", first) is None
        assert await kept.recall_input("acme", second) == URL


async def test_a_new_tenant_keeps_what_is_to_be_reviewed_and_an_old_one_nothing(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        assert (await tenants.hold("old")).state.config.values["keep_inputs"] == "none"
    first = {"first_settings": {"keep_inputs": "review"}}
    async with worker(store.url, tmp_path, **first) as tenants:
        assert (await tenants.hold("old")).state.config.values["keep_inputs"] == "none"
        assert (await tenants.hold("new")).state.config.values["keep_inputs"] == "review"


async def test_without_room_the_prediction_is_kept_alone(
    store: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with worker(store.url, tmp_path) as tenants, predictions_of(store.url, 8 * 1024) as kept:
        large = await keep(tenants, kept, "all", MAIL)  # larger than an eighth
        kept.room.bytes = 100.0
        crowded = await keep(tenants, kept, "all", RawInput("text", 101 * "a"))
        kept.room.bytes = 1e9
        monkeypatch.setattr(kept_predictions, "MOST_WAITING_INPUT_BYTES", 0)
        late = await keep(tenants, kept, "all", URL)
        for prediction_id in (large, crowded, late):
            assert (await kept.recall("acme", prediction_id)).given == b"{}"
            assert await kept.recall_input("acme", prediction_id) is None


async def test_a_deleted_tenant_has_no_inputs(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants, predictions_of(store.url) as kept:
        prediction_id = await keep(tenants, kept, "all", URL)
        await kept.write()
        await tenants.delete("acme")
        assert await kept.recall_input("acme", prediction_id) is None
        with store.client() as client:
            assert not list(client.scan_iter("*:inputs"))


async def test_large_inputs_are_compressed_in_a_thread(
    store: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with worker(store.url, tmp_path) as tenants, predictions_of(store.url) as kept:
        threads: list[object] = []
        in_thread = asyncio.to_thread

        async def noted(work: object) -> None:
            threads.append(work)
            await in_thread(work)  # type: ignore[arg-type]

        monkeypatch.setattr(asyncio, "to_thread", noted)
        await keep(tenants, kept, "all", URL)
        await kept.write()
        assert not threads
        ids = [await keep(tenants, kept, "all", MAIL) for _ in range(5)]
        await kept.write()
        assert threads
        assert [await kept.recall_input("acme", each) for each in ids] == 5 * [MAIL]
