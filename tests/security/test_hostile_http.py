"""A real service refuses invalid and ambiguous HTTP, or closes the connection; it never reads two requests from one."""

import pytest

from tests.security.raw_http import GOOD, JSON_TYPE, assert_handled, assert_refused, post, request, send

pytestmark = pytest.mark.timeout(120)
HEAD = b"POST /predict HTTP/1.1\r\nhost: sluice\r\n"
HIDDEN = b"GET /tenants HTTP/1.1\r\nhost: sluice\r\nconnection: close\r\n\r\n"
LENGTH = b"content-length: %d\r\n" % len(GOOD)
CHUNKED = b"transfer-encoding: chunked\r\n"
BODY = b"%x\r\n%b\r\n0\r\n\r\n" % (len(GOOD), GOOD)

SMUGGLED = {
    "two lengths": LENGTH + b"content-length: 0\r\n\r\n" + GOOD,
    "the same length twice": LENGTH + LENGTH + b"\r\n" + GOOD,
    "a list of lengths": b"content-length: 0, %d\r\n\r\n" % len(GOOD) + GOOD,
    "a length and chunks": LENGTH + CHUNKED + b"\r\n0\r\n\r\n",
    "chunks and a length": CHUNKED + LENGTH + b"\r\n0\r\n\r\n",
    "chunks twice": CHUNKED + CHUNKED + b"\r\n" + BODY,
    "chunks that are not the last coding": b"transfer-encoding: chunked, identity\r\n\r\n" + BODY,
    "another coding": b"transfer-encoding: xchunked\r\n\r\n" + BODY,
    "a blank before the colon": b"content-length : %d\r\n\r\n" % len(GOOD) + GOOD,
    "a blank before chunked": b"transfer-encoding:\x0bchunked\r\n\r\n" + BODY,
    "a tab in the name": b"transfer-encoding\t: chunked\r\n\r\n" + BODY,
    "a folded coding": b"transfer-encoding:\r\n chunked\r\n\r\n" + BODY,
    "a folded line": b"x: y\r\n transfer-encoding: chunked\r\n\r\n" + BODY,
    "a bare carriage return": b"x: y\rtransfer-encoding: chunked\r\n\r\n" + BODY,
    "a bare newline": b"x: y\ntransfer-encoding: chunked\r\n\r\n" + BODY,
    "a NUL": b"x: y\0z\r\n" + LENGTH + b"\r\n" + GOOD,
    "a negative length": b"content-length: -1\r\n\r\n" + GOOD,
    "a signed length": b"content-length: +%d\r\n\r\n" % len(GOOD) + GOOD,
    "a length in hexadecimal": b"content-length: 0x21\r\n\r\n" + GOOD,
    "an empty length": b"content-length:\r\n\r\n" + GOOD,
    "a length beyond 64 bits": b"content-length: %b\r\n\r\n" % (30 * b"9") + GOOD,
    "a length in other digits": "content-length: \u0661\r\n\r\n".encode() + GOOD,
    "a chunk without a size": CHUNKED + b"\r\n\r\n" + GOOD,
    "a negative chunk": CHUNKED + b"\r\n-1\r\n" + GOOD,
    "a chunk beyond 64 bits": CHUNKED + b"\r\nfffffffffffffffff\r\n" + GOOD,
    "a chunk in 0x": CHUNKED + b"\r\n0x1\r\na\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"\r\n1\r\n" + GOOD + b"\r\n0\r\n\r\n",
    "a chunk that ends in a bare newline": CHUNKED + b"\r\n1\n{\n0\n\n",
}


@pytest.mark.parametrize("rest", SMUGGLED.values(), ids=SMUGGLED)
def test_an_ambiguous_request_is_refused_and_nothing_after_it_is_read(port: int, rest: bytes) -> None:
    answer = send(port, HEAD + rest + HIDDEN, ends=True)
    assert_refused(answer, 0, 400)
    assert answer.status == 0 or answer.problem["type"] == "/problems/invalid-http"
    assert b'"tenants"' not in answer.body


