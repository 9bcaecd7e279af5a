"""An example: hashed feature names and their values, parsed from JSON or a dict."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, overload

import msgspec
import numpy as np

from app.learning.errors import BadExample, short_repr
from kernels.arrays import Floats, Ints, Keys
from kernels.examples.canonical import LARGEST_VALUE
from kernels.examples.dicts import read_dict
from kernels.text.json_features import CLOSE, HALF_WORD, SHORTEST_FEATURE, read_features, read_many

LONGEST_TEXT = (1 << 32) - 1  # bytes; the offsets of names in it are kept in half a word


class Example(msgspec.Struct, frozen=True):  # created in a fifth of the time of a dataclass
    """Keys and values in the order given; the model does scaling and bias.

    `names` only make weights readable. They may be empty; else there is one for each key, an empty string if unknown.
    The first `given` features are the caller's, whose numbers may be encoded; a featurizer found the others.
    """

    keys: Keys
    values: Floats
    names: Sequence[str] = ()
    given: int = 0


class Examples(msgspec.Struct, frozen=True):
    """Several examples in CSR form, all given by callers: example i is `starts[i]:starts[i + 1]` of keys and values."""

    starts: Ints
    keys: Keys
    values: Floats

    def __len__(self) -> int:
        """Return the number of examples."""
        return self.starts.size - 1


class NamesInText(Sequence[str]):
    """Names as spans of a text, decoded on access."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: Keys) -> None:
        self._text, self._spans = text, spans

    def __len__(self) -> int:
        """Return the number of features."""
        return self._spans.size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        """Return the name at an index, or the names of a slice."""
        if isinstance(index, slice):
            return NamesInText(self._text, self._spans[index])
        span = int(self._spans[index])
        return self._text[span >> int(HALF_WORD) : span & LONGEST_TEXT].decode()

    def sizes(self) -> Keys:
        """Return the size of each name in bytes."""
        return (self._spans & np.uint64(LONGEST_TEXT)) - (self._spans >> HALF_WORD)


def longest_name(names: Sequence[str]) -> tuple[str, int]:
    """Return the longest name and its size in bytes of UTF-8."""
    if isinstance(names, NamesInText):
        sizes = names.sizes()
        index = int(sizes.argmax())
        return names[index], int(sizes[index])
    name = max(names, key=lambda name: len(name.encode()))
    return name, len(name.encode())


def example_of(features: Mapping[str, float], *, is_given: bool = True) -> Example:
    """Hash the names and validate the values of a feature dict; a caller gave it, or else a featurizer made it."""
    given = features if type(features) is dict else dict(features)
    keys, values = np.empty(len(given), np.uint64), np.empty(len(given))
    if read_dict(id(given), keys, values) != keys.size:
        raise BadExample(_reason(given))
    return Example(keys, values, tuple(given), keys.size if is_given else 0)


def joined(given: Example, found: Example) -> Example:
    """Return the features of a caller, followed by those that a featurizer found; equal names add up."""
    keys, values = np.concatenate([given.keys, found.keys]), np.concatenate([given.values, found.values])
    return Example(keys, values, (*given.names, *found.names), given.given)


def example_of_json(raw: bytes | bytearray | memoryview) -> Example:
    """Parse a JSON object of features: the same example as `example_of` gives for its dict.

    A repeated name is refused. `true` is the value 1, `false` is no feature, and `"a": "text"` is the feature `a=text`.
    """
    text = raw if type(raw) is bytes else bytes(raw)
    if not text or text[-1] != CLOSE or len(text) > LONGEST_TEXT:
        return _parse_slowly(text)
    room = len(text) // SHORTEST_FEATURE
    keys, values, spans = np.empty(room, np.uint64), np.empty(room), np.empty(room, np.uint64)
    count = read_features(np.frombuffer(text, np.uint8), keys, values, spans)
    if count < 0:
        return _parse_slowly(text)
    return Example(keys[:count], values[:count], NamesInText(text, spans[:count]), count)


def examples_of_json(texts: Sequence[bytes | msgspec.Raw]) -> Examples | None:
    """Parse several feature objects in one call, without names; None if one of them needs `example_of_json`."""
    text = b"".join(texts)
    ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
    room = len(text) // SHORTEST_FEATURE
    keys, values, starts = np.empty(room, np.uint64), np.empty(room), np.empty(len(texts) + 1, np.int64)
    if not read_many(np.frombuffer(text, np.uint8), ends, keys, values, starts):
        return None
    count = starts[-1]
    return Examples(starts, keys[:count], values[:count])


class _Object(dict[str, Any]):
    """A JSON object that records a repeated name."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        repeated = (name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        self.repeated_name = next(repeated, None) if len(self) < len(pairs) else None


def _parse_slowly(text: bytes) -> Example:
    """Parse what the kernel does not: escapes in names, unusual numbers, texts, and invalid input."""
    try:
        # parse_int: an integer of any length becomes a float.
        features = json.loads(text.decode(), object_pairs_hook=_Object, parse_int=float)
    except UnicodeDecodeError as error:
        raise BadExample(f"the features are not valid UTF-8: {error}") from None
    except RecursionError:
        raise BadExample("the features are nested too deeply: they must be an object of names and numbers") from None
    except ValueError as error:
        raise BadExample(f"the features are not valid JSON: {error}") from None
    if not isinstance(features, _Object):
        raise BadExample(f"features must be an object of names and numbers, not {short_repr(features)}")
    if features.repeated_name is not None:
        raise BadExample(f"feature {short_repr(features.repeated_name)} is given twice")
    return example_of(_numeric(features))


def _numeric(features: Mapping[str, Any]) -> dict[str, float]:
    """Return features with numeric values: `name=text` with the value 1 for a text, nothing for false."""
    numbers: dict[str, float] = {}
    for name, value in features.items():
        if not name:
            raise BadExample("a feature name is empty")
        if value is False:
            continue
        feature, number = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, value)
        if not isinstance(number, float | bool):
            raise BadExample(
                f"feature {short_repr(name)} is {short_repr(value)}; it must be a number, true, false or a text"
            )
        if feature in numbers:
            raise BadExample(f"feature {short_repr(feature)} is given twice: a text value makes the feature name=text")
        numbers[feature] = number
    return numbers


def _reason(features: Mapping[object, object]) -> str:
    """Say why the kernel refused the features."""
    for name, value in features.items():
        if not isinstance(name, str):
            return f"feature names must be text: {short_repr(name)} is {type(name).__name__}"
        if not name:
            return "a feature name is empty"
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            return f"a feature name is not valid Unicode: {short_repr(name)}"
        try:
            number = math.fsum([value])  # type: ignore[list-item]  # accepts any number, and no text
        except (TypeError, OverflowError, ValueError):
            return f"feature {short_repr(name)} is {short_repr(value)}, not a number in range"
        if not abs(number) <= LARGEST_VALUE:
            return (
                f"feature {short_repr(name)} is {number}: values must be finite and at most {LARGEST_VALUE:g} in size"
            )
    return "the features changed while they were read"


def in_csr(parts: Sequence[Keys]) -> tuple[Ints, Keys]:
    """Concatenate the parts; return where each one starts (and the last one ends), and the result."""
    starts = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([part.size for part in parts], out=starts[1:])
    return starts, np.concatenate(parts)
