"""How much is played: all of it, or so little that it takes a minute or two."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sizes:
    """The extent of a run."""

    examples: int | None  # of a set at most
    repeats: int  # permutations, or samples at 1:99
    levels: tuple[float, ...]  # of sparsity
    grid_nonzeros: int  # of the examples that settings are chosen on, at most
    grid_step: int  # powers of two from one point of the paper's grid to the next
    timings: int  # rounds

    @property
    def is_quick(self) -> bool:
        """Whether it is a trial."""
        return self.examples is not None


FULL: Final = Sizes(
    examples=None,
    repeats=5,
    levels=(0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.995),
    grid_nonzeros=60_000_000,
    grid_step=1,
    timings=3,
)
QUICK: Final = Sizes(
    examples=3_000, repeats=2, levels=(0.4, 0.8, 0.9, 0.98), grid_nonzeros=100_000, grid_step=5, timings=2
)
