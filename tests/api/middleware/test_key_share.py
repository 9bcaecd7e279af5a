"""No key holds more than its share of the concurrent requests, and every request gives its place back."""

import asyncio
from collections.abc import AsyncIterator
from itertools import repeat
from typing import NamedTuple

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from app.api.middleware.key_share import KeyShare
from app.auth.authenticator import Authenticator
from app.auth.keyring import Keyring
from app.telemetry.counters import Requests
from tests.api.conftest import new_app, new_backend
from tests.api.exchanges import exchange
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeTenants
from tests.api.test_authorisation import MemoryKeys

pytestmark = pytest.mark.anyio

SHARE = 3
ASKED = {"tenant": "acme", "features": {"a": 1}}


class Setup(NamedTuple):
    """A service with two keys, and what it counts."""

    app: FastAPI
    requests: Requests
    greedy: str
    other: str
    client: httpx.AsyncClient


@pytest.fixture
async def setup(tenants: FakeTenants, pending: FakePending) -> AsyncIterator[Setup]:
    authenticator = Authenticator(Keyring(MemoryKeys()), "required")  # type: ignore[arg-type]
    await authenticator.read()
    roles = ["predict", "feedback", "review", "metrics"]
    greedy, other = [(await authenticator.create("", roles, ["*"], None, None))[1] for _ in range(2)]
    requests = Requests()
    share = KeyShare(SHARE, requests)
    app = new_app(new_backend(tenants, pending, authenticator=authenticator, key_share=share), requests)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://sluice") as client:
        yield Setup(app, requests, greedy, other, client)


async def unfinished(app: FastAPI, key: str, released: asyncio.Event, *, goes: bool) -> None:
    """Send a body that does not end before it is released; then it ends, or the client goes."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await released.wait()
            return {"type": "http.disconnect"} if goes else {"type": "http.request", "body": b"}"}
        sent = True
        return {"type": "http.request", "body": b'{"tenant":"acme"', "more_body": True}

    async def send(_: Message) -> None:
        pass

    headers = [(b"x-api-key", key.encode())]
    scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": headers}
    await app(scope, receive, send)


@pytest.mark.parametrize("goes", [True, False], ids=["client goes", "body ends"])
async def test_a_key_beyond_its_share_gets_429_and_another_key_is_served(setup: Setup, goes: bool) -> None:
    released = asyncio.Event()
    held = [asyncio.create_task(unfinished(setup.app, setup.greedy, released, goes=goes)) for _ in range(SHARE)]
    await asyncio.sleep(0)
    refused = await setup.client.post("/predict", json=ASKED, headers={"x-api-key": setup.greedy})
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-concurrent-requests")
    assert "SLUICE_MAX_CONCURRENT_PER_KEY" in refused.json()["detail"]
    assert refused.headers["retry-after"] == "1"
    for path in ("/livez", "/readyz", "/metrics", "/docs"):
        assert (await setup.client.get(path, headers={"x-api-key": setup.greedy})).status_code == 200, path
    assert (await setup.client.get("/tenants", headers={"x-api-key": setup.greedy})).status_code == 429
    assert (await setup.client.post("/predict", json=ASKED, headers={"x-api-key": setup.other})).status_code == 200
    assert setup.requests.shed["key_concurrency"] == 2
    released.set()
    await asyncio.gather(*held)
    assert setup.requests.in_progress_by_key == {}
    assert (await setup.client.post("/predict", json=ASKED, headers={"x-api-key": setup.greedy})).status_code == 200


async def test_every_outcome_of_a_request_gives_its_place_back(setup: Setup) -> None:
    own = {"x-api-key": setup.greedy}
    bodies = [b"{", b"null", b'{"tenant":"acme","features":{}}', b'{"tenant":"acme","features":{"a":1}}']
    for path, body in [(path, body) for path in ("/predict", "/feedback", "/none") for body in bodies]:
        for _ in repeat(None, SHARE + 1):
            assert (await setup.client.post(path, content=body, headers=own)).status_code != 429
    for _ in repeat(None, SHARE + 1):
        gone = await exchange(setup.app, "/predict", [b"{"], [(b"x-api-key", setup.greedy.encode())], disconnect=True)
        assert gone.messages == []
    assert setup.requests.in_progress_by_key == {}


async def test_a_cancelled_request_gives_its_place_back(setup: Setup) -> None:
    held = asyncio.create_task(unfinished(setup.app, setup.greedy, asyncio.Event(), goes=True))
    await asyncio.sleep(0)
    assert list(setup.requests.in_progress_by_key.values()) == [1]
    held.cancel()
    await held
    assert setup.requests.in_progress_by_key == {}
