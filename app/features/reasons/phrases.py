"""Reasons for words: a pair of adjacent words takes its words with it if all of them say the same."""

from app.features.reasons.reason import Groups, Place, Reason, quoted
from app.features.reasons.word_places import word_places

LEAST_SHARE = 0.5  # of the larger word: the smaller one must say about as much


class Phrases:
    """The words and pairs of one part of an input, and the texts of their reasons."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._words: dict[str, str] = {}  # words and pairs by the text of their reason
        self._pairs: dict[str, str] = {}

    def text(self, words: str) -> str:
        """Return the text of the reason for a word or a phrase."""
        text = f"{self._part} contains {quoted(words)}"
        self._words[text] = words
        return text

    def add(self, groups: Groups, feature: str, words: str, contribution: float) -> None:
        """Add what a word contributes, or a pair of words with a space between them."""
        text = self.text(words)
        if " " in words:
            self._pairs[text] = words
        groups.add(text, feature, contribution)

    def merge(self, groups: Groups) -> None:
        """Merge words into pairs, the pairs that contribute most first; a word goes into one pair only."""
        whole: list[tuple[float, str, tuple[str, str]]] = []
        for text, pair in self._pairs.items():
            first, _, second = pair.partition(" ")
            words = self.text(first), self.text(second)
            sums = [groups.sum(text), *map(groups.sum, words)]
            smaller, larger = sorted(map(abs, sums[1:]))
            agree = all(each > 0.0 for each in sums) or all(each < 0.0 for each in sums)
            if agree and first != second and smaller >= LEAST_SHARE * larger:
                whole.append((-abs(sum(sums)), text, words))
        taken: set[str] = set()
        for _, text, words in sorted(whole):
            if taken.isdisjoint(words):
                groups.merge(text, words)
                taken.update(words)

    def places(self, reasons: list[Reason], name: str, text: str) -> dict[str, list[Place]]:
        """Return the places of reasons in the text of a part, by the texts of the reasons."""
        wanted = {self._words[each.text]: each.text for each in reasons if each.text in self._words}
        return {wanted[words]: places for words, places in word_places(name, text, wanted).items()}
