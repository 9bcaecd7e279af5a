"""The algorithms by their names in the API. A new one needs its file in `kernels/algorithms/`, and its line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import cast

ALGORITHMS: dict[str, str] = {
    "stg": "stg.STG",
    "fobos": "fobos.FOBOS",
    "ada-fobos": "ada_fobos.ADA_FOBOS",
    "ada-rda": "ada_rda.ADA_RDA",
    "fsol": "fsol.FSOL",
    "ssol": "ssol.SSOL",
    "ssol-full": "ssol_full.SSOL_FULL",
    "cs-ogd": "cs_ogd.CS_OGD",
    "cpa": "cpa.CPA",
    "paum": "paum.PAUM",
    "cs-fsol": "fsol.CS_FSOL",
    "cs-ssol": "ssol.CS_SSOL",
    "cs-sol": "cs_sol.CS_SOL",
    "cs-ssol-full": "ssol_full.CS_SSOL_FULL",
    "ftrl": "ftrl.FTRL",
    "arow": "arow.AROW",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """An algorithm's facts and its five entries, whose arguments `kernels/learner/entries.py` documents."""

    state: tuple[str, ...]  # what a row of the table holds beside its key
    fresh: tuple[float, ...]  # the state of a new feature
    options: frozenset[str]
    defaults: Mapping[str, float | str]  # those that differ from the common defaults
    loss: str  # hinge, squared_hinge or logistic
    imbalance_halved: float  # with costs = auto: the class ratio that counts for about half
    score: Callable[..., float]
    scores: Callable[..., None]
    learn: Callable[..., float]
    stream: Callable[..., int]
    survey: Callable[..., None]

    def with_costs(self) -> "Algorithm":
        """Return the cost-sensitive twin. It shares the compiled code: without this option every cost is 1."""
        return replace(self, options=self.options | {"costs"})


def load(name: str) -> Algorithm:
    """Import the algorithm; only those in use are loaded, so that a start stays short."""
    module, constant = ALGORITHMS[name].split(".")
    return cast("Algorithm", getattr(import_module(f"kernels.algorithms.{module}"), constant))
