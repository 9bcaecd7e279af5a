"""What every request gets: an id, problems instead of exceptions, the allowed methods."""

import logging
import re
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.errors import ClientGone
from tests.api.conftest import Service, around

pytestmark = pytest.mark.anyio
PROBLEM = {"type", "title", "status", "detail", "request_id", "instance"}


async def test_a_client_s_request_id_is_repeated(service: Service) -> None:
    answer = await service.client.get("/livez", headers={"X-Request-ID": "trace-1:a/b=="})
    assert answer.headers["x-request-id"] == "trace-1:a/b=="


@pytest.mark.parametrize("unsafe", ["", "a b", "x" * 129, "a\tb", "<script>", 'a"b', "ä"])
async def test_an_unsafe_request_id_is_replaced(service: Service, unsafe: str) -> None:
    answer = await service.client.get("/livez", headers={b"X-Request-ID": unsafe.encode()})
    assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]+", answer.headers["x-request-id"])


async def test_made_request_ids_differ(service: Service) -> None:
    ids = {(await service.client.get("/livez")).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


async def test_two_processes_make_different_ids() -> None:
    first, second = (around(nothing).id_for({"headers": []}) for _ in range(2))
    assert first != second


async def test_a_problem_has_all_its_fields_and_the_request_id(service: Service) -> None:
    answer = await service.client.get("/nowhere", headers={"X-Request-ID": "r-1"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "/problems/unknown-route", "title": "Route not found", "status": 404,
        "detail": "no route matches /nowhere", "request_id": "r-1", "instance": "/nowhere",
    }  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/predict/", "/tenants/", "/tenants/a/b", "/docs/assets/../application.py", "/docs//"]
)
async def test_an_unknown_path_gets_a_problem_not_a_redirect(service: Service, path: str) -> None:
    answer = await service.client.get(path)
    assert answer.status_code == 404
    assert answer.json().keys() == PROBLEM


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/predict", "OPTIONS, POST"),
        ("PUT", "/predict", "OPTIONS, POST"),
        ("POST", "/tenants/acme", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("PATCH", "/tenants/acme", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("HEAD", "/feedback", "OPTIONS, POST"),
        ("TRACE", "/livez", "GET, HEAD, OPTIONS"),
        ("QUERY", "/tenants", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_gets_the_allowed_ones(service: Service, method: str, path: str, allowed: str) -> None:
    answer = await service.client.request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
    if method != "HEAD":
        assert answer.json()["type"] == "/problems/method-not-allowed"


async def test_options_lists_the_methods(service: Service) -> None:
    answer = await service.client.options("/tenants/acme")
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PUT"


async def test_head_answers_as_get_does(service: Service) -> None:
    await service.client.put("/tenants/acme")
    get, head = await service.client.get("/tenants/acme"), await service.client.head("/tenants/acme")
    assert (head.status_code, head.headers["content-length"]) == (200, get.headers["content-length"])
    assert (await service.client.head("/tenants/none")).status_code == 404


async def test_an_internal_error_is_logged_and_not_revealed(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    service.tenants.broken = RuntimeError("secret of the house")
    answer = await service.client.post(
        "/predict", json={"tenant": "acme", "features": {"a": 1}}, headers={"X-Request-ID": "r-2"}
    )
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal-error")
    assert "secret" not in answer.text
    assert "request r-2 failed" in caplog.text
    assert "secret of the house" in caplog.text


async def test_an_interrupted_answer_is_recognised_as_incomplete(caplog: pytest.LogCaptureFixture) -> None:
    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("half way")

    with caplog.at_level(logging.ERROR), pytest.raises(RuntimeError, match="half way"):
        await messages(around(breaks))
    assert "failed while it was being answered" in caplog.text


async def test_a_disconnected_client_gets_no_answer() -> None:
    async def gone(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
        raise ClientGone

    assert await messages(around(gone)) == []


async def nothing(scope: Scope, receive: Receive, send: Send) -> None: ...


async def messages(app: ASGIApp, **scope: Any) -> list[Message]:  # noqa: ANN401
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app({"type": "http", "method": "POST", "path": "/", "headers": []} | scope, receive, send)
    return sent
