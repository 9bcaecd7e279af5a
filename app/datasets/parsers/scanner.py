"""Runs a kernel parser over a block and turns its error codes into sentences."""

import math
import re
from collections.abc import Callable

import numpy as np

from app.datasets.blocks import Block
from app.datasets.errors import LineErrors
from app.datasets.parsers.lines import quote
from kernels.arrays import Bytes, Ints
from kernels.examples.canonical import LARGEST_VALUE
from kernels.text import parser as codes
from kernels.text.parser import LONGEST_NAME_BYTES, Parsed

Parser = Callable[[Bytes, Parsed, Ints], int]

SENTENCES = {
    codes.BAD_LABEL: "{token} is not a label (1, -1 or 0)",
    codes.BAD_PAIR: "{token} is not index:value",
    codes.BAD_FEATURE: "{token} is not name:value",
    codes.BAD_NAMESPACE: "{token} is not namespace:scale",
    codes.BAD_IMPORTANCE: "importance {token} is not supported, only 1",
    codes.UNEXPECTED: "{token} is not allowed before the bar",
    codes.NO_LABEL: "there is no label before the bar",
    codes.NO_BAR: "there is no bar (|)",
    codes.TOO_LARGE: f"{{token}} is larger than {LARGEST_VALUE:g}",
    codes.TOO_LONG: f"the name {{token}} is longer than {LONGEST_NAME_BYTES} bytes",
}
NUMERIC = (codes.BAD_PAIR, codes.BAD_FEATURE, codes.BAD_NAMESPACE)
TOKEN = re.compile(rb"\|?[^\s|]*")


def scan(block: Block, parser: Parser, nonzeros: int, errors: LineErrors) -> Parsed:
    """Parse a block with at most `nonzeros` non-zeros, up to a malformed line that stops reading."""
    text = np.frombuffer(block.text, np.uint8)
    parsed = _allocate(codes.count(text, codes.NEWLINE), nonzeros)
    cursor = np.zeros(codes.CURSOR_SIZE, np.int64)
    while reason := parser(text, parsed, cursor):
        line_number = block.first_line + int(cursor[codes.LINE]) - 1
        if not errors.record(line_number, _sentence(reason, _token(block.text, int(cursor[codes.BLAMED])))):
            break
    return _trim(parsed, int(cursor[codes.EXAMPLES]))


def reread(parsed: Parsed, value_at: Callable[[int], float]) -> None:
    """Fill in the values that the kernel could not round (NaN) by `value_at`, given where their names start."""
    unrounded = np.flatnonzero(np.isnan(parsed.values))
    parsed.values[unrounded] = [value_at(start) for start in parsed.name_starts[unrounded].tolist()]


def _allocate(examples: int, nonzeros: int) -> Parsed:
    parsed = Parsed(
        starts=np.empty(examples + 1, np.int64),
        keys=np.empty(nonzeros, np.uint64),
        values=np.empty(nonzeros, np.float64),
        labels=np.empty(examples, np.float64),
        name_starts=np.empty(nonzeros, np.int64),
    )
    parsed.starts[0] = 0
    return parsed


def _trim(parsed: Parsed, examples: int) -> Parsed:
    nonzeros = int(parsed.starts[examples])
    return Parsed(
        starts=parsed.starts[: examples + 1],
        keys=parsed.keys[:nonzeros],
        values=parsed.values[:nonzeros],
        labels=parsed.labels[:examples],
        name_starts=parsed.name_starts[:nonzeros],
    )


def _token(text: bytes, start: int) -> bytes:
    match = TOKEN.match(text, start)
    assert match is not None
    return match[0]


def _sentence(reason: int, token: bytes) -> str:
    if reason in NUMERIC and not _is_finite(token.rpartition(b":")[2]):
        return f"{quote(token)} is not finite"
    if reason == codes.NO_LABEL and not token.startswith(b"|"):
        return f"there is no label before the bar: {quote(token)} is a tag, because it touches the bar or is quoted"
    return SENTENCES[reason].format(token=quote(token))


def _is_finite(number: bytes) -> bool:
    """Whether Python's `float` reads the text as anything but NaN or infinity."""
    try:
        return math.isfinite(float(number))
    except ValueError:
        return True
