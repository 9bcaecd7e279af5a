"""A real service extracts features from hostile mails, URLs and texts, or refuses them, in time."""

import json
import time

import pytest

from tests.security.raw_http import MAIL_TYPE, Response, assert_handled, post, send

pytestmark = pytest.mark.timeout(120)
SECONDS = 5.0  # generous: several tests may be running on few cores
HEAD = b"From: a@example.org\r\nTo: b@example.com\r\nSubject: hi\r\nMIME-Version: 1.0\r\n"


def nested_parts(depth: int) -> bytes:
    """A multipart in a multipart in a multipart."""
    kind = b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n'
    return HEAD + b"".join(kind % (level, level) for level in range(depth)) + b"\r\nhi\r\n"


def nested_messages(depth: int) -> bytes:
    return HEAD + depth * b"Content-Type: message/rfc822\r\n\r\nSubject: x\r\n" + b"\r\nhi\r\n"


def multipart(boundary: bytes, body: bytes) -> bytes:
    return HEAD + b"Content-Type: multipart/mixed; boundary=%b\r\n\r\n%b" % (boundary, body)


MAILS = {
    "nothing but NULs": 100_000 * b"\0",
    "all bytes": bytes(range(256)) * 400,
    "parts nested 10,000 deep": nested_parts(10_000),
    "messages nested 10,000 deep": nested_messages(10_000),
    "100,000 parts": multipart(b"b", 100_000 * b"--b\r\n\r\nx\r\n"),
    "100,000 empty boundaries": multipart(b'""', 100_000 * b"--\r\n"),
    "a boundary of the same letters": multipart(70 * b"-", 20_000 * (72 * b"-" + b"\r\n")),
    "a boundary that is a pattern": multipart(b'"(.*)*+?[a-z]{1,99}$"', 5_000 * b"--(((((((((\r\n"),
    "a boundary of 1 MB": multipart(1_000_000 * b"b", b"x"),
    "a boundary over many lines": multipart(10_000 * b"\r\n ", b"x"),
    "a boundary inside itself": multipart(
        b"b", b"--b\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" * 5_000
    ),
    "50,000 charsets": HEAD
    + b"Content-Type: text/plain"
    + b"".join(b"; charset=c%d" % n for n in range(50_000))
    + b"\r\n\r\nx",
    "a charset that is code": HEAD + b"Content-Type: text/plain; charset=zlib\r\n\r\n" + 1_000 * b"x\x9c",
    "a charset of another kind": HEAD
    + b"Content-Type: text/plain; charset=unicode_escape\r\n\r\n"
    + 1_000 * b"\\ud800\\N{",
    "a charset with NULs": HEAD + b"Content-Type: text/plain; charset=\0utf-8\0\r\n\r\nhi",
    "UTF-7": HEAD + b"Content-Type: text/plain; charset=utf-7\r\n\r\n" + 10_000 * b"+ADw-",
    "punycode": HEAD + b"Content-Type: text/plain; charset=punycode\r\n\r\n" + 50_000 * b"a-",
    "IDNA": HEAD + b"Content-Type: text/plain; charset=idna\r\n\r\n" + 50_000 * b"xn--",
    "50,000 encoded words": HEAD + b"Subject: " + 50_000 * b"=?utf-8?q?=41?= " + b"\r\n\r\nhi",
    "invalid encoded words": HEAD + b"Subject: " + 50_000 * b"=?a?b?" + b"\r\n\r\nhi",
    "a header of 5 MB": b"Subject: " + 5_000_000 * b"a" + b"\r\n\r\nhi",
    "a header folded 100,000 times": b"Subject: x" + 100_000 * b"\r\n a" + b"\r\n\r\nhi",
    "100,000 headers": b"".join(b"X-%d: y\r\n" % number for number in range(100_000)) + b"\r\nhi",
    "a header without an end": 1_000_000 * b"a",
    "headers of colons": 200_000 * b":" + b"\r\n\r\n",
    "50,000 addresses": b"To: " + 50_000 * b'"a" <b@example.org>, ' + b"\r\n\r\nhi",
    "nested comments": b"To: " + 100_000 * b"(" + b"\r\n\r\nhi",
    "nested quotes": b"From: " + 100_000 * b'\\"' + b"\r\n\r\nhi",
    "nested groups": b"To: " + 50_000 * b"a:" + b"\r\n\r\nhi",
    "an invalid date": b"Date: " + 100_000 * b"9" + b"\r\n\r\nhi",
    "a date beyond all calendars": b"Date: Thu, 99 Foo 999999999999 99:99:99 +999999999\r\n\r\nhi",
    "many hops": 20_000 * b"Received: from a (b [1.2.3.4]) by c with d; Thu, 1 Jan 1970 00:00:00 +0000\r\n" + b"\r\nhi",
    "a hop of blanks": b"Received: from " + 100_000 * b" " + b"(\r\n\r\nhi",
    "invalid base64": HEAD + b"Content-Transfer-Encoding: base64\r\n\r\n" + 100_000 * b"=A=\xff",
    "invalid quoted-printable": HEAD + b"Content-Transfer-Encoding: quoted-printable\r\n\r\n" + 200_000 * b"=",
    "uuencoding without an end": HEAD
    + b"Content-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 x\r\n"
    + 20_000 * b"M!!!!\r\n",
    "HTML nested 100,000 deep": HEAD + b"Content-Type: text/html\r\n\r\n" + 100_000 * b"<div>",
    "HTML of open tags": HEAD + b"Content-Type: text/html\r\n\r\n" + 100_000 * b"<a href=",
    "HTML of one attribute": HEAD + b"Content-Type: text/html\r\n\r\n<a " + 50_000 * b"x=y " + b">",
    "HTML of formatting": HEAD + b"Content-Type: text/html\r\n\r\n" + 20_000 * b"<b><p><i>",
    "HTML of entities": HEAD + b"Content-Type: text/html\r\n\r\n" + 100_000 * b"&#x110000;&amp",
    "HTML of tables": HEAD + b"Content-Type: text/html\r\n\r\n" + 30_000 * b"<table><select><svg>",
    "an attachment without an end to its name": HEAD
    + b"Content-Disposition: attachment; filename="
    + 1_000_000 * b"a.",
    "a name in 10,000 pieces": HEAD
    + b"Content-Disposition: attachment"
    + b"".join(b"; filename*%d*=utf-8''%%ff" % number for number in range(10_000))
    + b"\r\n\r\nx",
    "a name that leads out": HEAD + b'Content-Disposition: attachment; filename="../../etc/passwd\0.exe"\r\n\r\nx',
    "links without an end": HEAD + b"\r\n" + 50_000 * b"http://" + b"\r\n" + 1_000_000 * b"a",
    "carriage returns only": 100_000 * b"\r",
    "mixed line ends": 50_000 * b"a:\n\r\r\n\n",
    "a surrogate": HEAD + b"\r\n" + 10_000 * b"\xed\xa0\x80",
}


