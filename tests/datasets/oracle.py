"""Reference parsers in plain Python, line by line: slow, and easy to compare with the description of the formats."""

import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from app.datasets.batch import Batch
from kernels.feature_hash import key_of

Features = list[tuple[str, float]]
Example = tuple[float, Features]

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
BLANKS = " \t\r"


def examples(batches: Iterable[Batch]) -> list[Example]:
    """Return the examples of the batches with names; check that each key is the hash of its name."""
    return [example for batch in batches for example in _unpack(batch)]


def _unpack(batch: Batch) -> Iterator[Example]:
    assert batch.starts[0] == 0
    assert batch.starts[-1] == batch.keys.size == batch.values.size
    names = [batch.name_at(k) for k in range(batch.keys.size)]
    assert [key_of(name) for name in names] == batch.keys.tolist()
    for label, start, stop in zip(batch.labels.tolist(), batch.starts[:-1], batch.starts[1:], strict=True):
        yield label, list(zip(names[start:stop], batch.values[start:stop].tolist(), strict=True))


def parse(text: str, parse_line: Callable[[str], Example | None]) -> tuple[list[Example], list[int]]:
    """Return the examples of a file and the numbers of its bad lines."""
    found, bad = [], []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            example = parse_line(line)
        except ValueError:
            bad.append(number)
        else:
            found += [example] if example else []
    return found, bad


def libsvm(line: str) -> Example | None:
    words = _words(line.partition("#")[0])
    return (_label(words[0]), [_pair(word) for word in words[1:]]) if words else None


def vw(line: str) -> Example | None:
    if not _words(line):
        return None
    head, *spaces = line.split("|")
    if not spaces:
        raise ValueError(line)
    words = _words(head)
    if words and (head[-1] not in BLANKS or words[-1].startswith("'")):
        words.pop()
    if not words or len(words) > 2 or (len(words) == 2 and _decimal(words[1]) != 1):
        raise ValueError(line)
    return _label(words[0]), [feature for space in spaces for feature in _namespace(space)]


def _pair(word: str) -> tuple[str, float]:
    index, value = word.split(":")
    if not re.fullmatch("[0-9]+", index):
        raise ValueError(word)
    return index, _value(value, 1.0)


def _namespace(text: str) -> Features:
    head = re.split(f"[{BLANKS}]", text, maxsplit=1)[0]
    space, colon, scale = head.partition(":")
    if colon and not space:
        raise ValueError(text)
    factor = float(_decimal(scale)) if colon else 1.0
    prefix = f"{space}^" if space else ""
    return [_feature(word, prefix, factor) for word in _words(text[len(head) :])]


def _feature(word: str, prefix: str, factor: float) -> tuple[str, float]:
    name, colon, value = word.partition(":")
    if not name:
        raise ValueError(word)
    return prefix + name, _value(value if colon else "1", factor)


def _value(text: str, factor: float) -> float:
    _decimal(text)
    value = float(text) * factor
    if not abs(value) <= 1e100:
        raise ValueError(text)
    return value


def _label(text: str) -> float:
    return {Decimal(1): 1.0, Decimal(-1): -1.0, Decimal(0): -1.0}.get(_decimal(text)) or _refuse(text)


def _refuse(text: str) -> float:
    raise ValueError(text)


def _decimal(text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ValueError(text)
    return Decimal(text)


def _words(text: str) -> list[str]:
    return [word for word in re.split(f"[{BLANKS}]", text) if word]
