"""No mail costs more than a long one, and no bytes are refused."""

import random
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.features.email.features import email_features
from tests.data import shared_data
from tests.features.email.mails import MAILS

ROOT = Path(__file__).parents[3]
HTML = b"Content-Type: text/html; charset=utf-8\n\n"
MIXED = b"Content-Type: multipart/mixed; boundary=x\n\n"
UTF8 = b"Content-Type: text/plain; charset=utf-8\n\n"
MANY = 50_000  # bytes: below the limits, so that time may grow with length
HOSTILE: dict[str, Callable[[int], bytes]] = {
    "open brackets": lambda n: HTML + b"<" * n,
    "nested elements": lambda n: HTML + b"<a href=http://x.y/><table><tr><td>" * (n // 35),
    "attributes": lambda n: HTML + b"<a " + b"b=1 " * (n // 4) + b">",
    "header lines": lambda n: b"A: b\n" * (n // 5),
    "a folded line": lambda n: b"Subject: x" + b"\n " * (n // 2) + b"\n\n",
    "encoded words": lambda n: b"Subject: " + b"=?utf-8?q?a?= " * (n // 14),
    "one long line": lambda n: b"\n" + b"x" * n,
    "blank lines": lambda n: b"\r\n" * (n // 2),
    "boundaries within lines": lambda n: MIXED + b"--x " * (n // 4),
    "parts": lambda n: MIXED + b"--x\na: b\n\n" * (n // 10),
    "nested multiparts": lambda n: b"Content-Type: multipart/mixed; boundary=x\n\n--x\n" * (n // 48),
    "nested mails": lambda n: b"Content-Type: message/rfc822\n\n" * (n // 30),
    "quoted-printable": lambda n: b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * n,
    "base64 with padding": lambda n: b"Content-Transfer-Encoding: base64\n\n" + b"YWJ=" * (n // 4) + b"=a",
    "links": lambda n: b"\n" + b"http://" * (n // 7),
    "accents out of order": lambda n: UTF8 + b"a" + "\u0301\u0323".encode() * (n // 4),
    "letters that become many": lambda n: UTF8 + "\ufdfa".encode() * (n // 3),
    "addresses": lambda n: b"From: " + b"a@" * (n // 2) + b"\n\n",
    "parameters": lambda n: b"Content-Type: text/plain;" + b' name="' * (n // 7) + b"\n\n",
}


def seconds(raw: bytes) -> float:
    start = time.perf_counter()
    email_features(raw)
    return time.perf_counter() - start


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_no_faster_than_length(name: str) -> None:
    one, two = HOSTILE[name](MANY), HOSTILE[name](2 * MANY)
    for _ in range(5):  # load may spoil one measurement, but not five
        if min(seconds(two) for _ in range(3)) < 4 * min(seconds(one) for _ in range(3)) + 0.002:
            return
    pytest.fail(f"twice as many {name} take more than four times as long")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_mail_beyond_the_limit_is_truncated_and_has_few_features(name: str) -> None:
    found = email_features(HOSTILE[name](3 << 20))
    assert found.cut[0].startswith("only the first 1,048,576 of ")
    assert found.example.keys.size < 20_000


def test_each_limit_is_noted_once() -> None:
    links = b"".join(b"http://a%d.example/ " % k for k in range(101))
    cut = email_features(b"A: b\n" * 201 + b"\n" + links + b"word " * 5001).cut
    assert list(cut) == [
        "only the first 200 of 201 header lines are used",
        "only the first 5,000 of 5,304 words are used",
        "only the first 100 of 101 links are used",
    ]


def test_an_ordinary_mail_is_not_truncated() -> None:
    assert [email_features(raw).cut for raw in MAILS.values()] == [()] * len(MAILS)


def test_memory_for_25_megabytes_is_below_ten_times_that() -> None:
    program = """
import resource
from app.features.email.features import email_features
email_features(b"Subject: x")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
line = b"Content-Type: multipart/mixed; boundary=x\\n\\n--x\\nContent-Type: text/html\\n\\n<p>some <b>words</b> " * 20
raw = (line * (25_000_000 // len(line) + 1))[:25_000_000]
email_features(raw)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / len(raw))
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True)
    assert float(ran.stdout) < 10


@settings(derandomize=True, deadline=None, max_examples=300)
@given(raw=st.binary(max_size=2000))
def test_any_bytes_have_features(raw: bytes) -> None:
    assert_sound(raw)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(name=st.sampled_from(sorted(MAILS)), place=st.integers(0, 800), length=st.integers(0, 40), piece=st.binary())
def test_mutated_mails_have_features(name: str, place: int, length: int, piece: bytes) -> None:
    mail = MAILS[name]
    assert_sound(mail[:place] + piece + mail[place + length :])


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                *(
                    b"Content-Type: ",
                    b"multipart/mixed",
                    b"; boundary=",
                    b"x",
                    b"--x",
                    b"--",
                    b"\n",
                    b"\r",
                    b"\n\n",
                    b'"',
                ),
                *(
                    b"Subject: ",
                    b"From: ",
                    b"Date: ",
                    b"Received: from ",
                    b"=?",
                    b"?b?",
                    b"?q?",
                    b"?=",
                    b"utf-7",
                    b"utf-16",
                ),
                *(
                    b"text/html",
                    b"; charset=",
                    b"; filename*0*=",
                    b"''",
                    b"%ff",
                    b"<a href=",
                    b">",
                    b"&#xD800;",
                    b"\xff",
                ),
                *(
                    b"Content-Transfer-Encoding: base64",
                    b"message/rfc822",
                    b"+2AA-",
                    b"\x00\xd8",
                    b"http://",
                    b"[",
                    b"@",
                ),
            ]
        ),
        max_size=40,
    )
)
def test_randomly_assembled_mails_have_features(pieces: list[bytes]) -> None:
    assert_sound(b"".join(pieces))


def test_real_mails_truncated_anywhere_have_features() -> None:
    chance = random.Random(7)  # noqa: S311 - not for security
    with tarfile.open(shared_data("email/spamassassin.tar.xz")) as archive:
        for count, member in enumerate(archive):
            content = archive.extractfile(member) if member.isfile() and count % 16 == 0 else None
            raw = content.read() if content else b""
            assert_sound(raw[: chance.randint(0, len(raw))])


def assert_sound(raw: bytes) -> None:
    found = email_features(raw)
    names = found.example.names
    assert found.example.keys.size == len(names) == len(set(names)) > 0
    assert "".join(names).encode().decode() == "".join(names)
    assert names == email_features(raw).example.names
