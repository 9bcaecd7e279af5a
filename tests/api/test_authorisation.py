"""Authorisation of every route: with every role, without a key, and with a key for another tenant."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from app.api.app import ROUTES
from app.api.authorisation import RoleRoute
from app.auth.audit import Audit, AuditEntry
from app.auth.authenticator import Authenticator
from app.auth.keyring import Keyring
from app.auth.keys import ROLES
from app.auth.label_rate import LabelRates
from app.storage.access.api_keys import StoredKeys, Versions
from app.tenants.errors import TenantUnknown
from tests.api.conftest import new_app, new_backend
from tests.api.fakes import FakeTenants

pytestmark = pytest.mark.anyio
PUBLIC = {"/livez", "/readyz", "/docs", "/openapi.json", "/problems", "/problems/{name}"} | {
    "/", "/docs/", "/health", "/healthz", "/ready", "/session"
}  # fmt: skip
PAGE = (
    b"# HELP a An a.\n# TYPE a counter\n"
    b'a{label="x",tenant="mine",worker="0"} 1.0\na{tenant="other",worker="0"} 2.0\na{tenant="_other",worker="0"} 3.0\n'
    b"# HELP b A b.\n# TYPE b gauge\nb 4.0\n"
)


@dataclass
class MemoryKeys:
    """Keys without a store."""

    records: dict[str, bytes] = field(default_factory=dict)
    revoked: dict[str, int] = field(default_factory=dict)
    changes: int = 0

    async def versions(self) -> Versions:
        return b"%d" % self.changes, b"%d" % self.changes

    async def read(self) -> StoredKeys:
        return StoredKeys(await self.versions(), None, dict(self.records), dict(self.revoked))

    async def confirm(self) -> None:
        """Nothing is ever lost here."""

    async def write(
        self, expected: Versions, records: Mapping[str, bytes | None], revoked: Mapping[str, int | None], _: str | None
    ) -> Versions | None:
        assert expected == await self.versions()
        self.changes += 1
        self.records = {name: record for name, record in {**self.records, **records}.items() if record}
        self.revoked = {name: at for name, at in {**self.revoked, **revoked}.items() if at is not None}
        return await self.versions()


class MemoryAudit(Audit):
    def __init__(self) -> None:
        super().__init__()
        self.entries: list[AuditEntry] = []

    async def note(self, action: str, **facts: Any) -> None:  # noqa: ANN401 - those of an entry
        self.entries.append(AuditEntry(at=0, action=action, **facts))


@dataclass
class Guarded:
    """The application with keys required."""

    tenants: FakeTenants
    authenticator: Authenticator
    audit: MemoryAudit
    client: httpx.AsyncClient
    routes: list[RoleRoute]

    async def key(
        self, *roles: str, tenants: str = "mine", moderator: str | None = None, speaks_for_others: bool = False
    ) -> dict[str, str]:
        """The header with a key that has these roles, and may carry a moderator's name."""
        _, token = await self.authenticator.create(
            "", list(roles), tenants.split(","), None, None, moderator=moderator, speaks_for_others=speaks_for_others
        )
        return {"Authorization": f"Bearer {token}"}

    async def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        **options: Any,  # noqa: ANN401 - httpx's
    ) -> httpx.Response:
        return await self.client.request(method, path, headers=headers, **options)


@pytest.fixture
async def guarded(tenants: FakeTenants) -> AsyncIterator[Guarded]:
    authenticator = Authenticator(Keyring(MemoryKeys()), "required")  # type: ignore[arg-type]
    await authenticator.read()
    audit = MemoryAudit()

    async def page() -> bytes:
        return PAGE

    backend = new_backend(tenants, metrics=page, authenticator=authenticator, audit=audit, label_rates=LabelRates(3))
    app = new_app(backend)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://sluice") as client:
        yield Guarded(tenants, authenticator, audit, client, ROUTES)


def questions(guarded: Guarded, tenant: str) -> list[tuple[RoleRoute, str, str, dict[str, Any]]]:
    """A request to every route, for one tenant."""
    found = []
    for route in guarded.routes:
        for method in sorted(route.methods or ()):
            path = (
                route.path.replace("{tenant}", tenant).replace("{key}", "0123456789ab").replace("{name}", "forbidden")
            )
            if path.endswith("/events"):
                path += "?limit=1"  # by itself a stream has no end
            found.append((route, method, path, body_of(route.path, tenant) if method == "POST" else {}))
    return found


def body_of(path: str, tenant: str) -> dict[str, Any]:
    item = {"features": {"a": 1}}
    bodies: dict[str, Any] = {
        "/predict": {"tenant": tenant, **item},
        "/feedback": {"tenant": tenant, "label": 1, **item},
        "/predict/batch": {"tenant": tenant, "items": [item]},
        "/feedback/batch": {"tenant": tenant, "items": [item | {"label": 1}]},
        "/features": {"tenant": tenant, **item},
        "/keys": {"roles": ["predict"], "tenants": [tenant]},
    }
    return {"json": bodies[path]} if path in bodies else {}


