"""The header lines of a mail, decoded and without those that leak the label."""

import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from app.features.email.charsets import decode
from app.features.email.ignored import is_ignored

MOST_HEADERS = 200
LONGEST_NAME = 50
LONGEST_VALUE = 2000  # characters
ENCODED_WORD = re.compile(r"=\?[^?\s]{1,40}\?[bqBQ]\?")


class Headers:
    """Header lines in order: lower-case names, and values whose encoded words are not decoded yet."""

    def __init__(self, head: Message, cut: list[str]) -> None:
        lines = list(head.raw_items())
        if len(lines) > MOST_HEADERS:
            cut.append(f"only the first {MOST_HEADERS} of {len(lines):,} header lines are used")
        named = [(name[:LONGEST_NAME].lower(), value) for name, value in lines[:MOST_HEADERS]]
        self.lines = [(name, _plain(value)) for name, value in named if not is_ignored(name)]
        self.names = [name for name, _ in self.lines]
        self._first = dict(reversed(self.lines))

    def raw(self, name: str) -> str:
        """Return the first value of a name as received, or an empty string."""
        return self._first.get(name, "")

    def text(self, name: str) -> str:
        """Return the first value of a name, decoded, or an empty string."""
        return decode_words(self.raw(name))

    def all(self, name: str) -> list[str]:
        """Return every value of a name, from the top."""
        return [value for each, value in self.lines if each == name]


def decode_words(value: str) -> str:
    """Decode encoded words (RFC 2047)."""
    if not ENCODED_WORD.search(value):
        return value
    plain = value.encode("ascii", "replace").decode()
    try:
        pieces = decode_header(plain)
    except (HeaderParseError, ValueError):  # text marked as base64 may not be base64
        return plain
    return "".join(piece if isinstance(piece, str) else decode(piece, charset or "") for piece, charset in pieces)


def _plain(value: str) -> str:
    """Shorten a value and replace the parser's surrogate escapes for bytes that are not ASCII."""
    short = value[:LONGEST_VALUE]
    return short if short.isascii() else decode(short.encode("utf-8", "surrogateescape"), "")
