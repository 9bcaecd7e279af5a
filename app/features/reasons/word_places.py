"""Where the words of a text are in it."""

import re
from collections.abc import Iterable, Iterator

from app.features.reasons.reason import MOST_PLACES, Place
from app.features.tokens import words_of

RUN = re.compile(r"[a-zA-Z0-9'$\-\x80-\U0010ffff]+")  # all other characters separate words


def word_places(part: str, text: str, wanted: Iterable[str]) -> dict[str, list[Place]]:
    """Return the first places of words, and of phrases of two adjacent words, in a part of an input."""
    missing = dict.fromkeys(wanted, MOST_PLACES)
    found: dict[str, list[Place]] = {}
    earlier: tuple[str, int] | None = None  # the word before, and where it begins
    for word, start, end in _words(text) if missing else ():
        candidates = [(word, start)]
        if earlier is not None:
            candidates.append((f"{earlier[0]} {word}", earlier[1]))
        for words, begin in candidates:
            if words in missing:
                found.setdefault(words, []).append(Place(part, begin, end))
                missing[words] -= 1
                if not missing[words]:
                    del missing[words]
        if not missing:
            break
        earlier = word, start
    return found


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words as the featurizer reads them, with their places; the whole run if letters were normalised."""
    for run in RUN.finditer(text):
        letters = run[0].lower()
        is_same_size = len(letters) == len(run[0])
        start = 0
        for word in words_of(run[0].encode("utf-8", "replace").decode()):
            at = letters.find(word, start) if is_same_size else -1
            if at < 0:
                yield word, run.start(), run.end()
            else:
                yield word, run.start() + at, run.start() + at + len(word)
                start = at + 1
