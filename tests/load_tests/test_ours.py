import numpy as np
import pytest

from app.learning.state import TenantState
from load_tests.quality.contenders.contender import told
from load_tests.quality.contenders.ours import Sluice
from load_tests.quality.memory import SHAPES, large_mail

from .contenders import noise


def test_ours_has_the_settings_that_it_ships_with() -> None:
    stream = noise(300)
    (played,) = Sluice().play(stream, [{}])
    scores = TenantState().learn_batch(stream.starts, stream.keys, stream.values, stream.labels)
    assert (played.scores == scores).all()


def test_every_play_starts_anew() -> None:
    some, same = Sluice().play(noise(300), [{}, {}])
    assert (some.scores == same.scores).all()


def test_nothing_is_learnt_of_an_empty_stream() -> None:
    (played,) = Sluice().play(noise(300).part(np.empty(0, np.int64)), [{}])
    assert (played.scores.size, played.sparsity) == (0, None)


def test_settings_are_told_in_words() -> None:
    assert told({"alpha": 1.0, "loss": "hinge"}) == "alpha 1.0, loss hinge"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_large_mail_has_its_size(shape: str) -> None:
    assert len(large_mail(shape, 100_000)) == 100_000
