"""Signing in with a key, and what the cookie may do in its place."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from http.cookies import Morsel, SimpleCookie

import httpx
import pytest

from app.api.middleware.rate_limit import RateLimiter
from app.auth.authenticator import Authenticator
from app.auth.keyring import Keyring
from app.auth.keys import Key
from app.auth.rate_windows import OwnRateWindows
from app.auth.sessions import Sessions
from app.telemetry.counters import Requests
from tests.api.conftest import Service, new_app, new_backend
from tests.api.fake_review import FakeReview
from tests.api.fakes import FakeTenants
from tests.api.test_authorisation import MemoryAudit, MemoryKeys

pytestmark = pytest.mark.anyio
OURS = {"x-requested-by": "console"}
TLS = {"x-forwarded-proto": "https"}
MOST = 5  # wrong keys
LABEL = {"tenant": "mine", "label": 1, "features": {"a": 1}}
OTHER_SITES = ["cross-site", "same-site"]


@dataclass
class Guarded:
    """The application with keys required, and a browser that keeps no cookies by itself."""

    authenticator: Authenticator
    sessions: Sessions
    audit: MemoryAudit
    review: FakeReview
    client: httpx.AsyncClient

    async def key(self, *roles: str, tenants: str = "mine", moderator: str | None = None) -> tuple[Key, str]:
        return await self.authenticator.create("", list(roles), [tenants], None, None, moderator=moderator)

    async def sign_in(self, token: str, **headers: str) -> httpx.Response:
        return await self.client.post("/session", json={"key": token}, headers=OURS | headers)

    async def cookie(self, *roles: str, tenants: str = "mine", moderator: str | None = None) -> dict[str, str]:
        """The header that a browser sends, once somebody is signed in."""
        _, token = await self.key(*roles, tenants=tenants, moderator=moderator)
        return {"cookie": f"sluice={cookie_of(await self.sign_in(token)).value}"}


def cookie_of(answer: httpx.Response) -> "Morsel[str]":
    (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return cookie


@pytest.fixture
async def guarded(tenants: FakeTenants) -> AsyncIterator[Guarded]:
    authenticator = Authenticator(Keyring(MemoryKeys()), "required")  # type: ignore[arg-type]
    await authenticator.read()
    sessions, audit, review = Sessions(authenticator, seconds=3600), MemoryAudit(), FakeReview()
    limiter = RateLimiter(MOST, Requests(), OwnRateWindows(MOST), lambda: 0.0, "wrong_key")  # the time stands still
    app = new_app(
        new_backend(
            tenants,
            authenticator=authenticator,
            sessions=sessions,
            audit=audit,
            review=review,
            wrong_key_limiter=limiter,
        )
    )
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
        yield Guarded(authenticator, sessions, audit, review, client)


async def test_a_person_signs_in_looks_and_signs_out(guarded: Guarded) -> None:
    key, token = await guarded.key("review", moderator="kim")
    answer = await guarded.sign_in(f" {token}\n")
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    assert token not in answer.text + answer.headers["set-cookie"]
    assert answer.json() == {
        "key_id": key.id, "name": "", "roles": ["review"], "tenants": ["mine"], "moderator": "kim",
        "speaks_for_others": False, "expires_at": None,
    }  # fmt: skip
    cookie = {"cookie": f"sluice={cookie_of(answer).value}"}
    guarded.client.cookies.clear()
    assert (await guarded.client.get("/session", headers=cookie)).json() == answer.json()
    assert (await guarded.client.get("/tenants", headers=cookie)).status_code == 200
    ended = await guarded.client.delete("/session", headers=cookie | OURS)
    assert (ended.status_code, cookie_of(ended).value, cookie_of(ended)["max-age"]) == (204, "", "0")
    for path in ("/session", "/tenants"):
        refused = await guarded.client.get(path, headers=cookie)
        assert (refused.status_code, refused.json()["type"]) == (401, "/problems/unauthenticated")


async def test_no_script_can_read_the_cookie_and_no_other_site_can_use_it(guarded: Guarded) -> None:
    _, token = await guarded.key("review")
    cookie = cookie_of(await guarded.sign_in(token))
    assert cookie.key == "sluice"
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "strict", "/")
    assert (cookie["max-age"], cookie["secure"], cookie["domain"]) == ("3600", "", "")


async def test_behind_tls_the_cookie_is_secure_and_no_other_host_can_set_it(guarded: Guarded) -> None:
    _, token = await guarded.key("review")
    cookie = cookie_of(await guarded.sign_in(token, **TLS))
    assert (cookie.key, cookie["secure"], cookie["path"], cookie["domain"]) == ("__Host-sluice", True, "/", "")
    guarded.client.cookies.clear()
    for name, status in (("__Host-sluice", 200), ("sluice", 401)):
        sent = {"cookie": f"{name}={cookie.value}"}
        assert (await guarded.client.get("/tenants", headers=sent | TLS)).status_code == status, name


async def test_the_cookie_is_found_among_others(guarded: Guarded) -> None:
    sent = (await guarded.cookie("review"))["cookie"]
    guarded.client.cookies.clear()
    headers = [("cookie", f"other=1; sluice2=x;{sent}"), ("cookie", "third=3")]
    assert (await guarded.client.get("/tenants", headers=headers)).status_code == 200


async def test_a_session_allows_what_its_key_allows(guarded: Guarded) -> None:
    sent = await guarded.cookie("feedback")
    guarded.client.cookies.clear()
    assert (await guarded.client.post("/feedback", json=LABEL, headers=sent | OURS)).status_code == 200
    foreign = await guarded.client.post("/feedback", json=LABEL | {"tenant": "other"}, headers=sent | OURS)
    assert (foreign.status_code, foreign.json()["type"]) == (403, "/problems/forbidden")
    missing = await guarded.client.get("/tenants", headers=sent)
    assert (missing.status_code, "role review" in missing.json()["detail"]) == (403, True)


async def test_labels_of_a_session_are_those_of_the_moderator_of_its_key(guarded: Guarded) -> None:
    sent = await guarded.cookie("feedback", moderator="kim")
    guarded.client.cookies.clear()
    other = await guarded.client.post("/feedback", json=LABEL | {"moderator": "lee"}, headers=sent | OURS)
    assert (other.status_code, other.json()["type"]) == (403, "/problems/not-this-moderator")


@pytest.mark.parametrize(("method", "path"), [("POST", "/feedback"), ("POST", "/session"), ("DELETE", "/session")])
@pytest.mark.parametrize("headers", [{}, *(OURS | {"sec-fetch-site": site} for site in (*OTHER_SITES, "none"))])
async def test_a_request_that_another_site_can_send_changes_nothing(
    guarded: Guarded, method: str, path: str, headers: dict[str, str]
) -> None:
    _, token = await guarded.key("feedback")
    sent = await guarded.cookie("feedback")
    guarded.client.cookies.clear()
    body = {"key": token} if path == "/session" else LABEL
    answer = await guarded.client.request(method, path, headers=sent | headers, json=body)
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert "set-cookie" not in answer.headers
    assert (await guarded.client.get("/session", headers=sent)).status_code == 200, "nobody is signed out"


@pytest.mark.parametrize("path", ["/tenants/mine/review", "/tenants", "/tenants/mine/export"])
@pytest.mark.parametrize("site", OTHER_SITES)
async def test_a_get_of_another_site_is_refused(guarded: Guarded, path: str, site: str) -> None:
    sent = await guarded.cookie("feedback", "review", "admin")
    guarded.client.cookies.clear()
    assert (await guarded.client.get(path, headers=sent | {"sec-fetch-site": site})).status_code == 403
    assert guarded.review.asked == [], "nothing is leased"


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_a_person_may_open_an_address(guarded: Guarded, site: str) -> None:
    sent = await guarded.cookie("review")
    guarded.client.cookies.clear()
    assert (await guarded.client.get("/tenants", headers=sent | {"sec-fetch-site": site})).status_code == 200


async def test_a_key_in_a_header_goes_before_the_cookie(guarded: Guarded) -> None:
    key, token = await guarded.key("review")
    sent = await guarded.cookie("feedback", moderator="kim")
    guarded.client.cookies.clear()
    both = sent | {"x-api-key": token, "sec-fetch-site": "cross-site"}
    assert (await guarded.client.get("/tenants", headers=both)).status_code == 200
    assert (await guarded.client.get("/session", headers=both)).json()["key_id"] == key.id
    assert (await guarded.client.post("/feedback", json=LABEL, headers=both | OURS)).status_code == 403


async def test_wrong_keys_are_limited(guarded: Guarded) -> None:
    _, token = await guarded.key("review")
    tried = [(await guarded.sign_in("nonsense")).status_code for _ in range(2 * MOST)]
    assert tried == [401] * MOST + [429] * MOST
    assert (await guarded.sign_in(token)).status_code == 201


async def test_ended_sessions_count_as_wrong_keys(guarded: Guarded) -> None:
    sent = {"cookie": f"sluice={'a' * 43}"}
    tried = [(await guarded.client.get("/tenants", headers=sent)).status_code for _ in range(2 * MOST)]
    assert tried == [401] * MOST + [429] * MOST


async def test_the_audit_says_who_signed_in(guarded: Guarded) -> None:
    key, token = await guarded.key("review", moderator="kim")
    await guarded.sign_in("nonsense")
    await guarded.sign_in(token)
    (entry,) = [entry for entry in guarded.audit.entries if entry.action == "sign_in"]
    assert (entry.key_id, entry.detail) == (key.id, "kim")


async def test_a_session_ends_with_its_key(guarded: Guarded) -> None:
    key, token = await guarded.key("review")
    sent = {"cookie": f"sluice={cookie_of(await guarded.sign_in(token)).value}"}
    await guarded.authenticator.revoke(key.id, None)
    guarded.client.cookies.clear()
    assert (await guarded.client.get("/tenants", headers=sent)).status_code == 401


async def test_where_no_key_is_needed_nobody_signs_in(service: Service) -> None:
    for answer in (
        await service.client.post("/session", json={"key": "any"}, headers=OURS),
        await service.client.get("/session"),
    ):
        assert answer.is_success
        assert answer.json()["key_id"] is None
        assert "set-cookie" not in answer.headers
