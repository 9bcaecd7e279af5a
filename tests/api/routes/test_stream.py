"""Batches as NDJSON."""

import asyncio
from typing import Any

import msgspec
import pytest
from starlette.types import Message

from tests.api.conftest import Service
from tests.api.exchanges import exchange

pytestmark = pytest.mark.anyio
LINES = [(b"content-type", b"application/x-ndjson")]


def lines(*items: Any) -> bytes:  # noqa: ANN401 - any JSON
    return msgspec.json.Encoder().encode_lines(items)


def predicting(name: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    return {"tenant": "acme", "features": {name: 1}, "explain": 1} | more


def giving(name: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    return {"tenant": "acme", "features": {name: 1}, "label": 1} | more


async def test_every_line_in_is_a_line_out_in_order(service: Service) -> None:
    await service.client.post("/feedback/batch", json={"tenant": "acme", "items": [
        {"features": {f"f{i}": 1}, "label": 1 if i % 2 else -1} for i in range(20)]})  # fmt: skip
    sent = await exchange(service.app, "/predict/batch", [lines(*(predicting(f"f{i}") for i in range(20)))], LINES)
    assert sent.status == 200
    assert (b"content-type", b"application/x-ndjson") in sent.messages[0]["headers"]
    assert [line["explanation"][0]["feature"] for line in sent.lines()] == [f"f{i}" for i in range(20)]


@pytest.mark.parametrize("size", [1, 10, 100, 100_000])
@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_where_chunks_end_makes_no_difference(service: Service, route: str, size: int) -> None:
    items = [predicting(f"f{i}") if route == "/predict/batch" else giving(f"f{i}") for i in range(12)]
    body = b"\n\r\n" + lines(*items) + b"  \n" + lines(items[0]).strip()
    chunks = [body[i : i + size] for i in range(0, len(body), size)]
    sent = await exchange(service.app, route, chunks, LINES)
    assert len(sent.lines()) == 13
    assert not [line for line in sent.lines() if "error" in line]


async def test_an_empty_body_is_an_empty_answer(service: Service) -> None:
    sent = await exchange(service.app, "/predict/batch", [], LINES)
    assert (sent.status, sent.body) == (200, b"")


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_a_bad_line_gets_an_error_in_its_place(service: Service, route: str) -> None:
    good = lines(predicting("a") if route == "/predict/batch" else giving("a"))
    bad = [b"nonsense\n", b"\xff\n", b"[]\n", lines({"tenant": "acme"}), lines({"features": {"a": 1}, "label": 1}),
           b'{"tenant":"' + b"x" * 2000 + b'"}\n', lines({"tenant": "no name", "features": {"a": 1}, "label": 1} if
           route == "/feedback/batch" else {"tenant": "no name", "features": {"a": 1}})]  # fmt: skip
    sent = await exchange(service.app, route, [good + b"".join(each + good for each in bad)], LINES)
    assert [line.get("error", {}).get("status") for line in sent.lines()] == [
        None, 422, None, 422, None, 422, None, 422, None, 422, None, 413, None, 422, None,
    ]  # fmt: skip


async def test_a_huge_line_is_refused_and_the_stream_continues(service: Service) -> None:
    chunks = [lines(predicting("a")), b'{"tenant":"', *[b"x" * 60_000] * 50, b'"}\n' + lines(predicting("b"))]
    sent = await exchange(service.app, "/predict/batch", chunks, LINES)
    first, long, last = sent.lines()
    assert (first["label"], last["label"]) == (-1, -1)
    assert "the line is too long; the limit is 1,000 bytes (SLUICE_MAX_LINE_BYTES)" in long["error"]["detail"]


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_the_query_may_name_the_tenant_of_all_lines(service: Service, route: str) -> None:
    label = {"label": 1} if route == "/feedback/batch" else {}
    items = [{"features": {"a": 1}} | label, {"tenant": "acme", "features": {"a": 1}} | label,
             {"tenant": "other", "features": {"a": 1}} | label]  # fmt: skip
    sent = await exchange(service.app, route, [lines(*items)], LINES, query=b"tenant=acme")
    assert [line.get("error", {}).get("status") for line in sent.lines()] == [None, None, 422]
    assert service.tenants.tenants.keys() == {"acme"}


@pytest.mark.parametrize("query", [b"tenant=..", b"tenant=", b"tenannt=acme", b"tenant=a&tenant=a", b"tenant=%ff"])
async def test_a_query_that_makes_no_sense_is_refused_before_the_stream(service: Service, query: bytes) -> None:
    sent = await exchange(service.app, "/predict/batch", [lines(predicting("a"))], LINES, query=query)
    assert sent.status == 422


async def test_feedback_that_arrives_together_is_given_together_for_each_tenant(service: Service) -> None:
    items = [giving("a", tenant=f"t{i % 3}", feedback_id=f"f{i}") for i in range(600)]
    sent = await exchange(service.app, "/feedback/batch", [lines(*items)], LINES)
    assert [line["feedback_id"] for line in sent.lines()] == [f"f{i}" for i in range(600)]
    assert [line["tenant"] for line in sent.lines()] == [f"t{i % 3}" for i in range(600)]
    assert sorted(service.tenants.feedback_writer.calls) == sorted([86, 85, 85, 86, 85, 85, 30, 29, 29])


async def test_feedback_of_one_tenant_is_learnt_in_order(service: Service) -> None:
    sent = await exchange(service.app, "/feedback/batch", [lines(*(giving(f"f{i}") for i in range(300)))], LINES)
    assert [line["version"] for line in sent.lines()] == list(range(1, 301))


async def test_lines_may_name_predictions(service: Service) -> None:
    kept = await exchange(service.app, "/predict/batch", [lines(predicting("a"), predicting("b"))], LINES)
    ids = [line["prediction_id"] for line in kept.lines()]
    given = [{"tenant": "acme", "prediction_id": each, "label": 1} for each in (ids[1], "gone", ids[0])]
    sent = await exchange(service.app, "/feedback/batch", [lines(*given)], LINES)
    assert [line.get("error", {}).get("status") for line in sent.lines()] == [None, 410, None]
    assert [list(each.example.names) for each in service.tenants.feedback_writer.received] == [["b"], ["a"]]


async def test_lines_that_cannot_be_logged_get_503_and_the_stream_continues(service: Service) -> None:
    await service.client.put("/tenants/acme")
    chunks = [lines(giving("a")), lines(giving("b"), giving("c")), lines(giving("d"))]
    answered = [[None], [503, 503], [None]]
    seen: list[list[int | None]] = []

    async def receive() -> Message:
        at = len(seen)
        service.tenants.trouble = "Redis is down" if at == 1 else None
        return {"type": "http.request", "body": chunks[at], "more_body": at < 2}

    async def send(message: Message) -> None:
        if message.get("body"):
            found = [msgspec.json.decode(line) for line in message["body"].splitlines()]
            seen.append([line.get("error", {}).get("status") for line in found])

    scope = {"type": "http", "method": "POST", "path": "/feedback/batch", "query_string": b"", "headers": LINES}
    await service.app(scope, receive, send)
    assert seen == answered
    assert service.tenants.tenants["acme"].state.version == 2


async def test_a_line_is_answered_before_the_next_one_arrives(service: Service) -> None:
    """A client that waits for each answer gets it, and the service reads no further than the client has sent."""
    answered = 0
    asked_for: list[int] = []

    async def receive() -> Message:
        asked_for.append(answered)
        return {"type": "http.request", "body": lines(predicting("a")), "more_body": len(asked_for) < 5}

    async def send(message: Message) -> None:
        nonlocal answered
        answered += message.get("body", b"").count(b"\n")

    scope = {"type": "http", "method": "POST", "path": "/predict/batch", "query_string": b"", "headers": LINES}
    await service.app(scope, receive, send)
    assert asked_for == [0, 1, 2, 3, 4]


async def test_nothing_is_read_while_the_client_does_not_read(service: Service) -> None:
    taken = asyncio.Event()
    reads = 0

    async def receive() -> Message:
        nonlocal reads
        reads += 1
        return {"type": "http.request", "body": lines(predicting("a")), "more_body": reads < 4}

    async def send(message: Message) -> None:
        if message.get("body"):
            await taken.wait()

    scope = {"type": "http", "method": "POST", "path": "/predict/batch", "query_string": b"", "headers": LINES}
    serving = asyncio.create_task(service.app(scope, receive, send))
    await asyncio.sleep(0.05)
    held_back = reads
    taken.set()
    await serving
    assert (held_back, reads) == (1, 4)


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_work_stops_when_the_client_disconnects(service: Service, route: str) -> None:
    item = predicting("a") if route == "/predict/batch" else giving("a")
    sent = await exchange(service.app, route, [lines(item), lines(item)[:-9]], LINES, disconnect=True)
    assert len(sent.lines()) == 1
    assert sent.messages[-1].get("more_body") is True  # the answer was not brought to its end


async def test_an_internal_error_is_the_answer_to_its_line_and_is_logged(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.tenants.broken = RuntimeError("secret")
    for route, item in (("/predict/batch", predicting("a")), ("/feedback/batch", giving("a"))):
        sent = await exchange(service.app, route, [lines(item)], LINES)
        assert sent.lines()[0]["error"]["status"] == 500
        assert b"secret" not in sent.body
    assert "secret" in caplog.text
