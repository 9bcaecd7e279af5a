"""Exports of one worker: so many at a time, and a place is free again however an export ends."""

import pytest

from app.learning.errors import ModelNotFinite
from app.learning.snapshot.model_file import load
from app.learning.state import TenantState, replay
from app.storage.event_log import Position
from app.tenants.errors import TooManyExports
from app.tenants.exports import Exports
from app.tenants.tenant import Tenant
from tests.learning.logs import random_log

pytestmark = pytest.mark.anyio


def tenant(state: TenantState | None = None) -> Tenant:
    return Tenant("acme", state or replay(random_log(3)), Position("born", 0, "born"))


async def test_an_export_that_is_read_to_its_end_leaves_its_place() -> None:
    exports, exported = Exports(1), tenant()
    for _ in range(3):
        file = b"".join([piece async for piece in exports.file(exported)])
        assert load(file).digest == exported.state.digest
    assert exports.in_progress == 0


async def test_there_are_only_so_many_at_a_time() -> None:
    exports = Exports(2)
    first, second, third = (exports.file(tenant()) for _ in range(3))
    await anext(first)
    await anext(second)
    with pytest.raises(TooManyExports, match=r"2 exports are in progress here, .* \(SLUICE_MAX_CONCURRENT_EXPORTS\)"):
        await anext(third)
    await first.aclose()
    assert await anext(exports.file(tenant()))


async def test_an_export_that_nobody_began_to_read_has_no_place() -> None:
    exports = Exports(1)
    exports.file(tenant())
    assert await anext(exports.file(tenant()))


async def test_an_export_that_fails_leaves_its_place() -> None:
    exports, broken = Exports(1), tenant()
    broken.state.model.tally[0] = float("inf")
    with pytest.raises(ModelNotFinite):
        await anext(exports.file(broken))
    assert exports.in_progress == 0
