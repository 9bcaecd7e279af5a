"""Bodies that are too large, of the wrong type, or not JSON."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from tests.api.conftest import Service
from tests.api.exchanges import exchange

pytestmark = pytest.mark.anyio
JSON_ROUTES = ["/predict", "/feedback", "/predict/batch", "/feedback/batch"]


@pytest.mark.parametrize("route", JSON_ROUTES)
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_another_type_is_refused(service: Service, route: str, content_type: str) -> None:
    answer = await service.client.post(route, content=b"{}", headers={"content-type": content_type})
    assert (answer.status_code, answer.json()["type"]) == (415, "/problems/wrong-content-type")
    assert "application/json" in answer.json()["detail"]


async def test_another_charset_is_refused(service: Service) -> None:
    headers = {"content-type": "application/json; charset=latin-1"}
    assert (await service.client.post("/predict", content=b"{}", headers=headers)).status_code == 415


@pytest.mark.parametrize("route", ["/predict", "/predict/batch", "/tenants/acme/import"])
async def test_a_compressed_body_is_refused(service: Service, route: str) -> None:
    kinds = {"/predict/batch": "application/x-ndjson", "/tenants/acme/import": "application/octet-stream"}
    headers = {"content-encoding": "gzip", "content-type": kinds.get(route, "application/json")}
    answer = await service.client.post(route, content=b"\x1f\x8b", headers=headers)
    assert answer.status_code == 415
    assert "gzip" in answer.json()["detail"]


async def test_lines_are_only_read_where_there_are_many(service: Service) -> None:
    headers = {"content-type": "application/x-ndjson"}
    assert (await service.client.post("/predict", content=b"{}", headers=headers)).status_code == 415


@pytest.mark.parametrize("route", JSON_ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"", b"   ", b"{", b'{"tenant":"acme"', b"nonsense", b"{}{}", b'{"tenant":"a\xff"}', b"\xff\xfe{\x00}\x00",
        b'{"tenant":"\\ud800"}', b"{'tenant':'acme'}", b'{"tenant":"acme",}', b'{"a":' * 100_000,
    ],
    ids=range(12),
)  # fmt: skip
async def test_what_is_not_json_is_refused(service: Service, route: str, body: bytes) -> None:
    body = body[:19_999]
    answer = await service.client.post(route, content=body)
    assert answer.status_code == 422
    assert answer.json()["detail"]


@pytest.mark.parametrize("field", ["features", "tenant", "items", "unknown"])
@pytest.mark.parametrize("route", [*JSON_ROUTES])
async def test_deep_nesting_is_refused(service: Service, route: str, field: str) -> None:
    body = b'{"tenant":"acme","label":1,"%b":%b1%b}' % (field.encode(), b"[" * 9000, b"]" * 9000)
    assert (await service.client.post(route, content=body)).status_code == 422


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
async def test_deep_nesting_in_an_item_is_refused(service: Service, route: str) -> None:
    body = b'{"tenant":"acme","items":[{"features":{"a":%b1%b},"label":1}]}' % (b"[" * 9000, b"]" * 9000)
    answer = (await service.client.post(route, content=body)).json()
    # As a whole, or in its place: how deep the decoder goes depends on the version of Python.
    assert answer.get("status", 0) == 422 or [each["error"]["status"] for each in answer["results"]] == [422]


async def test_malformed_json_is_refused_with_its_place(service: Service) -> None:
    answer = await service.client.post("/predict", content=b'{"tenant": acme}')
    assert answer.json()["type"] == "/problems/malformed-json"
    assert "byte 11" in answer.json()["detail"]


async def test_a_declared_length_beyond_the_limit_is_refused_before_reading(service: Service) -> None:
    sent = await exchange(service.app, "/predict", [], [(b"content-length", b"20001")])
    assert sent.status == 413
    assert sent.received == 0
    assert "20,001 bytes; the limit is 20,000 bytes (SLUICE_MAX_BODY_BYTES)" in sent.json()["detail"]


async def test_a_body_without_a_length_is_refused_when_it_grows_beyond_the_limit(service: Service) -> None:
    sent = await exchange(service.app, "/predict", [b"x" * 8000] * 100)
    assert sent.status == 413
    assert sent.received == 3  # 24,000 bytes; the rest was never read


async def test_a_body_may_arrive_in_chunks(service: Service) -> None:
    body = msgspec.json.encode({"tenant": "acme", "features": {"a": 1}})
    sent = await exchange(service.app, "/predict", [body[i : i + 7] for i in range(0, len(body), 7)])
    assert sent.status == 200


async def test_a_client_that_leaves_while_sending_gets_no_answer(service: Service) -> None:
    sent = await exchange(service.app, "/predict", [b'{"tenant":'], disconnect=True)
    assert sent.messages == []


async def test_a_body_at_the_limit_is_read(service: Service) -> None:
    body = msgspec.json.encode({"tenant": "acme", "features": {"a": 1}}).ljust(20_000)
    assert (await service.client.post("/predict", content=body)).status_code == 200
    assert (await service.client.post("/predict", content=body + b" ")).status_code == 413


async def test_a_chunked_body_beyond_the_limit_is_refused(service: Service) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield b" " * 5000

    assert (await service.client.post("/predict", content=body())).status_code == 413
