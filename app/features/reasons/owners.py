"""Which reasons own a feature: an n-gram that lies in several words belongs to each of them in part."""

from collections.abc import Iterable, Sequence

from app.features.reasons.reason import Groups, Place

GRAM = 4  # characters of an n-gram


class Owners:
    """For each feature the texts of its reasons with weights, and the places of each text."""

    def __init__(self) -> None:
        self._weights: dict[str, dict[str, float]] = {}
        self._places: dict[str, list[Place]] = {}

    def __contains__(self, feature: str) -> bool:
        """Whether the feature has an owner."""
        return feature in self._weights

    def own(self, feature: str, text: str, weight: float = 1.0) -> None:
        """Let a reason own a feature, or more of it."""
        weights = self._weights.setdefault(feature, {})
        weights[text] = weights.get(text, 0.0) + weight

    def place(self, text: str, place: Place) -> None:
        """Note a place of a reason."""
        self._places.setdefault(text, []).append(place)

    def share(self, groups: Groups, feature: str, contribution: float) -> None:
        """Share what a feature contributes among its reasons, which get their places with their first share."""
        weights = self._weights[feature]
        total = sum(weights.values())
        for text, weight in weights.items():
            groups.add(text, feature, contribution * (weight / total))
            for place in self._places.pop(text, ()):
                groups.place(text, place)


class Words:
    """Words by their fragments, where only names are known."""

    def __init__(self) -> None:
        self._words: dict[str, list[str]] = {}  # the texts of their reasons, by fragments

    def add(self, word: str, text: str) -> None:
        """Add a word and the text of its reason."""
        fragments = {word[k : k + size] for size in range(1, GRAM + 1) for k in range(len(word) - size + 1)}
        for fragment in sorted(fragments):
            texts = self._words.setdefault(fragment, [])
            if text not in texts:
                texts.append(text)

    def with_fragments(self, fragments: Iterable[str]) -> Sequence[tuple[str, float]]:
        """Return the texts of words that have the longest fragments, each with the length of what it has."""
        known = [each for each in fragments if each in self._words]
        longest = max(map(len, known), default=0)
        return [
            (text, len(each) / len(self._words[each]))
            for each in known
            if len(each) == longest or 2 * len(each) > GRAM
            for text in self._words[each]
        ]
