"""LIBSVM files: `label index:value index:value ... # comment`; a feature's name is its index as written."""

import re
from dataclasses import dataclass

import numpy as np

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors
from app.datasets.parsers.scanner import reread, scan
from kernels.arrays import Ints
from kernels.text.libsvm import parse_libsvm
from kernels.text.parser import COLON, count

PAIR = re.compile(rb"[0-9]+:([^\s#]+)")


@dataclass(frozen=True, slots=True)
class IndexNames:
    """Names in the text, up to a colon."""

    text: bytes
    starts: Ints

    def __getitem__(self, position: int, /) -> str:
        """Return the index before the colon."""
        start = int(self.starts[position])
        return self.text[start : self.text.index(b":", start)].decode()


def parse(block: Block, errors: LineErrors) -> Batch:
    """Parse a block of lines."""
    text = block.text
    parsed = scan(block, parse_libsvm, count(np.frombuffer(text, np.uint8), COLON), errors)
    reread(parsed, lambda start: _value_at(text, start))
    names = IndexNames(text, parsed.name_starts)
    return Batch(parsed.starts, parsed.keys, parsed.values, parsed.labels, names, given=np.diff(parsed.starts))


def _value_at(text: bytes, start: int) -> float:
    match = PAIR.match(text, start)
    assert match is not None
    return float(match[1])
