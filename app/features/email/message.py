"""Parses a raw mail into its header and parts. Everything has a limit: a hostile mail costs no more than a long one.

The standard library parses headers. This module splits the parts: the library's parser reads every line once for each
enclosing multipart, so that deeply nested mails take minutes, and it has no limits.
"""

import binascii
import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Any

import msgspec

LONGEST_MAIL = 1 << 20  # bytes
LONGEST_HEAD = 1 << 16  # bytes, for the header of the mail or of a part
LONGEST_VALUE = 2000  # characters of a header line
MOST_PARTS = 100
DEEPEST = 10
END_OF_HEAD = re.compile(rb"\n\r?\n|\r\r")
PARAMETER = r"""[;\s]{}\s*=\s*(?:"([^"]*)"|([^\s;"]+))"""
REST_OF_LINE = re.compile(rb"(--)?[ \t]*(?:\r?\n|\r|\Z)")


class Head(Message):
    """The header of an entity, and the lines below it that the parser could not read as headers."""

    rest = ""

    def set_payload(self, payload: Any, charset: Any = None) -> None:  # noqa: ANN401, ARG002 - as in the base class
        """Keep the lines after the header unchanged; the base class would decode them."""
        self.rest = payload


HEADERS = BytesHeaderParser(Head)
WELL_FORMED = re.compile(r"(?:From [^\n]*\n)?(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*")
LINE = re.compile(r"^([!-9;-~]+):([^\n]*(?:\n[ \t][^\n]*)*)\n", re.MULTILINE)


class Part(msgspec.Struct, frozen=True):
    """A part without inner parts: its header, its MIME type, and its content as transferred."""

    head: Head
    mime_type: str
    content_type: str  # with its parameters
    content: bytes

    @property
    def encoding(self) -> str:
        """The transfer encoding, or an empty string."""
        return str(self.head.get("content-transfer-encoding", "")).strip().lower()

    @property
    def disposition(self) -> str:
        """The content disposition, or an empty string."""
        return str(self.head.get("content-disposition", ""))[:LONGEST_VALUE]

    def decode(self, most: int) -> bytes:
        """Undo the transfer encoding of the first `most` bytes of the content."""
        encoding, content = self.encoding, self.content[:most]
        if encoding == "quoted-printable":
            return binascii.a2b_qp(content)
        return decode_base64(content) if encoding == "base64" else content

    def parameter(self, name: str) -> str:
        """Return a parameter of the content type, or an empty string."""
        return parameter_of(self.content_type, name)


class Mail(msgspec.Struct, frozen=True):
    """The header of a mail, the content types of its multiparts, its parts in order, and notes on what was ignored."""

    head: Head
    multiparts: list[str]
    parts: list[Part]
    cut: list[str]


def parse_mail(raw: bytes) -> Mail:
    """Parse a mail."""
    cut = []
    if len(raw) > LONGEST_MAIL:
        cut.append(f"only the first {LONGEST_MAIL:,} of {len(raw):,} bytes are used")
    head, body = _split_head(raw[:LONGEST_MAIL], cut)
    mail = Mail(head, [], [], cut)
    stack = [(head, body, "text/plain", 0)]  # next entity last
    while stack:
        if len(mail.parts) + len(mail.multiparts) >= MOST_PARTS:
            cut.append(f"only the first {MOST_PARTS} parts are used")
            break
        head, body, default_type, depth = stack.pop()
        stack += reversed(_open(mail, head, body, default_type, depth))
    return Mail(mail.head, mail.multiparts, mail.parts, list(dict.fromkeys(cut)))


def decode_base64(text: bytes) -> bytes:
    """Decode what is there: a truncated mail may end within a group of four."""
    try:
        return binascii.a2b_base64(text)
    except binascii.Error:
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", text)
        return binascii.a2b_base64(letters[: len(letters) // 4 * 4])


def parameter_of(header: str, name: str) -> str:
    """Return a parameter of a header, or an empty string."""
    found = re.search(PARAMETER.format(name), header, re.IGNORECASE)
    return found[found.lastindex or 0] if found else ""


Entity = tuple[Head, bytes, str, int]


def _open(mail: Mail, head: Head, body: bytes, default_type: str, depth: int) -> list[Entity]:
    """Return the inner entities of an entity; one without inner entities becomes a part of the mail."""
    content_type = str(head.get("content-type", default_type))[:LONGEST_VALUE]
    mime_type = content_type.partition(";")[0].strip().lower()
    boundary = parameter_of(content_type, "boundary") if mime_type.startswith("multipart/") else ""
    if depth == DEEPEST and (boundary or mime_type == "message/rfc822"):
        mail.cut.append(f"parts nested more than {DEEPEST} deep are ignored")
    elif boundary:
        mail.multiparts.append(content_type)
        inner = "message/rfc822" if mime_type == "multipart/digest" else "text/plain"
        return [(*_split_head(each, mail.cut), inner, depth + 1) for each in _split_body(body, boundary, mail.cut)]
    elif mime_type == "message/rfc822":
        mail.multiparts.append(content_type)
        return [(*_split_head(body, mail.cut), "text/plain", depth + 1)]
    mail.parts.append(Part(head, mime_type, content_type, body))
    return []


def _split_head(raw: bytes, cut: list[str]) -> tuple[Head, bytes]:
    """Split into header and body. The body begins at the first line that is not a header, blank or not."""
    if raw.startswith((b"\n", b"\r\n")):
        return Head(), raw[raw.index(b"\n") + 1 :]
    end = END_OF_HEAD.search(raw)
    first, body = (raw[: end.start() + 1], raw[end.end() :]) if end else (raw, b"")
    if len(first) > LONGEST_HEAD:
        cut.append(f"only the first {LONGEST_HEAD:,} bytes of a header are used")
        first = first[: first.rfind(b"\n", 0, LONGEST_HEAD) + 1 or LONGEST_HEAD]  # whole lines
    head = parse_head(first)
    return head, head.rest.encode("ascii", "surrogateescape") + body


def parse_head(raw: bytes) -> Head:
    """Parse a header. If it is well formed, regular expressions give the same result in a fraction of the time."""
    text = raw.replace(b"\r\n", b"\n").decode("ascii", "surrogateescape")
    if "\r" in text or not WELL_FORMED.fullmatch(text):
        return HEADERS.parsebytes(raw)
    head = Head()
    for name, value in LINE.findall(text):
        head.set_raw(name, value.lstrip(" \t"))
    return head


def _split_body(body: bytes, boundary: str, cut: list[str]) -> list[bytes]:
    """Return the pieces between the boundary lines, up to the closing one or the end of the mail."""
    pieces: list[bytes] = []
    start = None
    for begin, end, last in _boundary_lines(body, b"--" + boundary.encode("ascii", "replace")):
        if start is not None:
            pieces.append(body[start:begin])
        start = end
        if last:
            return pieces
        if len(pieces) > MOST_PARTS:
            cut.append(f"only the first {MOST_PARTS} parts are used")
            return pieces
    return [*pieces, body[start:]] if start is not None else [b"\n" + body]  # no boundary line: a body without a header


def _boundary_lines(body: bytes, mark: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield the boundary lines: begin, end, and whether it is the closing one, with two more dashes."""
    begin = body.find(mark)
    while begin >= 0:
        rest = begin + len(mark)
        if begin == 0 or body[begin - 1] in b"\r\n":
            line = REST_OF_LINE.match(body, rest)
            if line:
                yield begin, line.end(), bool(line[1])
        begin = body.find(mark, rest)
