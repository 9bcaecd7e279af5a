"""A real service refuses every hostile body with a problem and continues to serve others."""

import gzip
import json
from collections.abc import Iterator

import pytest

from tests.security.raw_http import (
    BINARY_TYPE,
    GOOD,
    JSON_TYPE,
    LINES_TYPE,
    Response,
    assert_handled,
    assert_refused,
    chunked,
    post,
    request,
    send,
)

pytestmark = pytest.mark.timeout(120)
ROUTES = ["/predict", "/feedback", "/features", "/predict/batch", "/feedback/batch"]
MIB = 1 << 20
LIMIT = 32 * MIB  # of a body, as conftest.py sets it

each_route = pytest.mark.parametrize("route", ROUTES)


def predict(port: int, features: bytes, tenant: bytes = b'"good"') -> Response:
    return send(port, post("/predict", b'{"tenant":%b,"features":%b}' % (tenant, features)))


MALFORMED = {
    "nothing": b"",
    "a blank": b" \t\r\n",
    "null": b"null",
    "a number": b"12345678901234567890123456789",
    "a text": b'"tenant"',
    "a list": b"[]",
    "an open object": b"{",
    "an open text": b'{"tenant":"a',
    "an open escape": b'{"tenant":"\\',
    "half an escape": b'{"tenant":"\\u12',
    "a wrong escape": b'{"tenant":"\\x41"}',
    "single quotes": b"{'tenant':'a'}",
    "no quotes": b"{tenant:1}",
    "a comment": b'{"tenant":"a"/* */}',
    "a trailing comma": b'{"tenant":"good","features":{"a":1,}}',
    "two values": GOOD + GOOD,
    "a trailing character": GOOD + b"x",
    "a trailing NUL": GOOD + b"\0",
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "UTF-32": GOOD.decode().encode("utf-32"),
    "invalid UTF-8": b'{"tenant":"\xff\xfe","features":{"a":1}}',
    "overlong UTF-8": b'{"tenant":"\xc0\xaf","features":{"a":1}}',
    "a raw surrogate": b'{"tenant":"\xed\xa0\x80","features":{"a":1}}',
    "an escaped surrogate": b'{"tenant":"\\ud800","features":{"a":1}}',
    "surrogates in the wrong order": b'{"tenant":"\\udc00\\ud800","features":{"a":1}}',
    "a raw newline in a text": b'{"tenant":"a\nb","features":{"a":1}}',
    "a raw NUL": b'{"tenant":"a\0b","features":{"a":1}}',
    "an unknown field": b'{"tenant":"good","features":{"a":1},"__class__":"os.system"}',
    "a prototype": b'{"tenant":"good","features":{"a":1},"__proto__":{"admin":true}}',
    "YAML": b"tenant: !!python/object/apply:os.system [id]",
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    "a pickle": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00K\x01.",
    "100,000 brackets": 100_000 * b"[",
    "100,000 brackets and their ends": 100_000 * b"[" + 100_000 * b"]",
    "100,000 braces": 100_000 * b'{"a":',
    "a nested tenant": b'{"tenant":' + 100_000 * b"[" + 100_000 * b"]" + b"}",
    "a nested unknown field": b'{"x":' + 100_000 * b"[" + 100_000 * b"]" + b"}",
    "nested features": b'{"tenant":"good","features":' + 100_000 * b'{"a":' + b"1" + 100_001 * b"}",
    "nested items": b'{"tenant":"good","items":[' + 100_000 * b"[" + 100_000 * b"]" + b"]}",
}


@each_route
@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_body_is_refused(port: int, route: str, body: bytes) -> None:
    assert_refused(send(port, post(route, body)), 422)


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_malformed_settings_are_refused(port: int, body: bytes) -> None:
    answer = send(port, request(b"/tenants/settings", body, JSON_TYPE, method=b"PUT"))
    if body.strip():
        assert_refused(answer, 422)
    else:
        assert answer.status == 200, "no settings are the defaults"


