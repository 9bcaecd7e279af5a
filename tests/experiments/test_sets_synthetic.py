from functools import cache

import numpy as np
import pytest

from experiments.sets.synthetic import KEYS, SYNTHETIC, plane
from kernels.arrays import Floats

EXAMPLES = 20_000


@cache
def dense() -> tuple[Floats, Floats]:
    """Examples as a matrix, and their labels."""
    batches = list(SYNTHETIC.train(EXAMPLES))
    order = np.argsort(KEYS)
    columns = order[np.searchsorted(KEYS[order], np.concatenate([batch.keys for batch in batches]))]
    matrix = np.zeros((EXAMPLES, KEYS.size))
    matrix[np.repeat(np.arange(EXAMPLES), 300), columns] = np.concatenate([batch.values for batch in batches])
    return matrix, np.concatenate([batch.labels for batch in batches])


def test_an_example_has_100_effective_and_200_noisy_dimensions() -> None:
    matrix, _ = dense()
    assert matrix.shape == (EXAMPLES, 1_000)
    assert ((matrix[:, :100] != 0).sum(axis=1) == 100).all()
    assert ((matrix[:, 100:] != 0).sum(axis=1) == 200).all()


def test_labels_agree_with_the_plane() -> None:
    matrix, labels = dense()
    mean, _ = plane()
    assert (np.sign(matrix[:, :100] @ mean) == labels).all()


def test_the_plane_passes_beside_the_middle() -> None:
    _, labels = dense()
    assert (labels > 0).mean() == pytest.approx(0.79, abs=0.02)


def test_effective_dimensions_have_the_mean_and_variance_that_were_drawn() -> None:
    matrix, _ = dense()
    mean, deviations = plane()
    effective = matrix[:, :100]
    assert np.abs((effective.mean(axis=0) - mean) / deviations).max() < 4 / np.sqrt(EXAMPLES)
    assert effective.var(axis=0) == pytest.approx(deviations**2, rel=0.05)


def test_noise_has_a_variance_of_100_and_falls_on_all_dimensions_alike() -> None:
    matrix, _ = dense()
    noise = matrix[:, 100:]
    drawn = noise[noise != 0]
    assert drawn.mean() == pytest.approx(0.0, abs=0.05)
    assert drawn.var() == pytest.approx(100.0, rel=0.01)
    assert (noise != 0).mean(axis=0) == pytest.approx(200 / 900, rel=0.08)


def test_noise_does_not_tell_the_label() -> None:
    matrix, labels = dense()
    correlations = (matrix[:, 100:] * (labels - labels.mean())[:, None]).mean(axis=0)
    assert np.abs(correlations / matrix[:, 100:].std(axis=0)).max() < 5 / np.sqrt(EXAMPLES)


def test_means_and_variances_lie_in_the_ranges_of_the_paper() -> None:
    mean, deviations = plane()
    assert np.abs(mean).max() <= 1.0
    assert 0.5 <= (deviations**2).min() <= (deviations**2).max() <= 100.0


def test_there_are_as_many_examples_as_in_the_paper() -> None:
    assert SYNTHETIC.test is not None
    assert sum(map(len, SYNTHETIC.test(None))) == 10_000
    assert sum(map(len, SYNTHETIC.test(99_999))) == 10_000
