"""An example as it was given: hashed feature names and their values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from app.learning.errors import BadExample, shown
from kernels.arrays import Floats, Keys
from kernels.dicts import read_dict
from kernels.examples import LARGEST_VALUE


@dataclass(frozen=True, slots=True)
class Example:
    """Keys and values in the order given; scaling and bias are the model's business.

    `names` may be empty: they only make weights readable.
    """

    keys: Keys
    values: Floats
    names: tuple[str, ...] = ()


def example_of(features: Mapping[str, float]) -> Example:
    """Hash the names and check the values of a feature dict."""
    given = features if type(features) is dict else dict(features)
    keys, values = np.empty(len(given), np.uint64), np.empty(len(given))
    if read_dict(id(given), keys, values) != keys.size:
        raise BadExample(_culprit(given))
    return Example(keys, values, tuple(given))


def _culprit(features: Mapping[object, object]) -> str:
    """Say what the kernel has refused."""
    for name, value in features.items():
        if not isinstance(name, str):
            return f"feature names must be text: {shown(name)} is {type(name).__name__}"
        if not name:
            return "a feature name is empty"
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            return f"a feature name is not valid Unicode: {shown(name)}"
        try:
            number = math.fsum([value])  # type: ignore[list-item]  # takes what a number is, and no text
        except (TypeError, OverflowError, ValueError):
            return f"feature {shown(name)} is {shown(value)}, not a number that fits"
        if not abs(number) <= LARGEST_VALUE:
            return f"feature {shown(name)} is {number}: values must be finite, at most {LARGEST_VALUE:g} in size"
    return "the features changed while they were read"
