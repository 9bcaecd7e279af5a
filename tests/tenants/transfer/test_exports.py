"""Concurrent exports of one worker are limited, and every way to end one frees its slot."""

from typing import Any

import pytest

from app.learning.errors import ModelNotFinite
from app.learning.replay import replay
from app.learning.snapshot.model_file import load
from app.learning.state import TenantState
from app.storage.metadata import Position
from app.tenants.errors import TooManyExports
from app.tenants.tenant import Tenant
from app.tenants.transfer.exports import Exports
from tests.learning.logs import random_log

pytestmark = pytest.mark.anyio
NO_LOG: Any = None  # is not read


def tenant(state: TenantState | None = None) -> Tenant:
    return Tenant("acme", state or replay(random_log(3)), Position("incarnation", 0, "incarnation"))


async def test_a_complete_export_frees_its_slot() -> None:
    exports, exported = Exports(1, NO_LOG), tenant()
    for _ in range(3):
        file = b"".join([piece async for piece in exports.file(exported)])
        assert load(file).digest == exported.state.digest
    assert exports.in_progress == 0


async def test_concurrent_exports_are_limited() -> None:
    exports = Exports(2, NO_LOG)
    first, second, third = (exports.file(tenant()) for _ in range(3))
    await anext(first)
    await anext(second)
    with pytest.raises(TooManyExports, match=r"2 exports are in progress here, .* \(SLUICE_MAX_CONCURRENT_EXPORTS\)"):
        await anext(third)
    await first.aclose()
    assert await anext(exports.file(tenant()))


async def test_an_export_that_was_not_started_takes_no_slot() -> None:
    exports = Exports(1, NO_LOG)
    exports.file(tenant())
    assert await anext(exports.file(tenant()))


async def test_a_failed_export_frees_its_slot() -> None:
    exports, broken = Exports(1, NO_LOG), tenant()
    broken.state.model.tally[0] = float("inf")
    with pytest.raises(ModelNotFinite):
        await anext(exports.file(broken))
    assert exports.in_progress == 0
