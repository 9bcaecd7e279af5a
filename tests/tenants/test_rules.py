"""The limit on features: it applies to new configurations, and never to the replay of a log."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.learning.config import Value, config_of
from app.learning.errors import BadSetting
from app.tenants.rules import FeatureLimit
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, replayed, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
LIMIT = 1000
LIMITED = {"features": FeatureLimit(LIMIT)}
DEFAULT = 4_194_304
REFUSAL = r"max_features is 1,001; this service allows up to 1,000 \(SLUICE_MAX_FEATURES_PER_TENANT\)"


@pytest.fixture(autouse=True)
def _empty(store: Server) -> None:
    store.flush_all()


@pytest.mark.parametrize(
    ("before", "changes", "max_features"),
    [
        ({}, {}, DEFAULT),
        ({}, {"eta": 0.5}, DEFAULT),
        ({}, {"max_features": DEFAULT}, DEFAULT),
        ({}, {"algorithm": "cs-fsol"}, DEFAULT),
        ({}, {"max_features": 10}, 10),
        ({"max_features": 10}, {"max_features": LIMIT}, LIMIT),
        ({"algorithm": "ssol-full", "max_features": 2048}, {"algorithm": "ssol"}, LIMIT),
        ({"max_features": 10}, {"algorithm": "cs-fsol"}, 10),
    ],
)
async def test_a_tenant_keeps_what_it_has_and_gets_no_more_than_the_limit(
    before: Mapping[str, Value], changes: Mapping[str, Value], max_features: int
) -> None:
    config = config_of(before)
    accepted = FeatureLimit(LIMIT).accept(config, changes, is_new=False)
    assert config.changed(accepted).values["max_features"] == max_features


@pytest.mark.parametrize("before", [{}, {"max_features": 10}, {"max_features": 2 * DEFAULT}])
async def test_more_than_the_limit_is_refused(before: Mapping[str, Value]) -> None:
    with pytest.raises(BadSetting, match=REFUSAL):
        FeatureLimit(LIMIT).accept(config_of(before), {"max_features": LIMIT + 1}, is_new=False)


async def test_without_a_limit_nothing_is_added() -> None:
    assert FeatureLimit().first_settings({}) == {}
    assert FeatureLimit().accept(config_of({}), {"max_features": 1 << 31}, is_new=True) == {"max_features": 1 << 31}


async def test_an_auto_created_tenant_gets_the_limit_by_an_event(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, **LIMITED) as tenants:
        tenant = await tenants.hold("acme")
        assert (tenant.state.version, tenant.state.config.values["max_features"]) == (1, LIMIT)
        await give(tenants, "acme", *(feedback(number) for number in range(20)))
        before = await digest(tenants, "acme")
    async with worker(store.url, tmp_path) as unlimited:
        assert await digest(unlimited, "acme") == before == await replayed(store.url, "acme")


async def test_a_configured_tenant_gets_the_limit_or_less(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, **LIMITED) as tenants:
        asked: list[Mapping[str, Value]] = [{}, {"eta": 0.5}, {"max_features": 10}, {"algorithm": "cs-ssol-full"}]
        configured = [await tenants.configure(f"t{number}", changes) for number, changes in enumerate(asked)]
        assert [tenant.state.config.values["max_features"] for tenant in configured] == [LIMIT, LIMIT, 10, LIMIT]
        with pytest.raises(BadSetting, match=REFUSAL):
            await tenants.configure("t0", {"max_features": LIMIT + 1})
        with pytest.raises(BadSetting, match="SLUICE_MAX_FEATURES_PER_TENANT"):
            await tenants.configure("new", {"max_features": DEFAULT})
        assert "new" not in [each.tenant for each in await tenants.listed("", 10)]


async def test_tenants_that_exceed_the_limit_stay(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        before = await digest(tenants, "acme")
    async with worker(store.url, tmp_path, **LIMITED) as tenants:
        assert await digest(tenants, "acme") == before
        tenant = await tenants.configure("acme", {"threshold": 0.5})
        assert tenant.state.config.values["max_features"] == DEFAULT
        await give(tenants, "acme", feedback(2))
        assert await digest(tenants, "acme") == await replayed(store.url, "acme")


async def test_a_model_that_exceeds_the_limit_is_not_imported(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        wide = b"".join([piece async for piece in await tenants.export("acme")])
        await tenants.configure("acme", {"max_features": LIMIT})
        narrow = b"".join([piece async for piece in await tenants.export("acme")])
    async with worker(store.url, tmp_path, **LIMITED) as tenants:
        with pytest.raises(BadSetting, match=r"the max_features of the model is 4,194,304; this service allows up to"):
            await tenants.imported("copy", wide, replace=False)
        copy = await tenants.imported("copy", narrow, replace=False)
        assert copy.state.config.values["max_features"] == LIMIT
