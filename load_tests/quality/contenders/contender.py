"""What a contender is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernels.arrays import Floats
from load_tests.quality.stream import Stream

Options = Mapping[str, float | str]
WEIGHT = "weight of an anomaly"
RARE_WEIGHTS = (1.0, 30.0)  # what those may choose from, where anomalies are rare, who can weigh them


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """The scores before learning, above 0 for an anomaly; and how many weights were 0 in the end, if that is known."""

    scores: Floats
    sparsity: float | None = None

    def up_to(self, count: int) -> "Played":
        """The same as if it had ended there; how many weights were 0 then is not known."""
        return self if count >= self.scores.size else Played(self.scores[:count])


class Contender(Protocol):
    """A learner, with the settings among which the best is chosen."""

    @property
    def name(self) -> str:
        """As it is called in the tables."""

    @property
    def limit(self) -> int | None:
        """How many examples it is given at most: it may be too slow for more."""

    @property
    def tuned_on(self) -> int | None:
        """On how many examples its settings are chosen; None: on the whole stream, in hindsight."""

    def seconds(self, examples: int, nonzeros: int) -> float:
        """About what one setting takes for a stream."""

    def settings(self, *, rare: bool) -> Sequence[Options]:
        """The settings to choose from; with `rare` for 1 anomaly in 100."""

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        """Test, then train, over a stream, anew for each of the settings."""


def told(options: Options) -> str:
    """Settings in words."""
    return ", ".join(f"{name} {value}" for name, value in options.items())
