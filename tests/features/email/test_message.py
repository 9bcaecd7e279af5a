"""The fast path for headers agrees with the standard library."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.features.email.message import HEADERS, WELL_FORMED, parse_head, parse_mail
from tests.features.email.mails import MAILS


@pytest.mark.parametrize("name", MAILS)
def test_headers_of_mails_agree_with_the_standard_library(name: str) -> None:
    head = MAILS[name].partition(b"\n\n")[0] + b"\n"
    assert list(parse_head(head).raw_items()) == list(HEADERS.parsebytes(head).raw_items())


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    pieces=st.lists(st.sampled_from([b"A", b":", b" ", b"\t", b"\n", b"From ", b"b: c\n", b"\xff", b"\x00", b"\x0b"]))
)
def test_any_header_agrees_with_the_standard_library(pieces: list[bytes]) -> None:
    head = b"".join(pieces)
    theirs = HEADERS.parsebytes(head)
    ours = parse_head(head)
    assert (list(ours.raw_items()), ours.rest) == (list(theirs.raw_items()), theirs.rest)


def test_a_well_formed_header_takes_the_fast_path() -> None:
    assert WELL_FORMED.fullmatch("From x\nSubject: a\n b\nTo: c\n")


def test_parts_nested_too_deep_are_ignored() -> None:
    mail = parse_mail(b"Content-Type: message/rfc822\n\n" * 12 + b"\nbody")
    assert mail.cut == ["parts nested more than 10 deep are ignored"]
    assert len(mail.multiparts) == 10


def test_a_boundary_counts_only_where_a_line_consists_of_it() -> None:
    mail = parse_mail(b"Content-Type: multipart/mixed; boundary=x\n\n--x\n\na --x\n--xy\n--x \n\nb\n--x--\n--x\n\nc\n")
    assert [part.content for part in mail.parts] == [b"a --x\n--xy\n", b"b\n"]


def test_a_multipart_without_its_boundary_is_a_text() -> None:
    mail = parse_mail(b"Content-Type: multipart/mixed; boundary=x\n\nHello: there\n\nyou\n")
    assert [(part.mime_type, part.content) for part in mail.parts] == [("text/plain", b"Hello: there\n\nyou\n")]
