"""Thresholds: ratios of two figures of the same run, so that they hold on any machine."""

import math
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from load_tests.harness.report import Target, at_least, at_most
from load_tests.scenarios.outcomes import Figures

EACH = "*"  # in the place of a scenario: each one that was played


class Threshold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A promise: one figure beside another."""

    text: str
    figure: str
    beside: str
    at_most: float | None = None
    at_least: float | None = None
    cores: int = 1  # that a machine must have for this to be judged

    def __post_init__(self) -> None:
        """Refuse one that promises nothing, or two things."""
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"the threshold {self.text!r} needs either at_most or at_least")

    @property
    def scenarios(self) -> set[str]:
        """Those that must have been played."""
        return {self.figure.partition(".")[0], self.beside.partition(".")[0]}

    def of(self, scenario: str) -> "Threshold":
        """The same for one scenario, where it is for each."""
        return msgspec.structs.replace(
            self,
            text=f"{scenario}: {self.text}",
            figure=self.figure.replace(EACH, scenario),
            beside=self.beside.replace(EACH, scenario),
        )


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    threshold: list[Threshold]


@dataclass(frozen=True, slots=True)
class Judge:
    """What was measured, and where."""

    figures: Figures
    played: list[str]
    cores: int

    def targets(self, thresholds: Iterable[Threshold]) -> list[Target]:
        """Those that can be judged: of scenarios that were played, on enough cores."""
        return [self._judged(one) for one in self._measured(thresholds) if one.cores <= self.cores]

    def told(self, thresholds: Iterable[Threshold]) -> list[str]:
        """The others, in a sentence each."""
        few = [(one, self._judged(one)) for one in self._measured(thresholds) if one.cores > self.cores]
        return [
            f"Not judged on {self.cores} cores, but on {one.cores}: {target.text}: wanted {target.wanted}, measured "
            f"{target.measured}."
            for one, target in few
        ]

    def _measured(self, thresholds: Iterable[Threshold]) -> list[Threshold]:
        each = (one for threshold in thresholds for one in self._expanded(threshold))
        return [one for one in each if one.scenarios <= set(self.played)]

    def _expanded(self, threshold: Threshold) -> list[Threshold]:
        if EACH not in threshold.scenarios:
            return [threshold]
        return [threshold.of(scenario) for scenario in self.played]

    def _judged(self, threshold: Threshold) -> Target:
        ratio = self._ratio(threshold)
        found = math.nan if ratio is None else ratio
        if threshold.at_most is not None:
            target = at_most(threshold.text, threshold.at_most, found)
        else:
            assert threshold.at_least is not None
            target = at_least(threshold.text, threshold.at_least, found)
        return target if ratio is not None else replace(target, measured="nothing", met=None)

    def _ratio(self, threshold: Threshold) -> float | None:
        figure, beside = self.figures.get(threshold.figure), self.figures.get(threshold.beside)
        return figure / beside if figure is not None and beside else None


def read(path: Path) -> list[Threshold]:
    """The thresholds of a file."""
    return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _File).threshold
