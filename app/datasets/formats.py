"""Which format a file has: by its suffix or, failing that, by its first line."""

import re
from pathlib import Path
from typing import Literal, get_args

from app.datasets.errors import DatasetError
from app.datasets.lines import Block

Format = Literal["libsvm", "vw", "jsonl", "urls"]
FORMATS: tuple[Format, ...] = get_args(Format)

SUFFIXES: dict[str, Format] = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".vw": "vw",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tsv": "urls",
}
COMPRESSED = (".gz", ".xz", ".bz2")
# In the order in which they are tried: a URL may contain a bar, and so may a comment in LIBSVM.
SHAPES: dict[Format, re.Pattern[bytes]] = {
    "jsonl": re.compile(rb"\s*\{"),
    "urls": re.compile(rb"[^\t]*\t(\+?1|-1|0)\t[^\t]+$"),
    "libsvm": re.compile(rb"\s*(#|[-+]?[\d.]+([eE][-+]?\d+)?\s*(\s\d+:\S+|#|$))"),
    "vw": re.compile(rb"[^|]*\|"),
}


def by_suffix(path: str | Path) -> Format | None:
    """Return the format that the name of the file tells; `.txt` and others tell none."""
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return SUFFIXES.get(name.suffix.lower())


def by_first_line(block: Block, name: str) -> Format:
    """Return the format that the first line of a block looks like."""
    number, line = next(block.lines())
    for candidate, shape in SHAPES.items():
        if shape.match(line):
            return candidate
    raise DatasetError(name, f"this is not a line of any known format; name one of {', '.join(FORMATS)}", number)
