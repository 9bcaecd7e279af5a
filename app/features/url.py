"""The features of a URL. What they are is decided in kernels/urls; docs/features.md has the list."""

import threading
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from app.features.extraction import Found
from app.features.url_vocabulary import known_words
from app.learning.example import Example, NamesInText, example_of
from kernels.arrays import Bytes
from kernels.urls.pieces import NAME_BYTES
from kernels.urls.url import AT_LEAST, PER_BYTE, read_url

LONGEST_URL = 2048  # characters
DOTS = str.maketrans("\u3002\uff0e\uff61\\", ".../")  # what browsers take for a dot, or for a slash
ROOM = PER_BYTE * 4 * LONGEST_URL + AT_LEAST  # a character has four bytes at most


def url_features(url: str) -> Found:
    """Return the features that a URL has, each once; the scheme is not looked at. A blank has none."""
    if not url or url.isspace():
        return Found(example_of({}))
    text = _bytes_of(url)
    room = PER_BYTE * text.size + AT_LEAST
    keys, values = np.empty(room, np.uint64), np.empty(room)
    count = read_url(text, known_words(), _scratch.names, keys, values, _scratch.spans)
    example = Example(keys[:count], values[:count], UrlNames(text, count))
    return Found(example) if len(url) <= LONGEST_URL else Found(example, (_cut(url),))


class UrlNames(Sequence[str]):
    """Names of a URL's features. Few ask for them, so they are found once more for whoever does."""

    __slots__ = ("_count", "_made", "_text")

    def __init__(self, text: Bytes, count: int) -> None:
        self._text, self._count = text, count
        self._made: list[str] | None = None

    def __len__(self) -> int:
        """As many as there are features."""
        return self._count

    def __iter__(self) -> Iterator[str]:
        """In the order of the features."""
        return iter(self._names())

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        """The name at a place."""
        return self._names()[place]

    def _names(self) -> list[str]:
        if self._made is None:
            names, spans = np.empty(NAME_BYTES * self._count + NAME_BYTES, np.uint8), np.empty(ROOM, np.uint64)
            read_url(self._text, known_words(), names, np.empty(ROOM, np.uint64), np.empty(ROOM), spans)
            self._made = list(NamesInText(names.tobytes(), spans[: self._count]))
        return self._made


class _Scratch(threading.local):
    """Where a thread writes names that nobody has asked for."""

    def __init__(self) -> None:
        self.names = np.empty(NAME_BYTES * ROOM, np.uint8)
        self.spans = np.empty(ROOM, np.uint64)


_scratch = _Scratch()


def _bytes_of(url: str) -> Bytes:
    text = url if len(url) <= LONGEST_URL else url[:LONGEST_URL]
    if not text.isascii() or "\\" in text:
        text = text.translate(DOTS)
    return np.frombuffer(text.lower().encode("utf-8", "replace"), np.uint8)


def _cut(url: str) -> str:
    return f"the URL has {len(url):,} characters; those behind the first {LONGEST_URL:,} were not looked at"
