"""Models that have already seen every feature, as a stream leaves them after a long time."""

from app.learning.config import config_of
from app.learning.model import Model
from load_tests.zipf import Stream


def filled(algorithm: str, every_feature: Stream) -> Model:
    """A model that has learnt every feature once, its table grown step by step on the way."""
    model = Model(config_of({"algorithm": algorithm, "max_features": 1 << 31}))
    model.stream(every_feature.starts, every_feature.keys, every_feature.values, every_feature.labels)
    assert model.features == every_feature.features
    return model
