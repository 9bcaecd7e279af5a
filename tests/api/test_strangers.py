"""Who tries keys: told so at first, then refused, and good keys from the same address are not hindered."""

import httpx
import pytest

from app.api.application import create_app
from app.api.limiting import Limiter
from app.api.serving import Serving
from app.auth.keyring import Guard
from tests.api.conftest import SMALL
from tests.api.fakes import FakePending, FakeTenants
from tests.api.test_access import MemoryKeyring

pytestmark = pytest.mark.anyio
MOST = 20


@pytest.mark.parametrize("wrong", [{}, {"X-API-Key": "nonsense"}, {"X-API-Key": f"sluice_{'0' * 12}_{'x' * 43}"}])
async def test_keys_cannot_be_tried_without_limit_and_a_good_one_is_not_hindered(
    tenants: FakeTenants, pending: FakePending, wrong: dict[str, str]
) -> None:
    guard = Guard(MemoryKeyring(), "required")  # type: ignore[arg-type]
    await guard.read()
    _, good = await guard.create("", ["review"], ["*"], None, None)
    strangers = Limiter(MOST, now=lambda: 0.0, reason="wrong_key")  # the time stands still
    app = create_app(serving=Serving(tenants, pending, SMALL, guard=guard, strangers=strangers))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sluice") as client:
        tried = [await client.get(path, headers=wrong) for path in ("/tenants", "/metrics") * MOST]
        assert [answer.status_code for answer in tried] == [401] * MOST + [429] * MOST
        assert tried[-1].json()["type"] == "/problems/too-many-requests"
        assert "SLUICE_WRONG_KEYS_PER_SECOND" in tried[-1].json()["detail"]
        assert tried[-1].headers["retry-after"] == "1"
        assert (await client.get("/tenants", headers={"X-API-Key": good})).status_code == 200
        assert (await client.get("/readyz", headers=wrong)).status_code == 200