INVALID_HTTP = {
    "all bytes": bytes(range(256)) * 16,
    "NULs": 10_000 * b"\0",
    "newlines": 100_000 * b"\r\n" + b"x",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + 500 * b"\0",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + 9 * b"\0",
    "HTTP/9": b"GET /livez HTTP/9.9\r\n\r\n",
    "no version": b"GET /livez HTTP/\r\n\r\n",
    "an answer": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "Redis": b"*1\r\n$8\r\nFLUSHALL\r\n",
    "SMTP": b"EHLO example.org\r\n",
    "SSH": b"SSH-2.0-OpenSSH_9.0\r\n",
    "an unknown method": b"STEAL /livez HTTP/1.1\r\nhost: x\r\n\r\n",
    "a method in lower case": b"get /livez HTTP/1.1\r\nhost: x\r\n\r\n",
    "no target": b"GET HTTP/1.1\r\nhost: x\r\n\r\n",
    "a target of bytes": b"GET /\xff\xfe HTTP/1.1\r\nhost: x\r\n\r\n",
    "a target with a NUL": b"GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n",
    "an absolute target without a path": b"GET http://evil.example HTTP/1.1\r\nhost: x\r\n\r\n",
    "a tunnel": b"CONNECT 127.0.0.1:6379 HTTP/1.1\r\nhost: x\r\n\r\n",
    "a header without a name": b"GET /livez HTTP/1.1\r\n: x\r\n\r\n",
    "a header without a colon": b"GET /livez HTTP/1.1\r\nhost\r\n\r\n",
    "a header of bytes": b"GET /livez HTTP/1.1\r\n\xff\xfe: x\r\n\r\n",
}


WRONG_HOSTS = {
    "none": [],
    "two": [b"sluice", b"evil.example"],
    "the same twice": [b"sluice", b"sluice"],
    "a list": [b"sluice, evil.example"],
    "a list without a blank": [b"sluice,evil.example"],
    "a blank": [b"sluice evil.example"],
    "a tab": [b"sluice\tevil.example"],
    "a path": [b"sluice/evil"],
    "a user": [b"sluice@evil.example"],
    "a control character": [b"sluice\x01"],
    "other letters": ["slüice".encode()],
    "a port that is not a number": [b"sluice:http"],
    "an open bracket": [b"[::1"],
}


@pytest.mark.parametrize("hosts", WRONG_HOSTS.values(), ids=WRONG_HOSTS)
@pytest.mark.parametrize("path", [b"/livez", b"/predict"])
def test_a_missing_double_or_invalid_host_is_refused_and_the_connection_closed(
    port: int, path: bytes, hosts: list[bytes]
) -> None:
    lines = [b"POST %b HTTP/1.1" % path, JSON_TYPE, *(b"Host: " + host for host in hosts), LENGTH.strip()]
    answer = send(port, b"\r\n".join(lines) + b"\r\n\r\n" + GOOD + HIDDEN)  # it closes, though nothing asks it to
    assert_refused(answer, 400)
    assert answer.problem["type"] == "/problems/invalid-http"
    assert b"connection: close" in answer.head
    assert b'"tenants"' not in answer.body


@pytest.mark.parametrize(
    "host", [b"", b"sluice", b"sluice:8000", b"127.0.0.1:8000", b"[::1]:8000", b"a_b.example.org", b"x:"]
)
def test_a_valid_host_is_accepted(port: int, host: bytes) -> None:
    asked = b"GET /livez HTTP/1.1\r\nhost: %b\r\nconnection: close\r\n\r\n" % host
    assert send(port, asked).status == 200


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"deflate,chunked", b"identity, chunked", b"chunked, chunked"])
def test_another_transfer_coding_is_refused(port: int, coding: bytes) -> None:
    head = b"connection: close\r\ncontent-type: application/json\r\ntransfer-encoding: %b\r\n\r\n" % coding
    assert_refused(send(port, HEAD + head + BODY), 0, 400, 415)


@pytest.mark.parametrize("sent", INVALID_HTTP.values(), ids=INVALID_HTTP)
def test_invalid_http_is_refused(port: int, sent: bytes) -> None:
    answer = send(port, sent, ends=True)
    assert_refused(answer, 0, 400, 431)
    assert answer.status == 0 or answer.problem["type"] in {"/problems/invalid-http", "/problems/head-too-large"}


