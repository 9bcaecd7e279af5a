"""The features of a URL, found by `kernels/urls`; docs/features.md lists them."""

import threading
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from app.features.extraction import Extraction
from app.features.url_vocabulary import known_words
from app.learning.example import Example, NamesInText, example_of
from kernels.arrays import Bytes
from kernels.urls.pieces import NAME_BYTES
from kernels.urls.url import AT_LEAST, PER_BYTE, read_url

LONGEST_URL = 2048  # characters
DOTS = str.maketrans("\u3002\uff0e\uff61\\", ".../")  # characters that browsers read as a dot or a slash
ROOM = PER_BYTE * 4 * LONGEST_URL + AT_LEAST  # a character has at most four bytes


def url_features(url: str) -> Extraction:
    """Return the features of a URL, each once. The scheme is ignored; a blank URL has none."""
    if not url or url.isspace():
        return Extraction(example_of({}, is_given=False))
    text = _bytes_of(url)
    room = PER_BYTE * text.size + AT_LEAST
    keys, values = np.empty(room, np.uint64), np.empty(room)
    count = read_url(text, known_words(), _scratch.names, keys, values, _scratch.spans)
    example = Example(keys[:count], values[:count], UrlNames(text, count))
    return Extraction(example) if len(url) <= LONGEST_URL else Extraction(example, (_cut(url),))


class UrlNames(Sequence[str]):
    """The names of a URL's features. They are rarely read, so the URL is parsed again when they are."""

    __slots__ = ("_count", "_decoded", "_text")

    def __init__(self, text: Bytes, count: int) -> None:
        self._text, self._count = text, count
        self._decoded: list[str] | None = None

    def __len__(self) -> int:
        """Return the number of features."""
        return self._count

    def __iter__(self) -> Iterator[str]:
        """Iterate in the order of the features."""
        return iter(self._names())

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return the name at an index, or the names of a slice."""
        return self._names()[index]

    def _names(self) -> list[str]:
        if self._decoded is None:
            names, spans = np.empty(NAME_BYTES * self._count + NAME_BYTES, np.uint8), np.empty(ROOM, np.uint64)
            read_url(self._text, known_words(), names, np.empty(ROOM, np.uint64), np.empty(ROOM), spans)
            self._decoded = list(NamesInText(names.tobytes(), spans[: self._count]))
        return self._decoded


class _Scratch(threading.local):
    """Memory of a thread for names that are not read."""

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
    return f"the URL has {len(url):,} characters; only the first {LONGEST_URL:,} are used"
