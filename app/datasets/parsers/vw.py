"""Vowpal Wabbit files: `label importance 'tag |namespace:scale name:value name ...`.

A feature is named `namespace^name`, or `name` in the unnamed namespace.
"""

import re
from dataclasses import dataclass

import numpy as np

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors
from app.datasets.parsers.scanner import reread, scan
from kernels.arrays import Ints
from kernels.text.parser import RETURN, SPACE, TAB, count
from kernels.text.vw import parse_vw

WORD = re.compile(rb"([^\s:|]*)(?::([^\s|]*))?")  # name and value of a feature, or namespace and scale


@dataclass(frozen=True, slots=True)
class NamespacedNames:
    """Names in the text, each after the bar and the name of its namespace."""

    text: bytes
    starts: Ints

    def __getitem__(self, position: int, /) -> str:
        """Return `namespace^name`, or `name` in the unnamed namespace."""
        namespace, name = (
            word[1].decode("utf-8", "backslashreplace") for word in _words(self.text, self.starts[position])
        )
        return f"{namespace}^{name}" if namespace else name


def parse(block: Block, errors: LineErrors) -> Batch:
    """Parse a block of lines."""
    text = np.frombuffer(block.text, np.uint8)
    blanks = sum(count(text, blank) for blank in (SPACE, TAB, RETURN))  # at least one before each feature
    parsed = scan(block, parse_vw, blanks, errors)
    reread(parsed, lambda start: _value_at(block.text, start))
    names = NamespacedNames(block.text, parsed.name_starts)
    return Batch(parsed.starts, parsed.keys, parsed.values, parsed.labels, names, given=np.diff(parsed.starts))


def _value_at(text: bytes, start: int) -> float:
    scale, value = (float(word[2] or 1) for word in _words(text, start))
    return value * scale


def _words(text: bytes, start: int) -> list[re.Match[bytes]]:
    """Match the namespace of the feature at `start`, and the feature."""
    words = [WORD.match(text, place) for place in (text.rindex(b"|", 0, start) + 1, start)]
    return [word for word in words if word is not None]