async def test_every_route_has_a_role_or_is_meant_to_be_public(guarded: Guarded) -> None:
    routes = guarded.routes
    assert {route.path for route in routes if route.role is None} == PUBLIC
    assert {route.role for route in routes if route.role is not None} == set(ROLES)


async def test_without_a_key_only_public_routes_answer(guarded: Guarded) -> None:
    for route, method, path, body in questions(guarded, "mine"):
        answer = await guarded.ask(method, path, **body)
        asks_who_is_signed_in = path == "/session" and method == "GET"  # nobody, it answers
        assert (answer.status_code == 401) == (route.role is not None or asks_who_is_signed_in), path
        if route.role is not None:
            assert answer.headers["www-authenticate"] == 'Bearer realm="sluice"'
            assert answer.json()["type"] == "/problems/unauthenticated"


@pytest.mark.parametrize("role", ROLES)
async def test_a_key_is_good_for_the_routes_of_its_roles_alone(guarded: Guarded, role: str) -> None:
    headers = await guarded.key(role, tenants="*")
    for route, method, path, body in questions(guarded, "mine"):
        if route.role is None or (route.role == "admin" and method != "GET"):
            continue  # public; or it changes what the next question is about
        answer = await guarded.ask(method, path, headers, **body)
        assert (answer.status_code == 403) == (route.role != role), (path, answer.text)


@pytest.mark.parametrize("exists", [False, True])
async def test_a_foreign_tenant_is_refused_on_every_route_in_the_same_words(guarded: Guarded, exists: bool) -> None:
    if exists:
        await guarded.tenants.configure("other", {})
    headers = await guarded.key(*ROLES, tenants="mine")
    for route, method, path, body in questions(guarded, "other"):
        if "{tenant}" not in route.path and "json" not in body:
            continue
        answer = await guarded.ask(method, path, headers, **body)
        problem = answer.json()
        assert (answer.status_code, problem["type"]) == (403, "/problems/forbidden"), (path, answer.text)
        assert "other" in problem["detail"] or route.path == "/keys"
        assert problem["detail"] in {
            "this key is not for tenant 'other'",
            "a key can only be created for tenants of your own key",
        }
    assert set(guarded.tenants.tenants) == ({"other"} if exists else set()), "nothing was made, nothing was deleted"
    assert [entry for entry in guarded.audit.entries if entry.tenant == "other"] == []


async def test_tenants_are_listed_as_far_as_they_are_the_keys_own(guarded: Guarded) -> None:
    for name in ("mine", "mine-2", "other", "shop-1", "shop-2"):
        await guarded.tenants.configure(name, {})
    headers = await guarded.key("review", tenants="mine,shop-*")
    page = (await guarded.ask("GET", "/tenants?limit=2", headers)).json()
    assert ([each["tenant"] for each in page["tenants"]], page["next"]) == (["mine", "shop-1"], "shop-1")
    page = (await guarded.ask("GET", "/tenants?after=shop-1", headers)).json()
    assert ([each["tenant"] for each in page["tenants"]], page["next"]) == (["shop-2"], None)


async def test_metrics_of_other_tenants_are_not_shown(guarded: Guarded) -> None:
    page = await guarded.ask("GET", "/metrics", await guarded.key("metrics", tenants="mine"))
    assert b'tenant="mine"' in page.content
    assert b"other" not in page.content
    assert b"b 4.0" not in page.content, "a sum over tenants would reveal the others"
    assert (await guarded.ask("GET", "/metrics", await guarded.key("metrics", tenants="*"))).content == PAGE


async def test_readiness_names_tenants_only_to_callers_that_may_see_all(guarded: Guarded) -> None:
    guarded.tenants.damaged = "acme"
    for headers in (None, await guarded.key("review", tenants="mine"), {"X-API-Key": "nonsense"}):
        assert "acme" not in (await guarded.ask("GET", "/readyz", headers)).text
    assert "acme" in (await guarded.ask("GET", "/readyz", await guarded.key("review", tenants="*"))).text


async def test_a_key_may_be_sent_in_either_header(guarded: Guarded) -> None:
    bearer = await guarded.key("review")
    token = bearer["Authorization"].removeprefix("Bearer ")
    for headers in (bearer, {"authorization": f"bearer {token}"}, {"X-API-Key": token}):
        assert (await guarded.ask("GET", "/tenants", headers)).status_code == 200
    both = bearer | {"X-API-Key": token}
    assert (await guarded.ask("GET", "/tenants", both)).status_code == 200
    for headers in (
        {"authorization": f"Basic {token}"},
        {"authorization": token},
        {"X-API-Key": token + "x"},
        both | {"X-API-Key": "another"},
    ):
        assert (await guarded.ask("GET", "/tenants", headers)).status_code == 401


