"""Blocks of whole lines from a stream of bytes."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.datasets.errors import DatasetError
from app.datasets.source import Source

BLOCK_BYTES = 1 << 20
LONGEST_LINE_BYTES = 1 << 26
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, each with its newline, and the number of the first line."""

    text: bytes
    first_line: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and text of each line that is not blank."""
        for number, line in enumerate(self.text.split(b"\n"), self.first_line):
            if line and not line.isspace():
                yield number, line.strip(b" \r")  # not tabs: the first field of a URL line may be empty

    @property
    def is_blank(self) -> bool:
        """Whether all lines are blank."""
        return not self.text.strip()


def blocks(source: Source, size: int = BLOCK_BYTES, longest_line: int = LONGEST_LINE_BYTES) -> Iterator[Block]:
    """Yield the lines of the source in blocks of about `size` bytes; only a longer line makes a longer block."""
    first_line = 1
    for text in _whole_lines(source, size, longest_line):
        yield Block(text.removeprefix(BYTE_ORDER_MARK) if first_line == 1 else text, first_line)
        first_line += text.count(b"\n")


def _whole_lines(source: Source, size: int, longest_line: int) -> Iterator[bytes]:
    """Yield pieces that end with a newline; the last line of the file gets one if it has none."""
    pending = bytearray()
    line_number = 1
    while piece := source.read(size):
        cut = piece.rfind(b"\n") + 1
        if len(pending) + (piece.find(b"\n") if cut else len(piece)) > longest_line:
            raise DatasetError(source.name, f"the line is longer than {longest_line:,} bytes", line_number)
        if cut:
            line_number += piece.count(b"\n")
            yield bytes(pending) + piece[:cut]
            pending = bytearray(piece[cut:])
        else:
            pending += piece
    if pending:
        yield bytes(pending) + b"\n"
