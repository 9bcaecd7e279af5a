"""The settings with which new tenants and the command line begin. Tenants from before keep theirs."""

from collections.abc import Mapping

from app.learning.config import DEFAULTS, FEATURIZERS, Value

FIRST: dict[str, Value] = {"algorithm": "cs-sol", "numbers": "encoded", "threshold": "auto"}
REVIEW: dict[str, Value] = {
    "review_uncertain": 1.0,
    "review_flagged": 1.0,
    "review_random": 0.01,
    "reviews_per_day": 200.0,
    "keep_inputs": "review",
}


def settings_of_new_tenants(
    algorithm: str = str(FIRST["algorithm"]), newest: int = FEATURIZERS[-1]
) -> Mapping[str, Value]:
    """Return the first settings of new tenants, where they are not the defaults that an empty log stands for."""
    settings = {**FIRST, **REVIEW, "algorithm": algorithm, "featurizer": newest}
    return {name: value for name, value in settings.items() if value != DEFAULTS[name]}
