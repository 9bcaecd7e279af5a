"""The features of a text: words, pairs of adjacent words, character n-grams, and statistics of its form."""

import re
from itertools import pairwise

from app.features.extraction import Extraction
from app.features.tokens import words_of
from app.learning.example import example_of

LONGEST_TEXT = 100_000  # characters
MOST_WORDS = 5_000
GRAM, GRAM_CHARACTERS = 4, 2_000
FEW = 4  # counts below are exact, larger ones are rounded down to a power of two
SHAPES = {
    "capitals": re.compile(r"\b[A-Z]{2,}\b"),
    "numbers": re.compile(r"\d+"),
    "long-numbers": re.compile(r"\d{5,}"),
    "links": re.compile(r"(?:https?://|www\.)\S", re.IGNORECASE),
    "addresses": re.compile(r"[\w.+-]@\w"),
    "money": re.compile(r"[$£€¥₹]|\b(?:USD|EUR|GBP)\b"),
    "exclamations": re.compile(r"!"),
    "questions": re.compile(r"\?"),
    "lines": re.compile(r"\n"),
}


def text_features(text: str) -> Extraction:
    """Return the features of a text in any language; a blank text has none."""
    if not text or text.isspace():
        return Extraction(example_of({}, is_given=False))
    visible = text[:LONGEST_TEXT].encode("utf-8", "replace").decode()
    words = words_of(visible)
    used = words[:MOST_WORDS]
    features = {f"pair:{one} {other}": 0.5 for one, other in pairwise(used)}
    features |= {f"chars:{gram}": 0.25 for gram in _grams(" ".join(used)[:GRAM_CHARACTERS])}
    features |= {f"{name}:{_step(len(shape.findall(visible)))}": 1.0 for name, shape in SHAPES.items()}
    features[f"length:{_step(len(visible))}"] = features[f"words:{_step(len(words))}"] = 1.0
    features |= {f"word:{word}": 1.0 for word in used}
    return Extraction(example_of(features, is_given=False), _cut(text, len(words)))


def _grams(text: str) -> list[str]:
    return [text[k : k + GRAM] for k in range(len(text) - GRAM + 1)]


def _step(count: int) -> int:
    return count if count < FEW else 1 << (count.bit_length() - 1)


def _cut(text: str, words: int) -> list[str]:
    cut = []
    if len(text) > LONGEST_TEXT:
        cut.append(f"the text has {len(text):,} characters; only the first {LONGEST_TEXT:,} are used")
    if words > MOST_WORDS:
        cut.append(f"the text has {words:,} words; only the first {MOST_WORDS:,} are used")
    return cut
