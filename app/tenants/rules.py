"""The rules of the operator for tenants: limits, first settings, snapshots."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.learning.config import Config, Value, config_of
from app.learning.errors import BadSetting
from app.learning.first_settings import settings_of_new_tenants
from app.tenants.snapshotter import SnapshotPolicy

MOST_FEATURES = 1 << 31  # the largest valid max_features
SETTING = "SLUICE_MAX_FEATURES_PER_TENANT"


@dataclass(frozen=True, slots=True)
class FeatureLimit:
    """The limit on `max_features` of a tenant.

    It applies when a configuration is accepted, and its decision becomes an event. Replay never asks it: the same log
    must give the same state under any limit. So a tenant that already has more keeps it.
    """

    at_most: int = MOST_FEATURES

    def first_settings(self, first: Mapping[str, Value]) -> Mapping[str, Value]:
        """Return the settings of a new tenant without a configuration."""
        return self.accept(config_of(first), first, is_new=True)

    def accept(self, before: Config, changes: Mapping[str, Value], *, is_new: bool) -> Mapping[str, Value]:
        """Return the changes, with `max_features` added where they do not have it and the default exceeds the limit.

        Raise BadSetting if they exceed the limit or are invalid. An unchanged `max_features` is not checked.
        """
        wanted = _features(before.changed(changes))
        if wanted <= self.at_most or (wanted == _features(before) and not is_new):
            return changes
        if "max_features" in changes:
            raise self._refusal("max_features is", wanted)
        return {**changes, "max_features": self.at_most}

    def check_model(self, config: Config) -> None:
        """Raise BadSetting for a model whose `max_features` exceeds the limit."""
        if _features(config) > self.at_most:
            raise self._refusal("the max_features of the model is", _features(config))

    def _refusal(self, what: str, wanted: int) -> BadSetting:
        return BadSetting(f"{what} {wanted:,}; this service allows up to {self.at_most:,} ({SETTING})")


def _features(config: Config) -> int:
    features = config.values["max_features"]
    assert isinstance(features, int)
    return features


@dataclass(frozen=True, slots=True)
class Rules:
    """Everything that the operator decides about tenants."""

    auto_create: bool = True
    max_tenants: int = 100_000
    memory_budget_bytes: int = 1 << 30
    feedback_id_ttl_seconds: int = 7 * 24 * 3600
    deleted_tenant_seconds: int = 7 * 24 * 3600  # for so long it can be restored
    max_weights_moved: int = 0
    max_concurrent_exports: int = 4
    features: FeatureLimit = field(default_factory=FeatureLimit)
    rescued: Path = Path("data/rescued")
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    first_settings: Mapping[str, Value] = field(default_factory=settings_of_new_tenants)