async def test_keys_are_made_listed_rotated_and_revoked(guarded: Guarded) -> None:
    headers = await guarded.key("admin", tenants="mine,mine-*")
    wanted = {"name": "page", "roles": ["predict"], "tenants": ["mine-eu"], "expires_in_seconds": 60}
    made = await guarded.ask("POST", "/keys", headers, json=wanted)
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    first = made.json()
    assert first["key"]["expires_at"] - first["key"]["created_at"] == pytest.approx(60_000, abs=5000)
    use = {"X-API-Key": first["secret"]}
    assert (await guarded.ask("POST", "/predict", use, json=body_of("/predict", "mine-eu")["json"])).status_code == 200
    second = (
        await guarded.ask("POST", f"/keys/{first['key']['id']}/rotate", headers, json={"overlap_seconds": 0})
    ).json()
    assert (await guarded.ask("POST", "/predict", use, json=body_of("/predict", "mine-eu")["json"])).status_code == 401
    listed = (await guarded.ask("GET", "/keys", headers)).json()["keys"]
    assert {key["id"] for key in listed} >= {first["key"]["id"], second["key"]["id"]}
    assert first["secret"] not in str(listed)
    assert second["secret"] not in str(listed)
    gone = await guarded.ask("DELETE", f"/keys/{second['key']['id']}", headers)
    assert gone.status_code == 204
    use = {"X-API-Key": second["secret"]}
    assert (await guarded.ask("POST", "/predict", use, json=body_of("/predict", "mine-eu")["json"])).status_code == 401
    assert (await guarded.ask("DELETE", f"/keys/{second['key']['id']}", headers)).status_code == 404
    actions = [entry.action for entry in guarded.audit.entries]
    assert actions == ["create_key", "key_made", "rotate_key", "key_made", "revoke_key", "key_revoked", "revoke_key"]
    assert not any(secret in str(guarded.audit.entries) for secret in (first["secret"], second["secret"]))


@pytest.mark.parametrize(
    "wanted", [{}, {"roles": ["root"], "tenants": ["mine"]}, {"roles": ["predict"], "tenants": []}]
)
async def test_a_key_that_makes_no_sense_is_refused_with_a_sentence(guarded: Guarded, wanted: dict[str, Any]) -> None:
    answer = await guarded.ask("POST", "/keys", await guarded.key("admin", tenants="*"), json=wanted)
    assert answer.status_code == 422
    assert answer.json()["detail"]


async def test_whatever_changes_a_tenant_is_in_the_audit_with_the_key_and_the_request(guarded: Guarded) -> None:
    headers = await guarded.key("admin") | {"X-Request-ID": "r-1"}
    await guarded.ask("PUT", "/tenants/mine", headers, json={"eta": 0.5})
    await guarded.ask("DELETE", "/tenants/mine", headers)
    identity = headers["Authorization"][14:26]
    recorded = [(entry.action, entry.tenant, entry.key_id, entry.request_id) for entry in guarded.audit.entries]
    assert recorded == [(action, "mine", identity, "r-1") for action in ("configure_tenant", "delete_tenant")]


async def test_nothing_is_changed_that_cannot_be_noted(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise TenantUnknown("the audit")  # any refusal

    monkeypatch.setattr(guarded.audit, "note", fails)
    await guarded.tenants.configure("mine", {})
    await guarded.ask("DELETE", "/tenants/mine", await guarded.key("admin"))
    assert "mine" in guarded.tenants.tenants


async def test_a_label_records_its_key_and_moderator(guarded: Guarded) -> None:
    headers = await guarded.key("feedback") | {"X-Request-ID": "r-7"}
    await guarded.ask("POST", "/feedback", headers, **body_of("/feedback", "mine"))
    (given,) = guarded.tenants.feedback_writer.received
    assert (given.key_id, given.request_id) == (headers["Authorization"][14:26], "r-7")


async def test_a_moderator_cannot_label_faster_than_the_limit(guarded: Guarded) -> None:
    headers = await guarded.key("feedback")
    item = {"features": {"a": 1}, "label": 1}
    kim = [item | {"moderator": "kim"}] * 4
    batch = await guarded.ask("POST", "/feedback/batch", headers, json={"tenant": "mine", "items": kim})
    results = batch.json()["results"]
    assert [result.get("error", {}).get("status") for result in results] == [None, None, None, 429]
    one = await guarded.ask("POST", "/feedback", headers, json={"tenant": "mine", "moderator": "kim", **item})
    assert (one.status_code, one.headers["retry-after"]) == (429, "60")
    other = await guarded.ask("POST", "/feedback", headers, json={"tenant": "mine", "moderator": "lee", **item})
    assert other.status_code == 200
