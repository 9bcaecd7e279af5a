"""Which tenants a worker compares with their logs, now and then."""

from pathlib import Path

import pytest

from app.tenants import log_follower as following
from tests.servers import Server
from tests.tenants.workers import feedback, give, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]

NAMES = [f"t{number}" for number in range(9)]


@pytest.fixture(autouse=True)
def _three_at_once(store: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store.flush_all()
    monkeypatch.setattr(following, "COMPARED_AT_ONCE", 3)


async def test_a_round_has_every_tenant_once_whoever_is_used_meanwhile(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        for name in NAMES:
            await give(tenants, name, feedback(1))
        tenants.follower._to_compare = iter(())  # noqa: SLF001
        seen = []
        for _ in range(3):
            seen += [tenant.name for tenant in tenants.follower._next_tenants()]  # noqa: SLF001
            tenants.held("t0")
            tenants.held("t8")
        assert sorted(seen) == NAMES


async def test_whoever_has_left_meanwhile_is_left_out(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        for name in NAMES:
            await give(tenants, name, feedback(1))
        tenants.follower._to_compare = iter(NAMES[6:])  # noqa: SLF001
        await tenants.delete("t7")
        assert [tenant.name for tenant in tenants.follower._next_tenants()] == ["t6", "t8"]  # noqa: SLF001
