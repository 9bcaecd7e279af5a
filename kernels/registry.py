"""The algorithms by their names in the contract. A new one: its file in `kernels/algorithms/`, and its line here."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Protocol, cast

ALGORITHMS: dict[str, str] = {
    "stg": "kernels.algorithms.stg",
    "fobos": "kernels.algorithms.fobos",
    "ada-fobos": "kernels.algorithms.ada_fobos",
    "ada-rda": "kernels.algorithms.ada_rda",
    "fsol": "kernels.algorithms.fsol",
    "ssol": "kernels.algorithms.ssol",
    "ssol-full": "kernels.algorithms.ssol_full",
    "cs-ogd": "kernels.algorithms.cs_ogd",
    "cpa": "kernels.algorithms.cpa",
    "paum": "kernels.algorithms.paum",
    "cs-fsol": "kernels.algorithms.cs_fsol",
    "cs-ssol": "kernels.algorithms.cs_ssol",
    "cs-ssol-full": "kernels.algorithms.cs_ssol_full",
    "ftrl": "kernels.algorithms.ftrl",
    "arow": "kernels.algorithms.arow",
}


class Algorithm(Protocol):
    """What a file in `kernels/algorithms/` offers; the signatures are in that package's docstring."""

    STATE: tuple[str, ...]
    FRESH: tuple[float, ...]
    OPTIONS: frozenset[str]
    DEFAULTS: Mapping[str, float | str]
    score: Callable[..., float]
    scores: Callable[..., None]
    learn: Callable[..., float]
    stream: Callable[..., int]
    survey: Callable[..., None]


def load(name: str) -> Algorithm:
    """Import the algorithm; only those in use are loaded, so that a start stays short."""
    return cast("Algorithm", import_module(ALGORITHMS[name]))
