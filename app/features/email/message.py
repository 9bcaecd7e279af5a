"""A raw mail into its header and its parts. Everything has a limit, so a hostile mail costs no more than a long one.

Headers are read by the standard library. Parts are split here: its parser looks at every line once for each multipart
around it, so that deeply nested mails take it minutes, and it cannot be told where to stop.
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
    """The header of an entity, and the lines below it that the parser could not take for headers, as they are."""

    rest = ""

    def set_payload(self, payload: Any, charset: Any = None) -> None:  # noqa: ANN401, ARG002 - as in the base class
        """Keep what came after the header; the base class would decode it on the way out."""
        self.rest = payload


HEADERS = BytesHeaderParser(Head)
IN_ORDER = re.compile(r"(?:From [^\n]*\n)?(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*")
LINE = re.compile(r"^([!-9;-~]+):([^\n]*(?:\n[ \t][^\n]*)*)\n", re.MULTILINE)


class Part(msgspec.Struct, frozen=True):
    """A part that holds no other parts: its header, what it is, and its content as it was transferred."""

    head: Head
    kind: str
    described: str
    content: bytes

    @property
    def encoding(self) -> str:
        """How the content was made fit for transfer, or nothing."""
        return str(self.head.get("content-transfer-encoding", "")).strip().lower()

    @property
    def disposition(self) -> str:
        """How the part is to be shown, or nothing."""
        return str(self.head.get("content-disposition", ""))[:LONGEST_VALUE]

    def decoded(self, most: int) -> bytes:
        """The content without its transfer encoding: of its first bytes, so many at most."""
        encoding, content = self.encoding, self.content[:most]
        if encoding == "quoted-printable":
            return binascii.a2b_qp(content)
        return from_base64(content) if encoding == "base64" else content

    def parameter(self, name: str) -> str:
        """A parameter of the content type, or nothing."""
        return parameter_of(self.described, name)


class Mail(msgspec.Struct, frozen=True):
    """The header of a mail, its multiparts' types, its parts in order, and what was not looked at."""

    head: Head
    multiparts: list[str]
    parts: list[Part]
    cut: list[str]


def read_mail(raw: bytes) -> Mail:
    """Take a mail apart."""
    cut = []
    if len(raw) > LONGEST_MAIL:
        cut.append(f"only the first {LONGEST_MAIL:,} of {len(raw):,} bytes were looked at")
    head, body = _entity(raw[:LONGEST_MAIL], cut)
    mail = Mail(head, [], [], cut)
    waiting = [(head, body, "text/plain", 0)]  # the next one last
    while waiting:
        if len(mail.parts) + len(mail.multiparts) >= MOST_PARTS:
            cut.append(f"only the first {MOST_PARTS} parts were looked at")
            break
        head, body, usual, depth = waiting.pop()
        waiting += reversed(_opened(mail, head, body, usual, depth))
    return Mail(mail.head, mail.multiparts, mail.parts, list(dict.fromkeys(cut)))


def from_base64(text: bytes) -> bytes:
    """Decode as much as there is: a mail that was cut off ends within a group of four."""
    try:
        return binascii.a2b_base64(text)
    except binascii.Error:
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", text)
        return binascii.a2b_base64(letters[: len(letters) // 4 * 4])


def parameter_of(header: str, name: str) -> str:
    """A parameter of a header, or nothing."""
    found = re.search(PARAMETER.format(name), header, re.IGNORECASE)
    return found[found.lastindex or 0] if found else ""


Waiting = tuple[Head, bytes, str, int]


def _opened(mail: Mail, head: Head, body: bytes, usual: str, depth: int) -> list[Waiting]:
    """Return what stands in an entity; one that holds nothing else becomes a part of the mail."""
    described = str(head.get("content-type", usual))[:LONGEST_VALUE]
    kind = described.partition(";")[0].strip().lower()
    boundary = parameter_of(described, "boundary") if kind.startswith("multipart/") else ""
    if depth == DEEPEST and (boundary or kind == "message/rfc822"):
        mail.cut.append(f"parts within more than {DEEPEST} others were not looked at")
    elif boundary:
        mail.multiparts.append(described)
        inner = "message/rfc822" if kind == "multipart/digest" else "text/plain"
        return [(*_entity(each, mail.cut), inner, depth + 1) for each in _split(body, boundary, mail.cut)]
    elif kind == "message/rfc822":
        mail.multiparts.append(described)
        return [(*_entity(body, mail.cut), "text/plain", depth + 1)]
    mail.parts.append(Part(head, kind, described, body))
    return []


def _entity(raw: bytes, cut: list[str]) -> tuple[Head, bytes]:
    """Split into header and body. Where a line is no header the body begins, blank line or not."""
    if raw.startswith((b"\n", b"\r\n")):
        return Head(), raw[raw.index(b"\n") + 1 :]
    end = END_OF_HEAD.search(raw)
    first, body = (raw[: end.start() + 1], raw[end.end() :]) if end else (raw, b"")
    if len(first) > LONGEST_HEAD:
        cut.append(f"only the first {LONGEST_HEAD:,} bytes of a header were looked at")
        first = first[: first.rfind(b"\n", 0, LONGEST_HEAD) + 1 or LONGEST_HEAD]  # whole lines
    head = read_head(first)
    return head, head.rest.encode("ascii", "surrogateescape") + body


def read_head(raw: bytes) -> Head:
    """Read a header. If every line is in order it is split in one go, to the same effect in a fraction of the time."""
    text = raw.replace(b"\r\n", b"\n").decode("ascii", "surrogateescape")
    if "\r" in text or not IN_ORDER.fullmatch(text):
        return HEADERS.parsebytes(raw)
    head = Head()
    for name, value in LINE.findall(text):
        head.set_raw(name, value.lstrip(" \t"))
    return head


def _split(body: bytes, boundary: str, cut: list[str]) -> list[bytes]:
    """The pieces between the boundary's lines, up to its end or the end of the mail."""
    pieces: list[bytes] = []
    start = None
    for begin, end, last in _lines(body, b"--" + boundary.encode("ascii", "replace")):
        if start is not None:
            pieces.append(body[start:begin])
        start = end
        if last:
            return pieces
        if len(pieces) > MOST_PARTS:
            cut.append(f"only the first {MOST_PARTS} parts were looked at")
            return pieces
    return [*pieces, body[start:]] if start is not None else [b"\n" + body]  # without a boundary, it has no header


def _lines(body: bytes, mark: bytes) -> Iterator[tuple[int, int, bool]]:
    """The lines that consist of a mark: begin, end, and whether it is the closing one, with two dashes more."""
    begin = body.find(mark)
    while begin >= 0:
        rest = begin + len(mark)
        if begin == 0 or body[begin - 1] in b"\r\n":
            line = REST_OF_LINE.match(body, rest)
            if line:
                yield begin, line.end(), bool(line[1])
        begin = body.find(mark, rest)
