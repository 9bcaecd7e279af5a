"""Runs a parser of `kernels` over a block and says in words what is wrong with a line."""

import math
import re
from collections.abc import Callable

import numpy as np

from app.datasets.blocks import Block
from app.datasets.skipped_lines import Faults
from kernels.arrays import Bytes, Ints
from kernels.examples.canonical import LARGEST_VALUE
from kernels.text import parser as parsing
from kernels.text.parser import LONGEST_NAME_BYTES, Parsed

Parser = Callable[[Bytes, Parsed, Ints], int]

SENTENCES = {
    parsing.BAD_LABEL: "{token} is not a label (1, -1 or 0)",
    parsing.BAD_PAIR: "{token} is not index:value",
    parsing.BAD_FEATURE: "{token} is not name:value",
    parsing.BAD_NAMESPACE: "{token} is not namespace:scale",
    parsing.BAD_IMPORTANCE: "importance {token} is not supported, only 1",
    parsing.UNEXPECTED: "{token} is unexpected before the bar",
    parsing.NO_LABEL: "there is no label before the bar",
    parsing.NO_BAR: "there is no bar (|)",
    parsing.TOO_LARGE: f"{{token}} is beyond {LARGEST_VALUE:g}",
    parsing.TOO_LONG: f"the name {{token}} is longer than {LONGEST_NAME_BYTES} bytes",
}
NUMERIC = (parsing.BAD_PAIR, parsing.BAD_FEATURE, parsing.BAD_NAMESPACE)
TOKEN = re.compile(rb"\|?[^\s|]*")
SHOWN = 40  # characters of a token in a message


def scan(block: Block, parser: Parser, nonzeros: int, faults: Faults) -> Parsed:
    """Parse a block that has at most so many non-zeros, up to a bad line that stops the reading."""
    text = np.frombuffer(block.text, np.uint8)
    parsed = _room(parsing.count(text, parsing.NEWLINE), nonzeros)
    cursor = np.zeros(parsing.CURSOR_SIZE, np.int64)
    while reason := parser(text, parsed, cursor):
        line_number = block.first_line + int(cursor[parsing.LINE]) - 1
        if not faults.note(line_number, _sentence(reason, _token(block.text, int(cursor[parsing.BLAMED])))):
            break
    return _filled(parsed, int(cursor[parsing.EXAMPLES]))


def reread(parsed: Parsed, value_at: Callable[[int], float]) -> None:
    """Let `value_at` find the values that the parser could not round, from where their names start."""
    rough = np.flatnonzero(np.isnan(parsed.values))
    parsed.values[rough] = [value_at(start) for start in parsed.name_starts[rough].tolist()]


def quoted(token: bytes) -> str:
    """Show a token in a message."""
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def _room(examples: int, nonzeros: int) -> Parsed:
    parsed = Parsed(
        starts=np.empty(examples + 1, np.int64),
        keys=np.empty(nonzeros, np.uint64),
        values=np.empty(nonzeros, np.float64),
        labels=np.empty(examples, np.float64),
        name_starts=np.empty(nonzeros, np.int64),
    )
    parsed.starts[0] = 0
    return parsed


def _filled(parsed: Parsed, examples: int) -> Parsed:
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
        return f"{quoted(token)} is not finite"
    if reason == parsing.NO_LABEL and not token.startswith(b"|"):
        return f"there is no label before the bar: {quoted(token)} touches it or is quoted, so it is a tag"
    return SENTENCES[reason].format(token=quoted(token))


def _is_finite(number: bytes) -> bool:
    """Whether Python's `float` reads the text as anything but NaN or infinity."""
    try:
        return math.isfinite(float(number))
    except ValueError:
        return True
