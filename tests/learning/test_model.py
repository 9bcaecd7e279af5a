import pytest

from app.learning.config import Value, config_of
from app.learning.example import example_of
from app.learning.model import Model
from kernels.registry import ALGORITHMS

each_algorithm = pytest.mark.parametrize("algorithm", ALGORITHMS)
EVERYTHING = 1e300


def trained(algorithm: str, **settings: Value) -> Model:
    """A model that saw `seldom` at first and then for long only `often`."""
    model = Model(config_of({"algorithm": algorithm, **settings}))
    for _ in range(3):
        model.learn(example_of({"seldom": 1.0}), 1)
    for _ in range(20):
        model.learn(example_of({"often": 1.0}), -1)
    return model


def score_of_seldom(model: Model) -> float:
    return model.score(example_of({"seldom": 1.0}))[0]


@each_algorithm
def test_a_model_that_lost_every_feature_starts_again(algorithm: str) -> None:
    model = trained(algorithm)
    assert model.remove(EVERYTHING, EVERYTHING) == 2
    model.learn(example_of({"new": 1.0}), 1)
    assert model.features == 1


@each_algorithm
def test_a_model_without_features_has_none_to_remove(algorithm: str) -> None:
    model = trained(algorithm)
    model.remove(EVERYTHING, EVERYTHING)
    assert model.remove(EVERYTHING, EVERYTHING) == 0


@each_algorithm
def test_removing_nothing_changes_no_score(algorithm: str) -> None:
    model = trained(algorithm)
    before = score_of_seldom(model)
    assert model.remove(-1.0, -1.0) == 0
    assert score_of_seldom(model) == before


@each_algorithm
def test_the_survey_shows_every_feature_once(algorithm: str) -> None:
    model = trained(algorithm)
    survey = model.survey()
    assert survey.keys.tolist() == sorted(example_of({"seldom": 1.0, "often": 1.0}).keys.tolist(), reverse=True)
    assert survey.weights.size == survey.evidence.size == 2


# The state of these algorithms is the weights: other settings affect later examples, not what was learnt.
WEIGHTS_STAY = [
    ("stg", {"eta": 9.0}),
    ("stg", {"lambda": 0.5}),
    ("stg", {"truncate_below": 0.0}),
    ("stg", {"algorithm": "fobos"}),
    ("fobos", {"eta": 9.0}),
    ("fobos", {"algorithm": "stg"}),
    ("fobos", {"algorithm": "stg", "truncate_below": 0.0}),
    ("ada-fobos", {"eta": 20.0}),
    ("ada-fobos", {"delta": 50.0}),
    ("ada-fobos", {"lambda": 0.5}),
]


@pytest.mark.parametrize(("algorithm", "change"), WEIGHTS_STAY)
def test_a_change_of_settings_leaves_the_weights_learnt_so_far(algorithm: str, change: dict[str, Value]) -> None:
    model = trained(algorithm, **{"lambda": 0.001})
    before = score_of_seldom(model)
    model.configure(model.config.changed(change))
    assert score_of_seldom(model) == pytest.approx(before, rel=1e-12)
