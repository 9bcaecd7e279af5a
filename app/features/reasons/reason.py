"""A reason, and how the contributions of features add up to reasons."""

import math
from collections.abc import Iterable, Sequence

import msgspec

MOST_PLACES = 20  # of a reason
LONGEST_QUOTE = 60  # characters


class Place(msgspec.Struct, frozen=True, order=True):
    """Where a reason is in the input: code points of one of its parts, such as `url`, `subject` or `body`."""

    part: str
    start: int
    end: int


class Reason(msgspec.Struct, frozen=True):
    """What moved the score, in words, and by how much; the features that stand behind it, the largest first."""

    text: str
    contribution: float
    features: Sequence[str]
    places: Sequence[Place] = ()


class Groups:
    """Contributions of features, grouped under the text of the reason that they stand for."""

    def __init__(self) -> None:
        self._shares: dict[str, dict[str, float]] = {}  # by text, then by feature
        self._places: dict[str, dict[Place, None]] = {}  # by text, in order

    def add(self, text: str, feature: str, contribution: float) -> None:
        """Add what a feature contributes, or its share of that."""
        shares = self._shares.setdefault(text, {})
        shares[feature] = shares.get(feature, 0.0) + contribution

    def place(self, text: str, place: Place) -> None:
        """Note where a reason is."""
        places = self._places.setdefault(text, {})
        if len(places) < MOST_PLACES:
            places[place] = None

    def merge(self, text: str, others: Iterable[str]) -> None:
        """Move what stands under other texts to this one."""
        for other in others:
            for feature, contribution in self._shares.pop(other, {}).items():
                self.add(text, feature, contribution)

    def sum(self, text: str) -> float:
        """Return what the features under a text contribute together; 0 if there are none."""
        total = 0.0
        for _, contribution in sorted(self._shares.get(text, {}).items()):
            total += contribution
        return total

    def reasons(self, most: int | None) -> list[Reason]:
        """Return the reasons, the largest first."""
        sums = {text: self.sum(text) for text in self._shares}
        ordered = sorted((text for text in sums if sums[text] != 0.0), key=lambda text: (-_size(sums[text]), text))
        return [
            Reason(
                text,
                sums[text],
                [name for name, _ in sorted(self._shares[text].items(), key=lambda each: (-_size(each[1]), each[0]))],
                sorted(self._places.get(text, ())),
            )
            for text in ordered[:most]
        ]


def quoted(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return an excerpt of an input in quotes, on one line, without characters that cannot be seen."""
    short = text if len(text) <= longest else text[: longest - 1] + "\u2026"
    visible = "".join([each if each.isprintable() else "\ufffd" for each in short])
    return f'"{visible}"'


def plural(number: int | str, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 digit`, `4 to 7 digits`."""
    return f"{number} {one}" if str(number) == "1" else f"{number} {many or one + 's'}"


def between(low: int, high: int) -> str:
    """Return a range of whole numbers in words."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _size(contribution: float) -> float:
    """Return the size; that of a contribution that is no number, because weights have overflowed, is infinite."""
    return math.inf if math.isnan(contribution) else abs(contribution)