NOT_FINITE = ["NaN", "nan", "-NaN", "+NaN", "Infinity", "-Infinity", "infinity", "inf", "-inf", "1e999", "-1e999"]
TOO_LARGE = ["1e309", "1.8e308", "9" * 400, "-" + "9" * 5000, "1e99999999999999999999", "1e101", "-1e101"]
INVALID_JSON = [
    "0x10",
    "1_000",
    ".5",
    "5.",
    "+1",
    "01",
    "--1",
    "1e",
    "1e+",
    "\uff11",
    "1,5",
    "null",
    "[1]",
    "{}",
    "1 2",
    "\\u0031",
]


@pytest.mark.parametrize("spelled", [*NOT_FINITE, *TOO_LARGE, *INVALID_JSON])
def test_a_value_that_is_not_a_finite_number_is_refused(port: int, spelled: str) -> None:
    assert_refused(predict(port, b'{"b":1,"a":%b}' % spelled.encode()), 422)
    line = b'{"tenant":"good","features":{"a":%b},"label":1}' % spelled.encode()
    lines = send(port, post("/feedback/batch", line + b"\n" + line[:-3] + b"1}", LINES_TYPE))
    assert lines.body.count(b'"status":422') == 2


@pytest.mark.parametrize("spelled", [*NOT_FINITE, *TOO_LARGE, *INVALID_JSON])
def test_a_setting_that_is_not_a_finite_number_is_refused(port: int, spelled: str) -> None:
    body = b'{"eta":%b}' % spelled.encode()
    assert_refused(send(port, request(b"/tenants/settings", body, JSON_TYPE, method=b"PUT")), 422)


@pytest.mark.parametrize(
    "label", [*NOT_FINITE, *INVALID_JSON, "0", "2", "-2", "1.5", "true", '"1"', "1e400", "9" * 5000]
)
def test_an_invalid_label_is_refused(port: int, label: str) -> None:
    assert_refused(
        send(port, post("/feedback", b'{"tenant":"good","features":{"a":1},"label":%b}' % label.encode())), 422
    )


@pytest.mark.parametrize("spelled", ["NaN", "Infinity", "1e999", "\\u0000"])
def test_a_text_that_looks_like_a_number_is_part_of_the_name(port: int, spelled: str) -> None:
    answer = send(port, post("/features", b'{"features":{"a":"%b"}}' % spelled.encode()))
    assert json.loads(answer.body)["features"] == {f"a={json.loads(chr(34) + spelled + chr(34))}": 1.0}


@pytest.mark.parametrize("zero", ["-0", "-0.0", "-0e0", "0e-999", "-1e-999"])
def test_a_negative_zero_is_a_zero(port: int, zero: str) -> None:
    body = b'{"tenant":"zero","features":{"a":%b,"b":1},"label":1}' % zero.encode()
    given = send(port, post("/feedback", body))
    assert given.status == 200
    weights = json.loads(send(port, request(b"/tenants/zero/weights", method=b"GET")).body)["weights"]
    assert [weight["feature"] for weight in weights] == ["b"]


FEATURES = {
    "a name twice": b'{"a":1,"a":1}',
    "a name twice, once escaped": b'{"a":1,"\\u0061":1}',
    "a text that makes a name twice": b'{"a=b":1,"a":"b"}',
    "an empty name": b'{"":1}',
    "an escaped surrogate": b'{"\\ud800":1}',
    "a surrogate in a text": b'{"a":"\\udfff"}',
    "a raw surrogate": b'{"\xed\xa0\x80":1}',
    "invalid UTF-8": b'{"\xff":1}',
    "no features": b"{}",
    "a list": b'[["a",1]]',
    "a text": b'"a"',
    "nesting": b'{"a":' + 100_000 * b"[" + 100_000 * b"]" + b"}",
}


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_invalid_features_are_refused(port: int, features: bytes) -> None:
    assert_refused(predict(port, features), 422)


