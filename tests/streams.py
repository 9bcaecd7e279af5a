"""Random labelled streams, dense for the references and named for the kernels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stream:
    """Examples as rows of a matrix, with labels that depend on them, so that there is something to learn."""

    x: Floats
    labels: list[int]

    def __iter__(self) -> Iterator[tuple[Floats, int]]:
        return zip(self.x, self.labels, strict=True)

    @property
    def dimension(self) -> int:
        return len(self.x.T)


def random_stream(
    seed: int, examples: int = 300, dimension: int = 40, active: int = 8, positive: float = 0.2
) -> Stream:
    """Anomalies are the share of examples that lie farthest in one direction, give or take some noise."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=dimension)
    x = np.zeros((examples, dimension))
    for row in x:
        places = rng.choice(dimension, size=rng.integers(0, active + 1), replace=False)
        row[places] = rng.normal(size=places.size) * 10.0 ** rng.integers(-1, 2)
    margins = x @ truth + rng.normal(size=examples)
    labels = np.where(margins > np.quantile(margins, 1.0 - positive), 1, -1)
    return Stream(x, labels.tolist())


def named(x: Floats) -> dict[str, float]:
    """The dense vector as a feature dict: f0, f1, ..."""
    return {f"f{i}": float(x[i]) for i in np.flatnonzero(x)}
