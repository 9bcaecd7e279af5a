"""Everything that a run has found, as the report takes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.fitting import Fits
from experiments.preparing import Facts
from experiments.sizes import Sizes
from experiments.studies import drift, regret, selection, sparsity, timing
from experiments.studies.drift import Drifting
from experiments.studies.regret import Regret
from experiments.studies.selection import Kept
from experiments.studies.timing import Timing


@dataclass(frozen=True, slots=True)
class Findings:
    """By study, and in each by the name of the task."""

    facts: Mapping[str, Facts]
    found: Mapping[str, Mapping[str, Any]]
    sizes: Sizes
    seconds: float  # of this run
    resumed: int = 0  # tasks that an earlier run had done

    @property
    def even(self) -> Mapping[str, Fits]:
        """Learners without costs on balanced sets."""
        return self.found.get(sparsity.EVEN, {})

    @property
    def rare(self) -> Mapping[str, Fits]:
        """All learners where anomalies are rare."""
        return self.found.get(sparsity.RARE, {})

    @property
    def options(self) -> Mapping[str, Fits]:
        """Options of SSOL and CS-SSOL."""
        return self.found.get(sparsity.OPTIONS, {})

    @property
    def selection(self) -> list[Kept]:
        """Which features were kept on the synthetic set."""
        return [kept for each in self.found.get(selection.STUDY, {}).values() for kept in each.kept]

    @property
    def regret(self) -> list[Regret]:
        """Sequences on which regret was measured."""
        return list(self.found.get(regret.STUDY, {}).values())

    @property
    def drift(self) -> list[Drifting]:
        """Streams that change."""
        return list(self.found.get(drift.STUDY, {}).values())

    @property
    def timing(self) -> Mapping[str, Timing]:
        """Seconds of one pass."""
        return self.found.get(timing.STUDY, {})
