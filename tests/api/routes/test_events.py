"""GET /tenants/{tenant}/events: an event at once, one for each change, and an end when there is nobody to tell."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import Message

from app.api.context import CONTEXT, RequestContext
from app.api.middleware.event_streams import EventStreams
from app.api.routes.review import events
from app.auth.authenticator import Authenticator
from app.auth.keyring import Keyring
from app.telemetry.counters import Requests
from tests.api.conftest import Service, new_app, new_backend
from tests.api.fakes import FakeTenants
from tests.api.test_authorisation import MemoryKeys

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(30)]
PATH = "/tenants/acme/events"


class Listener:
    """A client of a stream, under a server that can stop."""

    def __init__(self) -> None:
        self.context = RequestContext()
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.sent.put(message)

    async def start(self) -> Message:
        message = await self.sent.get()
        assert message["type"] == "http.response.start"
        return message

    async def event(self) -> dict[str, Any]:
        """The data of the next event; nothing at the end of the stream."""
        message = await asyncio.wait_for(self.sent.get(), 5)
        body = message["body"].decode()
        if not body:
            assert not message.get("more_body", False)
            return {}
        found: dict[str, Any] = json.loads(body.split("event: state\ndata: ", 1)[1])
        return found


@asynccontextmanager
async def listening(app: FastAPI, path: str = PATH, **headers: str) -> AsyncIterator[Listener]:
    listener = Listener()
    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": b"", CONTEXT: listener.context,
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    task = asyncio.create_task(app(scope, listener.receive, listener.send))
    try:
        yield listener
    finally:
        listener.gone.set()
        await asyncio.wait_for(task, 5)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr("app.review.live.FRESH_SECONDS", 0.0)


async def label(service: Service, number: int = 1) -> None:
    for _ in range(number):
        answer = await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 1}, "label": 1})
        assert answer.status_code == 200


async def test_the_state_comes_at_once_and_again_when_a_label_has_come(service: Service) -> None:
    await label(service)
    async with listening(service.app) as listener:
        head = dict((await listener.start())["headers"])
        assert head[b"content-type"] == b"text/event-stream; charset=utf-8"
        assert head[b"cache-control"] == b"no-store"
        first = await listener.event()
        assert (first["tenant"], first["version"], first["counts"]["examples"]) == ("acme", 1, 1)
        assert first["queue"].keys() == {"waiting", "leased", "oldest_at", "by_reason"}
        shown = (await service.client.get("/tenants/acme")).json()
        same = first.keys() & shown.keys()
        assert {"health", "threshold", "recent", "served", "honest", "drift", "target", "rebuilding"} <= same
        assert {name: first[name] for name in same} == {name: shown[name] for name in same}
        await asyncio.sleep(0.1)
        assert listener.sent.empty(), "nothing has changed"
        await label(service, 2)
        while (await listener.event())["version"] != 3:
            pass


async def test_a_stream_begins_with_the_time_to_connect_again_and_has_heartbeats(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.05)
    await label(service)
    async with listening(service.app) as listener:
        await listener.start()
        first = (await listener.sent.get())["body"].decode()
        retry = int(first.split("\n", 1)[0].removeprefix("retry: "))
        assert 1000 <= retry <= 3000
        for _ in range(2):
            assert (await asyncio.wait_for(listener.sent.get(), 5))["body"] == b": nothing has changed\n\n"


async def test_a_limit_ends_the_stream(service: Service) -> None:
    await label(service)
    answer = await service.client.get(f"{PATH}?limit=1")
    assert answer.status_code == 200
    assert answer.text.count("event: state") == 1
    assert (await service.client.get(f"{PATH}?limit=0")).status_code == 422
    assert (await service.client.head(PATH)).headers["content-type"].startswith("text/event-stream")


async def test_a_server_that_stops_ends_the_stream_at_once(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LOOK_SECONDS", 60.0)
    await label(service)
    async with listening(service.app) as listener:
        await listener.start()
        await listener.event()
        assert listener.context.stop is not None
        listener.context.stop.set()
        assert await asyncio.wait_for(listener.event(), 1) == {}


async def test_a_deleted_tenant_ends_the_stream(service: Service) -> None:
    await label(service)
    async with listening(service.app) as listener:
        await listener.start()
        await listener.event()
        await service.client.delete("/tenants/acme")
        assert await listener.event() == {}


async def test_an_unknown_tenant_has_no_stream(service: Service) -> None:
    assert (await service.client.get("/tenants/nobody/events")).status_code == 404


async def test_a_stream_takes_no_place_from_other_requests_and_there_is_a_limit(tenants: FakeTenants) -> None:
    requests = Requests()
    app = new_app(new_backend(tenants, event_streams=EventStreams(2, requests)), requests)
    await tenants.hold("acme")
    async with listening(app) as first, listening(app) as second:
        for each in (first, second):
            await each.start()
            await each.event()
        assert (requests.event_streams, requests.in_progress) == (2, 0)
        async with listening(app) as third:
            message = await third.start()
            assert message["status"] == 503
            assert b"2 event streams, which is the limit (SLUICE_MAX" in (await third.sent.get())["body"]
    assert (requests.event_streams, requests.in_progress) == (0, 0)
    assert requests.answered["GET", "/tenants/{tenant}/events", 200] == 2
    assert requests.durations["GET", "/tenants/{tenant}/events"].total < 1.0, "the time to the head of the answer"


@pytest.mark.parametrize("ends", ["revoked", "expired"])
async def test_a_stream_ends_with_its_key(tenants: FakeTenants, ends: str) -> None:
    authenticator = Authenticator(Keyring(MemoryKeys()), "required")  # type: ignore[arg-type]
    await authenticator.read()
    key, token = await authenticator.create("", ["review"], ["acme"], None, None)
    app = new_app(new_backend(tenants, authenticator=authenticator))
    await tenants.hold("acme")
    async with listening(app, x_api_key=token) as listener:
        await listener.start()
        await listener.event()
        if ends == "revoked":
            await authenticator.revoke(key.id, None)
        else:
            await authenticator.rotate(key.id, 0, None)
        assert await listener.event() == {}
    async with listening(app, x_api_key=token) as listener:
        assert (await listener.start())["status"] == 401
