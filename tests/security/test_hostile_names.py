"""Hostile names of tenants and ids, which become part of Redis keys, paths, metric labels and log lines."""

import json

import pytest

from tests.security.raw_http import LINES_TYPE, assert_refused, post, request, send
from tests.services import Service

pytestmark = pytest.mark.timeout(120)
TENANTS = [
    "", " ", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "a{b}:c", "{s00}", "*", "?", "[a-z]", "a:log", "-x", "_x",
    ".x", "a b", "a\tb", "a\nb", "a\r\nb", "a\0", "a\0b", "%2e%2e", "%00", "a%0d%0aset-cookie:x", "\u0430cme",
    "acm\u0435", "\uff41cme", "acme\u200b", "acme\u202e", "\u00e9", "e\u0301", "K\u212a", "\uff11", 129 * "a",
    1_000_000 * "a", "$(id)", "a;b", "'", '"', "<script>", "__proto__\u0000", "a=b", "a,b", "a|b", "a@b", "a#b", "a+b",
]  # fmt: skip


@pytest.mark.parametrize("tenant", TENANTS, ids=lambda tenant: ascii(tenant)[:40])
def test_a_hostile_tenant_name_is_refused_by_every_route(port: int, tenant: str) -> None:
    name = json.dumps(tenant).encode()
    assert_refused(send(port, post("/predict", b'{"tenant":%b,"features":{"a":1}}' % name)), 422)
    assert_refused(send(port, post("/feedback", b'{"tenant":%b,"features":{"a":1},"label":1}' % name)), 422)
    assert_refused(send(port, post("/predict/batch", b'{"tenant":%b,"items":[]}' % name)), 422)
    lines = send(port, post("/predict/batch", b'{"tenant":%b,"features":{"a":1}}' % name, LINES_TYPE))
    assert b'"status":422' in lines.body
    assert_refused(send(port, post("/features", b'{"tenant":%b,"features":{"a":1}}' % name)), 404, 422)


def test_no_tenant_has_a_hostile_name(service: Service, port: int) -> None:
    assert port
    names = [each["tenant"] for each in service.request("GET", "/tenants?limit=1000").json()["tenants"]]
    assert not set(names) & set(TENANTS)


@pytest.mark.parametrize("field", ["feedback_id", "moderator", "prediction_id"])
@pytest.mark.parametrize(
    "value", ["", "a\0b", "a\nb", "a\x7f", "\x1b[2J", "x" * 201, 1_000_000 * "x"], ids=lambda x: ascii(x)[:20]
)
def test_a_hostile_id_is_refused(port: int, field: str, value: str) -> None:
    body: dict[str, object] = {"tenant": "good", "label": 1, field: value}
    if field != "prediction_id":
        body["features"] = {"a": 1}
    assert_refused(send(port, post("/feedback", json.dumps(body).encode())), 422)


@pytest.mark.parametrize(
    "value", ["../../x", "*", "a{b}:c", "x" * 200, "1-1-1-1", "\u202e", "0-0", "18446744073709551616-0"]
)
def test_an_unknown_prediction_id_has_expired_or_is_refused(port: int, value: str) -> None:
    body = json.dumps({"tenant": "good", "label": 1, "prediction_id": value}).encode()
    assert_refused(send(port, post("/feedback", body)), 410, 422)


@pytest.mark.parametrize(
    "tenant", ["..%2fx", "%2e%2e", "a%00", "a%0a", "%ff", "*", "a%7bb%7d", "a%2fb", "%20", "a" * 129, "%d0%b0"]
)
@pytest.mark.parametrize("method", [b"GET", b"PUT", b"DELETE", b"HEAD"])
def test_a_hostile_name_in_a_path_is_refused(port: int, method: bytes, tenant: str) -> None:
    answer = send(port, request(b"/tenants/" + tenant.encode(), method=method))
    assert answer.status in {404, 405, 422}


@pytest.mark.parametrize(
    "query",
    [
        "after=../x", "after=%00", "after=%ff", "limit=0", "limit=-1", "limit=1e9", "limit=%D9%A1", "limit=1&limit=2",
        "x=1", "limit=" + 300 * "9", "&".join(500 * ["limit=1"]), "after=" + 30_000 * "a", "%", "limit", "=", ";x",
    ],
    ids=lambda query: query[:20],
)  # fmt: skip
def test_a_hostile_query_is_refused(port: int, query: str) -> None:
    answer = send(port, request(b"/tenants?" + query.encode(), method=b"GET"))
    assert_refused(answer, 400, 414, 422, 431)
    assert_refused(send(port, post("/tenants/x/import?replace=yes&" + query, b"")))


@pytest.mark.parametrize(
    "value", [b"a b", b'"x"', b"<x>", b"x\ty", b"\xff", 129 * b"x", b"", b"{jndi:ldap://x}", b"%0d%0ax: y"]
)
def test_a_hostile_request_id_is_not_echoed(port: int, value: bytes) -> None:
    answer = send(port, request(b"/nothing", b"", b"x-request-id: " + value))
    assert_refused(answer, 404)
    assert value == b"" or value not in answer.head
    assert b"x-request-id: " + answer.problem["request_id"].encode() in answer.head


def test_a_request_id_cannot_inject_a_header(port: int) -> None:
    for value in (b"a\rset-cookie: x", b"a\nset-cookie: x", b"a\0b"):
        answer = send(port, request(b"/nothing", b"", b"x-request-id: " + value))
        assert b"set-cookie" not in answer.head.partition(b"\r\n")[2].replace(b"a set-cookie", b"")
        assert_refused(answer)
