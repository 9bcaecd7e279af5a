"""Reasons of a text: character n-grams belong to the words that they came from."""

import re
from collections.abc import Sequence

from app.features.reasons.given import wording_of_given
from app.features.reasons.owners import GRAM, Owners, Words
from app.features.reasons.phrases import Phrases
from app.features.reasons.reason import Groups, between, plural, quoted
from app.features.text import FEW, GRAM_CHARACTERS, LONGEST_TEXT, MOST_WORDS
from app.features.tokens import words_of

COUNTS = {
    "length": "character",
    "words": "word",
    "capitals": "word in capitals",
    "numbers": "number",
    "long-numbers": "number of five or more digits",
    "links": "link",
    "addresses": "mail address",
    "money": "currency sign",
    "exclamations": "exclamation mark",
    "questions": "question mark",
    "lines": "line break",
}
PLURALS = {
    "capitals": "words in capitals",
    "long-numbers": "numbers of five or more digits",
    "addresses": "mail addresses",
}
COUNTED = re.compile(r"([a-z-]+):(\d{1,9})")


def visible_text(text: str) -> str:
    """Return the part of a text that has features."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode()


def group_text(text: str | None, contributions: Sequence[tuple[str, float]], groups: Groups) -> Phrases:
    """Group what the features of a text contribute; without the text, by their names alone."""
    phrases = Phrases("text")
    owners = _owners_of_names(contributions, phrases) if text is None else _owners_of_text(visible_text(text), phrases)
    for name, contribution in contributions:
        prefix, _, rest = name.partition(":")
        if prefix in {"word", "pair"} and rest:
            phrases.add(groups, name, rest, contribution)
        elif name in owners:
            owners.share(groups, name, contribution)
        else:
            groups.add(_wording(name), name, contribution)
    phrases.merge(groups)
    return phrases


def _wording(name: str) -> str:
    counted = COUNTED.fullmatch(name)
    if counted and counted[1] in COUNTS:
        kind, number = counted[1], int(counted[2])
        if not number:
            return f"text has no {COUNTS[kind]}"
        shown = between(number, number if number < FEW else 2 * number - 1)
        return f"text has {plural(shown, COUNTS[kind], PLURALS.get(kind, ''))}"
    return f"text contains {quoted(name[6:])}" if name.startswith("chars:") else wording_of_given(name)


def _owners_of_text(text: str, phrases: Phrases) -> Owners:
    owners, cover = Owners(), []
    words = words_of(text)[:MOST_WORDS]
    for word in words:
        cover += [phrases.text(word)] * len(word) + [""]
        if len(cover) > GRAM_CHARACTERS:
            break
    joined = " ".join(words)[:GRAM_CHARACTERS]
    for k in range(len(joined) - GRAM + 1):
        for owner in filter(None, cover[k : k + GRAM]):
            owners.own(f"chars:{joined[k : k + GRAM]}", owner)
    return owners


def _owners_of_names(contributions: Sequence[tuple[str, float]], phrases: Phrases) -> Owners:
    owners, words = Owners(), Words()
    for name, _ in contributions:
        if name.startswith("word:"):
            words.add(name[5:], phrases.text(name[5:]))
    for name, _ in contributions:
        if name.startswith("chars:"):
            for text, weight in words.with_fragments(name[6:].split(" ")):
                owners.own(name, text, weight)
    return owners
