"""Wrong keys get 401, then 429; valid keys from the same address are not limited."""

import httpx
import pytest

from app.api.middleware.rate_limit import RateLimiter
from app.auth.authenticator import Authenticator
from app.auth.keyring import Keyring
from app.auth.rate_windows import OwnRateWindows
from app.telemetry.counters import Requests
from tests.api.conftest import new_app, new_backend
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeTenants
from tests.api.test_authorisation import MemoryKeys

pytestmark = pytest.mark.anyio
MOST = 20


@pytest.mark.parametrize("wrong", [{}, {"X-API-Key": "nonsense"}, {"X-API-Key": f"sluice_{'0' * 12}_{'x' * 43}"}])
async def test_keys_cannot_be_tried_without_limit_and_a_good_one_is_not_hindered(
    tenants: FakeTenants, pending: FakePending, wrong: dict[str, str]
) -> None:
    authenticator = Authenticator(Keyring(MemoryKeys()), "required")  # type: ignore[arg-type]
    await authenticator.read()
    _, good = await authenticator.create("", ["review"], ["*"], None, None)
    limiter = RateLimiter(MOST, Requests(), OwnRateWindows(MOST), lambda: 0.0, "wrong_key")  # the time stands still
    app = new_app(new_backend(tenants, pending, authenticator=authenticator, wrong_key_limiter=limiter))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sluice") as client:
        tried = [await client.get(path, headers=wrong) for path in ("/tenants", "/metrics") * MOST]
        assert [answer.status_code for answer in tried] == [401] * MOST + [429] * MOST
        assert tried[-1].json()["type"] == "/problems/too-many-requests"
        assert "SLUICE_WRONG_KEYS_PER_SECOND" in tried[-1].json()["detail"]
        assert tried[-1].headers["retry-after"] == "1"
        assert (await client.get("/tenants", headers={"X-API-Key": good})).status_code == 200
        assert (await client.get("/readyz", headers=wrong)).status_code == 200