@pytest.mark.parametrize("method", ["TRACE", "PROPFIND", "LOCK", "PATCH", "LINK", "PURGE", "REPORT", "QUERY", "SEARCH"])
@pytest.mark.parametrize("route", ["/predict", "/tenants", "/tenants/good", "/metrics", "/docs", "/docs/assets/x"])
def test_an_unsupported_method_is_refused(port: int, method: str, route: str) -> None:
    answer = send(port, request(route.encode(), GOOD, JSON_TYPE, method=method.encode()))
    assert_refused(answer, 400, 405)
    assert GOOD not in answer.body, "nothing is echoed"


@pytest.mark.parametrize(
    "path",
    [
        "../etc/passwd", "..%2f..%2fetc/passwd", "%2e%2e/%2e%2e/etc/passwd", "..%5c..%5cx", "//etc/passwd", ".%00./x",
        "%2fetc%2fpasswd", "%00", "%ff%fe", "....//....//etc/passwd", 5_000 * "a", "swagger-ui.css/../../__init__.py",
        "", ".", "~root",
    ],
    ids=lambda path: path[:30],
)  # fmt: skip
@pytest.mark.parametrize("folder", ["/docs/assets/", "/problems/", "/"])
def test_no_path_reaches_other_files(port: int, folder: str, path: str) -> None:
    answer = send(port, request((folder + path).encode(), method=b"GET"))
    assert b"root:" not in answer.body
    if folder + path not in {"/", "/problems/"}:
        assert_refused(answer)


def test_an_absolute_target_is_answered_by_this_service(port: int) -> None:
    answer = send(port, request(b"http://evil.example/livez", method=b"GET"))
    assert (answer.status, answer.body) == (200, b'{"status":"alive"}')


def test_a_protocol_upgrade_is_refused(port: int) -> None:
    upgrade = (b"connection: upgrade, close", b"upgrade: websocket", b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==")
    assert send(port, request(b"/livez", b"", *upgrade, method=b"GET")).status != 101


@pytest.mark.parametrize("version", [b" HTTP/1.0", b""])
def test_an_http_1_0_request_is_answered_and_the_connection_closed(port: int, version: bytes) -> None:
    assert_handled(send(port, b"GET /livez%b\r\n\r\n" % version, ends=True))


def test_an_http_1_0_request_without_a_length_has_no_body(port: int) -> None:
    assert_refused(send(port, b"POST /predict HTTP/1.0\r\n\r\n" + GOOD, ends=True))


@pytest.mark.parametrize("size", [10_000, 1_000_000])
@pytest.mark.parametrize("where", ["/%b", "/tenants/%b", "/tenants?after=%b", "/tenants?%b=1", "/problems/%b"])
def test_a_huge_target_is_refused(port: int, where: str, size: int) -> None:
    assert_refused(send(port, request(where.encode() % (size * b"a"), method=b"GET")))


@pytest.mark.parametrize(
    "name", [b"cookie", b"idempotency-key", b"traceparent", b"content-type", b"x-request-id", b"host"]
)
def test_a_huge_header_is_refused_or_ignored(port: int, name: bytes) -> None:
    assert_handled(send(port, post("/predict", GOOD, name + b": " + 60_000 * b"a")))


@pytest.mark.parametrize("value", [b"", b"\xff", b"a\tb", 201 * b"x", b"\x80" * 50])
def test_a_hostile_idempotency_key_is_refused(port: int, value: bytes) -> None:
    body = b'{"tenant":"good","features":{"a":1},"label":1}'
    assert_handled(send(port, post("/feedback", body, JSON_TYPE, b"idempotency-key: " + value)))


def test_many_requests_on_one_connection_are_answered_in_order(port: int) -> None:
    once = b"GET /livez HTTP/1.1\r\nhost: sluice\r\nx-request-id: %d\r\n\r\n"
    answer = send(port, b"".join(once % number for number in range(80)) + request(b"/livez", method=b"GET"))
    whole = answer.head + b"\r\n" + answer.body
    places = [whole.index(b"x-request-id: %d\r" % number) for number in range(80)]
    assert places == sorted(places)
