"""The reliability of probabilities: how many of the inputs with a probability of about p were anomalies."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from app.cli.output import percent, print_table, print_text

GROUPS: Final = 10
QUANTILE: Final = 1.96  # of 95% intervals
HEADS: Final = ("probability", "inputs", "mean", "anomalies", "95% interval", "observed (#) and mean probability (|)")
BAR: Final = 50  # characters
SIDE, LEFT, TOP, RIGHT, BOTTOM = 360, 64, 44, 20, 56  # pixels of the picture


@dataclass(slots=True)
class Group:
    """Inputs whose probabilities are close to each other."""

    inputs: int = 0
    anomalies: int = 0
    sum: float = 0.0  # of the probabilities

    @property
    def mean(self) -> float:
        """The mean probability."""
        return self.sum / self.inputs

    @property
    def observed(self) -> float:
        """The share of anomalies."""
        return self.anomalies / self.inputs

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of that share, by Wilson."""
        n, p, z = self.inputs, self.observed, QUANTILE
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(slots=True)
class Reliability:
    """Inputs in groups of equal width by their probability, each taken before the label was learnt."""

    groups: list[Group] = field(default_factory=lambda: [Group() for _ in range(GROUPS)])
    brier: float = 0.0  # sum of the squared differences between probability and outcome
    without: int = 0  # inputs before there was a probability

    def add(self, probabilities: Sequence[float | None], labels: Sequence[float]) -> None:
        """Add inputs with their probabilities, None where there was none yet."""
        for probability, label in zip(probabilities, labels, strict=True):
            if probability is None:
                self.without += 1
                continue
            group = self.groups[min(int(probability * GROUPS), GROUPS - 1)]
            group.inputs += 1
            group.anomalies += label > 0.0
            group.sum += probability
            self.brier += (probability - (label > 0.0)) ** 2

    @property
    def inputs(self) -> int:
        """Inputs with a probability."""
        return sum(group.inputs for group in self.groups)

    @property
    def error(self) -> float | None:
        """The mean difference between probability and observed share, weighted by inputs."""
        if not self.inputs:
            return None
        return sum(abs(group.sum - group.anomalies) for group in self.groups) / self.inputs

    def show(self, name: str) -> None:
        """Print the groups, with a bar for each."""
        if not self.inputs:
            print_text("", f"{name} gave no probabilities: they need an objective, and 30 labels of each class.")
            return
        print_text("", f"Reliability of the probabilities of {name}:", "")
        print_table(HEADS, self._rows())
        print_text(
            "",
            f"Mean difference between probability and observed share: {percent(self.error)} points. Brier score: "
            f"{self.brier / self.inputs:.4f}. {self.without:,} inputs came before there were probabilities.",
        )

    def _rows(self) -> Iterator[list[str]]:
        for number, group in enumerate(self.groups):
            if group.inputs:
                low, high = group.interval
                bar = "#" * round(BAR * group.observed)
                place = min(round(BAR * group.mean), BAR - 1)
                bar = bar.ljust(BAR, ".")
                yield [
                    f"{number / GROUPS:.1f} to {(number + 1) / GROUPS:.1f}", f"{group.inputs:,}", percent(group.mean),
                    percent(group.observed), f"{percent(low, 1)} to {percent(high, 1)}",
                    f"{bar[:place]}|{bar[place + 1 :]}",
                ]  # fmt: skip

    def svg(self, name: str) -> str:
        """Return the same as a picture: observed share against probability, with intervals."""
        width, height = LEFT + SIDE + RIGHT, TOP + SIDE + BOTTOM
        parts = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
            ),
            f'<rect width="{width}" height="{height}" fill="white"/>',
            f'<text x="{LEFT}" y="18" font-size="14">Reliability of {escape(name)}</text>',
            f'<text x="{LEFT}" y="35">{self.inputs:,} inputs, {percent(self.error)} points off in the mean</text>',
        ]
        for tick in range(0, 11, 2):
            x, y = _x(tick / 10), _y(tick / 10)
            parts += [
                f'<path d="M{x} {TOP}V{TOP + SIDE}M{LEFT} {y}H{LEFT + SIDE}" stroke="#ddd"/>',
                f'<text x="{x}" y="{TOP + SIDE + 18}" text-anchor="middle">{10 * tick}%</text>',
                f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{10 * tick}%</text>',
            ]
        parts += [
            f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="#888" stroke-dasharray="4 4"/>',
            f'<text x="{LEFT + SIDE / 2}" y="{height - 14}" text-anchor="middle">probability given</text>',
            (
                f'<text transform="translate(16 {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle">'
                "share that were anomalies</text>"
            ),
        ]
        most = max((group.inputs for group in self.groups), default=0)
        for group in self.groups:
            if group.inputs:
                x, (low, high) = _x(group.mean), group.interval
                radius = 3.0 + 5.0 * math.sqrt(group.inputs / most)
                parts += [
                    f'<path d="M{x} {_y(low)}V{_y(high)}" stroke="#1f77b4" stroke-width="2"/>',
                    (
                        f'<circle cx="{x}" cy="{_y(group.observed)}" r="{radius:.1f}" fill="#1f77b4">'
                        f"<title>{group.inputs:,} inputs</title></circle>"
                    ),
                ]
        return "\n".join([*parts, "</svg>\n"])


def _x(share: float) -> float:
    return round(LEFT + SIDE * share, 1)


def _y(share: float) -> float:
    return round(TOP + SIDE * (1.0 - share), 1)
