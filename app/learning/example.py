"""An example as it was given: hashed feature names and their values."""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from app.learning.errors import BadExample, shown
from kernels.arrays import Floats, Keys
from kernels.examples import LARGEST_VALUE, first_refused
from kernels.hashing import hash_names, key_of

SEPARATOR = "\0"


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
    if not features:
        return Example(np.empty(0, np.uint64), np.empty(0))
    if "" in features:
        raise BadExample("a feature name is empty")
    names = tuple(features)
    return Example(_keys(names), _values(features), names)


def _keys(names: tuple[str, ...]) -> Keys:
    keys = np.empty(len(names), np.uint64)
    try:
        text = SEPARATOR.join(names)
        if text.count(SEPARATOR) == len(names) - 1:
            hash_names(np.frombuffer(text.encode(), np.uint8), keys)
        else:  # a name contains the separator: rare, so one by one
            keys[:] = [key_of(name) for name in names]
    except TypeError as error:
        raise BadExample(f"feature names must be text: {error}") from None
    except UnicodeEncodeError:
        name = next(name for name in names if any("\ud800" <= letter <= "\udfff" for letter in name))
        raise BadExample(f"a feature name is not valid Unicode: {shown(name)}") from None
    return keys


def _values(features: Mapping[str, float]) -> Floats:
    try:
        values: Floats = np.frombuffer(bytearray(_packer(len(features))(*features.values())))
    except (struct.error, OverflowError):
        raise BadExample(_culprit(features)) from None
    refused = first_refused(values)
    if refused >= 0:
        name = list(features)[refused]
        raise BadExample(
            f"feature {shown(name)} is {values[refused]}: values must be finite, at most {LARGEST_VALUE:g} in size"
        )
    return values


@lru_cache(maxsize=1024)
def _packer(count: int) -> Callable[..., bytes]:
    """Packing a known number of floats is the fastest way from Python objects to an array; it refuses non-numbers."""
    return struct.Struct(f"{count}d").pack


def _culprit(features: Mapping[str, float]) -> str:
    for name, value in features.items():
        try:
            struct.pack("d", value)
        except (struct.error, OverflowError):
            return f"feature {shown(name)} is {shown(value)}, not a number that fits"
    raise AssertionError("every value packs alone")  # pragma: no cover
