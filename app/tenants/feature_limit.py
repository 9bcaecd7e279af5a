"""The operator's cap on the features of one tenant.

It is asked where a configuration is accepted, and what it decides becomes an event like any other. The log never asks
it: the same log must give the same state on services with other caps, or with none. So a tenant that has more stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.learning.config import Config, Value, config_of
from app.learning.errors import BadSetting

MOST = 1 << 31  # what a configuration can ask for at all
SETTING = "SLUICE_MAX_FEATURES_PER_TENANT"


@dataclass(frozen=True, slots=True)
class FeatureCap:
    """Up to how many features a tenant may ask for."""

    at_most: int = MOST

    def beginning(self, first: Mapping[str, Value]) -> Mapping[str, Value]:
        """What a new tenant begins with, whom nobody has configured."""
        return self.accepted(config_of(first), first, is_new=True)

    def accepted(self, before: Config, changes: Mapping[str, Value], *, is_new: bool) -> Mapping[str, Value]:
        """The changes, with `max_features` where nobody named it and a default is too high.

        BadSetting if they ask for more than the cap, or make no sense. What a tenant has already is not asked for.
        """
        wanted = _features(before.changed(changes))
        if wanted <= self.at_most or (wanted == _features(before) and not is_new):
            return changes
        if "max_features" in changes:
            raise self._refusal("max_features is", wanted)
        return {**changes, "max_features": self.at_most}

    def check_model(self, config: Config) -> None:
        """Refuse a model that may have more features than a tenant here could ask for."""
        if _features(config) > self.at_most:
            raise self._refusal("the max_features of the model is", _features(config))

    def _refusal(self, what: str, wanted: int) -> BadSetting:
        return BadSetting(f"{what} {wanted:,}; this service allows up to {self.at_most:,} ({SETTING})")


def _features(config: Config) -> int:
    features = config.values["max_features"]
    assert isinstance(features, int)
    return features
