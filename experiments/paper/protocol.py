"""The learners, what the protocol tunes of each, and the sizes of a run."""

from dataclasses import dataclass, field, replace
from typing import Final

Setting = dict[str, float | str | bool]
RATE: Final = "rate"  # the paper searches 2^-1 to 2^9
OTHER: Final = "other"  # 2^-5 to 2^5


@dataclass(frozen=True, slots=True)
class Learner:
    """An algorithm under fixed options."""

    name: str
    options: Setting
    tuned: dict[str, str] = field(default_factory=lambda: {"eta": RATE})
    is_sparse: bool = True  # it has a lambda
    averages: bool = False  # dual averaging; otherwise truncated gradient, or neither
    with_costs: bool = False

    def changed(self, options: Setting) -> "Learner":
        """Return it with other options; estimated costs replace fixed ones."""
        own = {name: value for name, value in self.options.items() if not (name in EVEN and "costs" in options)}
        return replace(self, options={**own, **options})


@dataclass(frozen=True, slots=True)
class Sizes:
    """The extent of a run."""

    examples: int | None  # of a set at most
    repeats: int  # permutations, or samples at 1:99
    levels: tuple[float, ...]  # of sparsity
    grid_nonzeros: int  # of the examples on which settings are chosen, at most
    grid_step: int  # powers of two from one point of the grid to the next
    timings: int  # rounds
    horizons: tuple[int, ...]  # of regret
    regret_seeds: int
    fit_from: int  # the horizon from which the growth of regret is fitted
    drift_examples: int | None
    drift_window: int | None  # examples; None: that of the stream
    drift_seeds: int
    forgetting: tuple[float, ...]
    pasts: tuple[int, ...]  # examples before a flip of labels, beside half of the stream

    @property
    def is_quick(self) -> bool:
        return self.examples is not None


FULL: Final = Sizes(
    examples=None,
    repeats=5,
    levels=(0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 0.99, 0.995),
    grid_nonzeros=60_000_000,
    grid_step=1,
    timings=3,
    horizons=(100, 316, 1_000, 3_162, 10_000, 31_623, 100_000),
    regret_seeds=10,
    fit_from=1_000,
    drift_examples=None,
    drift_window=None,
    drift_seeds=5,
    forgetting=(0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2),
    pasts=(6_000, 12_000, 24_000),
)
QUICK: Final = Sizes(
    examples=3_000,
    repeats=2,
    levels=(0.4, 0.8, 0.9, 0.98),
    grid_nonzeros=100_000,
    grid_step=5,
    timings=2,
    horizons=(100, 316, 1_000, 3_162),
    regret_seeds=3,
    fit_from=100,
    drift_examples=6_000,
    drift_window=500,
    drift_seeds=2,
    forgetting=(0.0, 1e-4, 1e-3),
    pasts=(1_500,),
)

TWO: Final = {"eta": RATE, "delta": OTHER}
MATRIX: Final = {"eta": RATE, "r": OTHER}
EVEN: Final[Setting] = {"cost_positive": 1.0, "cost_negative": 1.0}
UNEVEN: Final[Setting] = {"cost_positive": 99.0, "cost_negative": 1.0}  # rho = T- / T+, as in the paper
CONSTANT: Final[Setting] = {"lambda_schedule": "constant"}  # as in the paper's experiments

LEARNERS: Final = {
    learner.name: learner
    for learner in (
        Learner("stg", {"algorithm": "stg"}),
        Learner("fobos", {"algorithm": "fobos"}),
        Learner("ada-fobos", {"algorithm": "ada-fobos"}, TWO),
        Learner("ada-rda", {"algorithm": "ada-rda"}, TWO, averages=True),
        Learner("fsol", {"algorithm": "fsol"}, averages=True),
        Learner("ssol", {"algorithm": "ssol", **CONSTANT}, MATRIX, averages=True),
        Learner("ftrl", {"algorithm": "ftrl", **EVEN}, TWO, averages=True),
        Learner("arow", {"algorithm": "arow"}, {"r": OTHER}, is_sparse=False),
        *(
            Learner(name, {"algorithm": name, **UNEVEN}, is_sparse=False, with_costs=True)
            for name in ("cs-ogd", "cpa", "paum")
        ),
        Learner("cs-fsol", {"algorithm": "cs-fsol", **UNEVEN}, averages=True, with_costs=True),
        Learner("cs-ssol", {"algorithm": "cs-ssol", **CONSTANT, **UNEVEN}, MATRIX, averages=True, with_costs=True),
        Learner("cs-ftrl", {"algorithm": "ftrl", **UNEVEN}, TWO, averages=True, with_costs=True),
    )
}
PAPERS: Final = ("stg", "fobos", "ada-fobos", "ada-rda", "fsol", "ssol")
EVEN_ONES: Final = (*PAPERS, "ftrl", "arow")
ALL: Final = tuple(LEARNERS)
