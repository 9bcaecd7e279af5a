"""Shared by the parsers of text lines: labels, tokens in messages, and the loop over the lines of a block."""

from collections.abc import Callable

from app.datasets.batch import Batch, BatchBuilder
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors, MalformedLine

LABELS = {b"1": 1.0, b"+1": 1.0, b"-1": -1.0, b"0": -1.0}
LABEL_WORDS = LABELS | {b"spam": 1.0, b"ham": -1.0}
QUOTED_CHARACTERS = 40  # of a token in a message


def parse_lines(block: Block, errors: LineErrors, add_line: Callable[[BatchBuilder, bytes], None]) -> Batch:
    """Build a batch from the lines of a block; `add_line` raises MalformedLine for a bad one."""
    builder = BatchBuilder()
    for number, text in block.lines():
        try:
            add_line(builder, text)
        except MalformedLine as error:
            if not errors.record(number, str(error)):
                break
    return builder.batch()


def parse_label(word: bytes) -> float | None:
    """Return 1.0 or -1.0 for spam, ham, 1, -1 or 0; None for any other word."""
    return LABEL_WORDS.get(word.strip().lower())


def quote(token: bytes) -> str:
    """Quote a token for a message, shortened."""
    text = token.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "...")
