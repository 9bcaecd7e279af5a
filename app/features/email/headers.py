"""The lines of a header as they are looked at: decoded, and without those that give the answer away."""

import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from app.features.email.charsets import decoded
from app.features.email.ignored import is_ignored

MOST_HEADERS = 200
LONGEST_NAME = 50
LONGEST_VALUE = 2000  # characters
ENCODED_WORD = re.compile(r"=\?[^?\s]{1,40}\?[bqBQ]\?")


class Headers:
    """The lines of a header in order: lower-case names, and values whose encoded words are still encoded."""

    def __init__(self, head: Message, cut: list[str]) -> None:
        lines = list(head.raw_items())
        if len(lines) > MOST_HEADERS:
            cut.append(f"only the first {MOST_HEADERS} of {len(lines):,} header lines were looked at")
        named = [(name[:LONGEST_NAME].lower(), value) for name, value in lines[:MOST_HEADERS]]
        self.lines = [(name, _plain(value)) for name, value in named if not is_ignored(name)]
        self.names = [name for name, _ in self.lines]
        self._first = dict(reversed(self.lines))

    def raw(self, name: str) -> str:
        """The first value of a name as it stands there, or nothing."""
        return self._first.get(name, "")

    def text(self, name: str) -> str:
        """The first value of a name, decoded, or nothing."""
        return readable(self.raw(name))

    def all(self, name: str) -> list[str]:
        """Every value of a name, from the top."""
        return [value for each, value in self.lines if each == name]


def readable(value: str) -> str:
    """Decode encoded words (RFC 2047)."""
    if not ENCODED_WORD.search(value):
        return value
    plain = value.encode("ascii", "replace").decode()
    try:
        pieces = decode_header(plain)
    except (HeaderParseError, ValueError):  # what claims to be base64 may not be
        return plain
    return "".join(piece if isinstance(piece, str) else decoded(piece, charset or "") for piece, charset in pieces)


def _plain(value: str) -> str:
    """A value without the parser's marks for bytes that are not ASCII."""
    short = value[:LONGEST_VALUE]
    return short if short.isascii() else decoded(short.encode("utf-8", "surrogateescape"), "")
