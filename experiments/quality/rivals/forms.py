"""The forms in which other learners get numbers. Both new ones know the whole stream beforehand, which favours them."""

import numpy as np

from experiments.examples import Examples
from kernels.arrays import Floats, Ints, Keys
from kernels.examples.canonical import canonical_batch

AS_GIVEN, STANDARDISED, BINS = "as given", "standardised", "one-hot bins"
BIN_COUNT = 20
MIX = np.uint64(0x9E3779B97F4A7C15)


def forms_of(stream: Examples) -> dict[str, Examples]:
    """Return all forms of a stream with numbers, each example of length 1 or about that; else only the stream."""
    if not stream.given or np.isin(stream.values, (0.0, 1.0)).all():
        return {AS_GIVEN: scaled(stream)}
    columns, features = stream.columns()
    order = np.argsort(columns, kind="stable")
    edges = np.searchsorted(columns[order], np.arange(features + 1))
    standardised, bins = np.empty(stream.values.size), np.zeros(stream.values.size, np.uint64)
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        places = order[first:last]
        standardised[places], bins[places] = _column(stream.values[places])
    length = np.sqrt(max(stream.values.size / len(stream), 1.0))  # of an example on average
    return {
        AS_GIVEN: scaled(stream),
        STANDARDISED: _with(stream, stream.keys, standardised / length),
        BINS: scaled(_with(stream, stream.keys ^ (bins * MIX), np.ones(stream.values.size))),
    }


def scaled(stream: Examples) -> Examples:
    starts, keys, values = canonical_batch(stream.starts, stream.keys, stream.values, True, np.uint64(0))  # noqa: FBT003
    return Examples(starts, keys, values, stream.labels, stream.raws)


def _with(stream: Examples, keys: Keys, values: Floats) -> Examples:
    return Examples(stream.starts, keys, values, stream.labels, stream.raws)


def _column(values: Floats) -> tuple[Floats, Ints]:
    """Standardise the values of a feature, and number their bins, which hold about as many values each.

    A feature that is always 1 is a word, not a number: it stays as it is.
    """
    if np.isin(values, (0.0, 1.0)).all():
        return values, np.zeros(values.size, np.uint64)
    deviation = values.std()
    inner = np.unique(np.quantile(values, np.linspace(0.0, 1.0, BIN_COUNT + 1)[1:-1]))
    return (values - values.mean()) / (deviation or 1.0), np.searchsorted(inner, values, side="right") + 1