def test_the_last_of_duplicate_fields_counts(port: int) -> None:
    answer = send(port, post("/predict", b'{"tenant":"first","tenant":"good","features":{"a":1}}'))
    assert json.loads(answer.body)["tenant"] == "good"
    assert b'"first"' not in send(port, request(b"/tenants", method=b"GET")).body


def test_a_feature_name_may_contain_any_character(port: int) -> None:
    names = [
        "\0",
        "a\0b",
        "\x7f\x1b[2J",
        "../../etc/passwd",
        "$(id)",
        "'; --",
        "{}:*",
        "\u202e",
        "\U0010ffff",
        70_000 * "x",
    ]
    body = json.dumps({"tenant": "names", "features": dict.fromkeys(names, 1), "label": 1}).encode()
    assert send(port, post("/feedback", body)).status == 200
    weights = json.loads(send(port, request(b"/tenants/names/weights", method=b"GET")).body)["weights"]
    assert {weight["feature"] for weight in weights} == set(names)


def test_two_million_features_are_refused(port: int) -> None:
    features = b",".join(b'"%x":1' % number for number in range(2_000_000))
    assert_refused(predict(port, b"{%b}" % features), 413)


def test_a_body_beyond_the_limit_is_refused_before_it_is_sent(port: int) -> None:
    head = b"POST /predict HTTP/1.1\r\nhost: sluice\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % (LIMIT + 1)
    assert_refused(send(port, head), 413)


def test_a_body_beyond_the_limit_is_refused_while_it_is_sent(port: int) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield MIB * b"["

    assert_refused(send(port, chunked("/predict", pieces(), JSON_TYPE)), 413)


def test_a_body_that_ends_before_its_length_is_not_answered(port: int) -> None:
    whole = post("/predict", GOOD).replace(b"content-length: %d" % len(GOOD), b"content-length: 1000")
    assert send(port, whole, ends=True).status == 0


def test_bytes_after_the_body_are_not_part_of_it(port: int) -> None:
    answer = send(port, post("/predict", GOOD) + b"GET /tenants HTTP/1.1\r\nhost: sluice\r\n\r\n")
    assert answer.status == 200
    assert b'"tenants"' not in answer.body


@pytest.mark.parametrize(
    "encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x-gzip", "GZIP", "bogus", "identity, gzip"]
)
@pytest.mark.parametrize("route", [*ROUTES, "/tenants/bomb/import"])
def test_a_compressed_body_is_refused_unread(port: int, route: str, encoding: str) -> None:
    bomb = gzip.compress(64 * MIB * b"[", 1)
    kind = BINARY_TYPE if route.endswith("import") else JSON_TYPE
    assert_refused(send(port, post(route, bomb, kind, b"content-encoding: " + encoding.encode())), 415)


@pytest.mark.parametrize(
    "kind", ["text/html", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "\xff", "/"]
)
@each_route
def test_another_content_type_is_refused(port: int, route: str, kind: str) -> None:
    assert_refused(send(port, post(route, GOOD, b"content-type: " + kind.encode("latin-1"))), 415)


LINES = {
    "blank lines": 100_000 * b"\n",
    "one endless line": 2 * MIB * b"[",
    "many short ones": 20_000 * b"{\n",
    "NULs": 5_000 * b"\0\n",
    "carriage returns": 1_000 * b"\r",
    "invalid UTF-8": 1_000 * b"\xff\xfe\n",
    "nested": 100_000 * b"[" + b"\n" + GOOD + b"\n",
}


@pytest.mark.parametrize("route", ["/predict/batch", "/feedback/batch"])
@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_every_hostile_line_gets_its_error(port: int, route: str, lines: bytes) -> None:
    answer = send(port, post(route, lines, LINES_TYPE))
    assert_handled(answer)
    assert b'"status":5' not in answer.body
