"""Who takes part: the paper's algorithms and those beside them, and what the protocol tunes of each."""

from dataclasses import dataclass, field, replace
from typing import Final

Setting = dict[str, float | str | bool]
RATE: Final = "rate"  # searched from 2^-1 to 2^9 by the paper
OTHER: Final = "other"  # from 2^-5 to 2^5


@dataclass(frozen=True, slots=True)
class Learner:
    """An algorithm under fixed options."""

    name: str
    options: Setting
    tuned: dict[str, str] = field(default_factory=lambda: {"eta": RATE})
    is_sparse: bool = True  # it has a lambda
    order: int = 1
    averages: bool = False  # dual averaging; else truncated gradient, or nothing
    with_costs: bool = False

    def changed(self, options: Setting) -> "Learner":
        """The same with other options; costs that are estimated replace those that are given."""
        own = {name: value for name, value in self.options.items() if not (name in EVEN and "costs" in options)}
        return replace(self, options={**own, **options})


TWO: Final = {"eta": RATE, "delta": OTHER}
MATRIX: Final = {"eta": RATE, "r": OTHER}
EVEN: Final[Setting] = {"cost_positive": 1.0, "cost_negative": 1.0}
UNEVEN: Final[Setting] = {"cost_positive": 99.0, "cost_negative": 1.0}  # rho = T- / T+, as the paper has it

# lambda stays constant for SSOL, as in the text of the experiments; the options study has the other schedules.
LEARNERS: Final = {
    learner.name: learner
    for learner in (
        Learner("stg", {"algorithm": "stg"}),
        Learner("fobos", {"algorithm": "fobos"}),
        Learner("ada-fobos", {"algorithm": "ada-fobos"}, TWO, order=2),
        Learner("ada-rda", {"algorithm": "ada-rda"}, TWO, order=2, averages=True),
        Learner("fsol", {"algorithm": "fsol"}, averages=True),
        Learner("ssol", {"algorithm": "ssol", "lambda_schedule": "constant"}, MATRIX, order=2, averages=True),
        Learner("ftrl", {"algorithm": "ftrl", **EVEN}, TWO, order=2, averages=True),
        Learner("arow", {"algorithm": "arow"}, {"r": OTHER}, is_sparse=False, order=2),
        Learner("cs-ogd", {"algorithm": "cs-ogd", **UNEVEN}, is_sparse=False, with_costs=True),
        Learner("cpa", {"algorithm": "cpa", **UNEVEN}, is_sparse=False, with_costs=True),
        Learner("paum", {"algorithm": "paum", **UNEVEN}, is_sparse=False, with_costs=True),
        Learner("cs-fsol", {"algorithm": "cs-fsol", **UNEVEN}, averages=True, with_costs=True),
        Learner(
            "cs-ssol",
            {"algorithm": "cs-ssol", "lambda_schedule": "constant", **UNEVEN},
            MATRIX,
            order=2,
            averages=True,
            with_costs=True,
        ),
        Learner("cs-ftrl", {"algorithm": "ftrl", **UNEVEN}, TWO, order=2, averages=True, with_costs=True),
    )
}
PAPERS: Final = ("stg", "fobos", "ada-fobos", "ada-rda", "fsol", "ssol")
EVEN_ONES: Final = (*PAPERS, "ftrl", "arow")
ALL: Final = tuple(LEARNERS)
