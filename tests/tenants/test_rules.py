"""The operator's cap on features: it decides what is accepted, and never what a log means."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.learning.config import Value, config_of
from app.learning.errors import BadSetting
from app.tenants.rules import FeatureLimit
from tests.servers import Server
from tests.tenants.workers import digest, feedback, give, replayed, worker

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
CAP = 1000
CAPPED = {"features": FeatureLimit(CAP)}
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
        ({"max_features": 10}, {"max_features": CAP}, CAP),
        ({"algorithm": "ssol-full", "max_features": 2048}, {"algorithm": "ssol"}, CAP),
        ({"max_features": 10}, {"algorithm": "cs-fsol"}, 10),
    ],
)
async def test_a_tenant_keeps_what_it_has_and_gets_no_more_than_the_cap(
    before: Mapping[str, Value], changes: Mapping[str, Value], max_features: int
) -> None:
    config = config_of(before)
    accepted = FeatureLimit(CAP).accept(config, changes, is_new=False)
    assert config.changed(accepted).values["max_features"] == max_features


@pytest.mark.parametrize("before", [{}, {"max_features": 10}, {"max_features": 2 * DEFAULT}])
async def test_whoever_asks_for_more_is_refused(before: Mapping[str, Value]) -> None:
    with pytest.raises(BadSetting, match=REFUSAL):
        FeatureLimit(CAP).accept(config_of(before), {"max_features": CAP + 1}, is_new=False)


async def test_without_a_cap_nothing_is_added() -> None:
    assert FeatureLimit().first_settings({}) == {}
    assert FeatureLimit().accept(config_of({}), {"max_features": 1 << 31}, is_new=True) == {"max_features": 1 << 31}


async def test_a_tenant_that_is_created_by_the_way_gets_the_cap_by_an_event(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, **CAPPED) as tenants:
        tenant = await tenants.hold("acme")
        assert (tenant.state.version, tenant.state.config.values["max_features"]) == (1, CAP)
        await give(tenants, "acme", *(feedback(number) for number in range(20)))
        before = await digest(tenants, "acme")
    async with worker(store.url, tmp_path) as without_a_cap:
        assert await digest(without_a_cap, "acme") == before == await replayed(store.url, "acme")


async def test_a_tenant_that_is_configured_gets_the_cap_or_less(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path, **CAPPED) as tenants:
        asked: list[Mapping[str, Value]] = [{}, {"eta": 0.5}, {"max_features": 10}, {"algorithm": "cs-ssol-full"}]
        configured = [await tenants.configure(f"t{number}", changes) for number, changes in enumerate(asked)]
        assert [tenant.state.config.values["max_features"] for tenant in configured] == [CAP, CAP, 10, CAP]
        with pytest.raises(BadSetting, match=REFUSAL):
            await tenants.configure("t0", {"max_features": CAP + 1})
        with pytest.raises(BadSetting, match="SLUICE_MAX_FEATURES_PER_TENANT"):
            await tenants.configure("new", {"max_features": DEFAULT})
        assert "new" not in [each.tenant for each in await tenants.listed("", 10)]


async def test_tenants_that_have_more_stay(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        before = await digest(tenants, "acme")
    async with worker(store.url, tmp_path, **CAPPED) as tenants:
        assert await digest(tenants, "acme") == before
        tenant = await tenants.configure("acme", {"threshold": 0.5})
        assert tenant.state.config.values["max_features"] == DEFAULT
        await give(tenants, "acme", feedback(2))
        assert await digest(tenants, "acme") == await replayed(store.url, "acme")


async def test_a_model_that_may_have_more_is_not_imported(store: Server, tmp_path: Path) -> None:
    async with worker(store.url, tmp_path) as tenants:
        await give(tenants, "acme", feedback(1))
        wide = b"".join([piece async for piece in await tenants.export("acme")])
        await tenants.configure("acme", {"max_features": CAP})
        narrow = b"".join([piece async for piece in await tenants.export("acme")])
    async with worker(store.url, tmp_path, **CAPPED) as tenants:
        with pytest.raises(BadSetting, match=r"the max_features of the model is 4,194,304; this service allows up to"):
            await tenants.imported("copy", wide, replace=False)
        copy = await tenants.imported("copy", narrow, replace=False)
        assert copy.state.config.values["max_features"] == CAP
