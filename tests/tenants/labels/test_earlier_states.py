"""A tenant as it was at an earlier version, and what was labelled then."""

from pathlib import Path

import pytest

from app.learning.state import TenantState, advance
from app.storage.event_codec import decode_all
from tests.servers import Server
from tests.tenants.labels.helpers import MANY, NAME, SHORT, retract
from tests.tenants.workers import feedback, give, stored_entries, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


async def test_the_state_of_any_version_can_be_built_again(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=MANY) as tenants:
        for number in range(60):
            await give(tenants, NAME, feedback(number, f"id-{number}"))
            if number % 15 == 0:
                await tenants.snapshot(NAME)
            if number in {20, 40}:
                await retract(tenants, f"id-{number - 10}", f"id-{number - 1}")
        await tenants.snapshot(NAME)
        entries = await stored_entries(store.url, NAME)
        now = (await tenants.hold(NAME)).state.digest
        for version in (0, 1, 10, 16, 21, 22, 23, 43, 44, 62):
            state = TenantState()
            for event in decode_all([entry.payload for entry in entries[:version]]):
                advance(state, event)
            found = await tenants.as_of(NAME, version)
            assert found is not None
            assert (found.state.version, found.state.digest) == (version, state.digest)
        assert (await tenants.hold(NAME)).state.digest == now
        assert await tenants.as_of(NAME, 63) is None


async def test_a_version_before_the_log_is_not_known(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, snapshots=SHORT) as tenants:
        await give(tenants, NAME, *(feedback(number) for number in range(10)))
        await tenants.snapshot(NAME)
        await give(tenants, NAME, feedback(10))
        assert await tenants.as_of(NAME, 5) is None
        assert await tenants.labelled_example(NAME, 5) is None
        found = await tenants.as_of(NAME, 10)
        assert found is not None
        assert found.state.version == 10


async def test_what_was_labelled_has_its_names(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, NAME, feedback(1), feedback(1))
        for version in (1, 2):
            found = await tenants.labelled_example(NAME, version)
            assert found is not None
            assert list(found.names) == list(feedback(1).example.names)
        await tenants.configure(NAME, {"bias": True})
        assert await tenants.labelled_example(NAME, 3) is None
