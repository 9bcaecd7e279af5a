"""An example as it was given: hashed feature names and their values."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, overload

import msgspec
import numpy as np

from app.learning.errors import BadExample, shown
from kernels.arrays import Floats, Ints, Keys
from kernels.examples.canonical import LARGEST_VALUE
from kernels.examples.dicts import read_dict
from kernels.text.json_features import CLOSE, HALF_WORD, SHORTEST_FEATURE, read_features, read_many

LONGEST_TEXT = (1 << 32) - 1  # bytes; the places of names in it are kept in half a word


class Example(msgspec.Struct, frozen=True):  # made in a fifth of the time of a dataclass
    """Keys and values in the order given; scaling and bias are the model's business.

    `names` may be empty: they only make weights readable. Else there is one for each key, empty where it is not told.
    """

    keys: Keys
    values: Floats
    names: Sequence[str] = ()


class Examples(msgspec.Struct, frozen=True):
    """Several examples in CSR form: the i-th one from `starts[i]` up to `starts[i + 1]`."""

    starts: Ints
    keys: Keys
    values: Floats

    def __len__(self) -> int:
        """How many there are."""
        return self.starts.size - 1


class NamesInText(Sequence[str]):
    """Names where they stand in a text: made only when someone reads them."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: Keys) -> None:
        self._text, self._spans = text, spans

    def __len__(self) -> int:
        """As many as there are features."""
        return self._spans.size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        """The name at a place."""
        if isinstance(place, slice):
            return NamesInText(self._text, self._spans[place])
        span = int(self._spans[place])
        return self._text[span >> int(HALF_WORD) : span & LONGEST_TEXT].decode()

    def sizes(self) -> Keys:
        """How many bytes each of them has."""
        return (self._spans & np.uint64(LONGEST_TEXT)) - (self._spans >> HALF_WORD)


def longest_name(names: Sequence[str]) -> tuple[str, int]:
    """The longest of some names, and how many bytes of UTF-8 it has."""
    if isinstance(names, NamesInText):
        sizes = names.sizes()
        place = int(sizes.argmax())
        return names[place], int(sizes[place])
    name = max(names, key=lambda name: len(name.encode()))
    return name, len(name.encode())


def example_of(features: Mapping[str, float]) -> Example:
    """Hash the names and check the values of a feature dict."""
    given = features if type(features) is dict else dict(features)
    keys, values = np.empty(len(given), np.uint64), np.empty(len(given))
    if read_dict(id(given), keys, values) != keys.size:
        raise BadExample(_culprit(given))
    return Example(keys, values, tuple(given))


def example_of_json(raw: bytes | bytearray | memoryview) -> Example:
    """Hash the names and check the values of a feature object as JSON text: what `example_of` gives for its dict.

    A name that stands there twice is refused. What is true is worth 1, what is false is not there, and `"a": "text"`
    is the feature `a=text`.
    """
    text = raw if type(raw) is bytes else bytes(raw)
    if not text or text[-1] != CLOSE or len(text) > LONGEST_TEXT:
        return _read_slowly(text)
    room = len(text) // SHORTEST_FEATURE
    keys, values, spans = np.empty(room, np.uint64), np.empty(room), np.empty(room, np.uint64)
    count = read_features(np.frombuffer(text, np.uint8), keys, values, spans)
    if count < 0:
        return _read_slowly(text)
    return Example(keys[:count], values[:count], NamesInText(text, spans[:count]))


def examples_of_json(texts: Sequence[bytes | msgspec.Raw]) -> Examples | None:
    """Read several feature objects in one call, without their names; None if `example_of_json` has to see to one."""
    text = b"".join(texts)
    ends = np.fromiter(map(len, texts), np.int64, len(texts)).cumsum()
    room = len(text) // SHORTEST_FEATURE
    keys, values, starts = np.empty(room, np.uint64), np.empty(room), np.empty(len(texts) + 1, np.int64)
    if not read_many(np.frombuffer(text, np.uint8), ends, keys, values, starts):
        return None
    count = starts[-1]
    return Examples(starts, keys[:count], values[:count])


class _Object(dict[str, Any]):
    """A JSON object that remembers whether a name stood in it twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        repeated = (name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        self.twin = next(repeated, None) if len(self) < len(pairs) else None


def _read_slowly(text: bytes) -> Example:
    """Read what the kernel has not taken: escapes in names, unusual numbers, words, or something to refuse."""
    try:
        features = json.loads(
            text.decode(), object_pairs_hook=_Object, parse_int=float
        )  # an integer of any length is a float
    except UnicodeDecodeError as error:
        raise BadExample(f"the features are not valid UTF-8: {error}") from None
    except RecursionError:
        raise BadExample("the features are nested too deeply: they must be an object of names and numbers") from None
    except ValueError as error:
        raise BadExample(f"the features are not valid JSON: {error}") from None
    if not isinstance(features, _Object):
        raise BadExample(f"features must be an object of names and numbers, not {shown(features)}")
    if features.twin is not None:
        raise BadExample(f"feature {shown(features.twin)} is named twice")
    return example_of(_as_numbers(features))


def _as_numbers(features: Mapping[str, Any]) -> dict[str, float]:
    """Words become names: a text is a feature of its own, worth 1; true is worth 1, and what is false is not there."""
    numbers: dict[str, float] = {}
    for name, value in features.items():
        if not name:
            raise BadExample("a feature name is empty")
        if value is False:
            continue
        told, worth = (f"{name}={value}", 1.0) if isinstance(value, str) else (name, value)
        if not isinstance(worth, float | bool):
            raise BadExample(f"feature {shown(name)} is {shown(value)}; it must be a number, true, false or a text")
        if told in numbers:
            raise BadExample(f"feature {shown(told)} is named twice: a text makes a name of its own")
        numbers[told] = worth
    return numbers


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