def send_in_time(port: int, sent: bytes) -> Response:
    begin = time.monotonic()
    answer = send(port, sent)
    assert time.monotonic() - begin < SECONDS
    assert_handled(answer)
    return answer


@pytest.mark.parametrize("mail", MAILS.values(), ids=MAILS)
def test_a_hostile_mail_becomes_features_or_is_refused(port: int, mail: bytes) -> None:
    send_in_time(port, post("/predict?tenant=mail&explain=5", mail, MAIL_TYPE))
    send_in_time(port, post("/feedback?tenant=mail&label=1", mail, MAIL_TYPE))
    send_in_time(port, post("/features", json.dumps({"email": mail.decode("latin-1")}).encode()))


URLS = {
    "1 MB of a host": "http://" + 1_000_000 * "a",
    "1 MB of dots": "http://" + 1_000_000 * ".",
    "1 MB of slashes": 1_000_000 * "/",
    "1 MB of ats": "http://" + 1_000_000 * "@" + "x",
    "1 MB of escapes": "http://a.b/" + 300_000 * "%2e",
    "1 MB of parameters": "http://a.b/?" + 300_000 * "a=&",
    "escapes of escapes": "http://a.b/" + 1_000 * "%25" + "32",
    "broken escapes": "http://a.b/%%%0%g%\ufffd%ff%c0%af",
    "brackets": "http://[[[[::1]]]]:99999999999999999999/",
    "an endless port": "http://a.b:" + 2_000 * "9",
    "an address in octal": "http://0177.0.0.01/",
    "an address in hexadecimal": "http://0x7f000001/",
    "look-alikes": "http://\u0430\u0440\u0440\u04cf\u0435.com/",
    "dots of other scripts": "http://a\u3002b\uff0ec\uff61d/",
    "from right to left": "http://\u202emoc.elppa/",
    "combining marks": "http://a" + 2_000 * "\u0301" + ".com/",
    "the largest character": 2_048 * "\U0010ffff",
    "a character that grows": 2_048 * "\u0130",
    "NULs": "http://a\0b.com/\0",
    "control characters": "".join(map(chr, range(32))),
    "newlines": "http://a.b/\r\nhost: evil",
    "punycode": "http://xn--" + 60 * "9" + ".com/",
    "nothing": "",
    "blanks": 1_000_000 * " ",
    "a script": "javascript:alert(1)//http://a.b",
    "data": "data:text/html;base64," + 5_000 * "A",
}


@pytest.mark.parametrize("kind", ["url", "text", "email"])
@pytest.mark.parametrize("raw", URLS.values(), ids=URLS)
def test_a_hostile_text_becomes_features_or_is_refused(port: int, raw: str, kind: str) -> None:
    for route, more in (
        ("/predict", {"tenant": "raw", "explain": 5}),
        ("/features", {}),
        ("/feedback", {"tenant": "raw", "label": -1}),
    ):
        send_in_time(port, post(route, json.dumps({kind: raw, **more}).encode()))


@pytest.mark.parametrize(
    "encoded", ['"="', '"A"', '"A==="', '"\\u0000"', '""', "null", "1", "[]", '"' + 1_000_000 * "=" + '"']
)
def test_invalid_base64_is_refused(port: int, encoded: str) -> None:
    send_in_time(port, post("/predict", b'{"tenant":"raw","email":{"base64":%b}}' % encoded.encode()))
