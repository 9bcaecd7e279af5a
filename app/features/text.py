"""The features of a text: words, words side by side, runs of characters, and how it is written."""

import re
from itertools import pairwise

from app.features.extraction import Found
from app.features.words import words_of
from app.learning.example import example_of

LONGEST_TEXT = 100_000  # characters
MOST_WORDS = 5_000
GRAM, GRAM_CHARACTERS = 4, 2_000
FEW = 4  # counts below are told apart, larger ones in steps of a factor of two
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


def text_features(text: str) -> Found:
    """Return the features of a text in any language; a blank has none."""
    if not text or text.isspace():
        return Found(example_of({}))
    seen = text[:LONGEST_TEXT].encode("utf-8", "replace").decode()
    words = words_of(seen)
    used = words[:MOST_WORDS]
    features = {f"pair:{one} {other}": 0.5 for one, other in pairwise(used)}
    features |= {f"chars:{gram}": 0.25 for gram in _grams(" ".join(used)[:GRAM_CHARACTERS])}
    features |= {f"{name}:{_step(len(shape.findall(seen)))}": 1.0 for name, shape in SHAPES.items()}
    features[f"length:{_step(len(seen))}"] = features[f"words:{_step(len(words))}"] = 1.0
    features |= {f"word:{word}": 1.0 for word in used}
    return Found(example_of(features), _cut(text, len(words)))


def _grams(text: str) -> list[str]:
    return [text[k : k + GRAM] for k in range(len(text) - GRAM + 1)]


def _step(count: int) -> int:
    return count if count < FEW else 1 << (count.bit_length() - 1)


def _cut(text: str, words: int) -> list[str]:
    cut = []
    if len(text) > LONGEST_TEXT:
        cut.append(f"the text has {len(text):,} characters; those behind the first {LONGEST_TEXT:,} were not looked at")
    if words > MOST_WORDS:
        cut.append(f"the text has {words:,} words; those behind the first {MOST_WORDS:,} were not looked at")
    return cut
