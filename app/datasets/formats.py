"""Detects the format of a dataset: by its file name, else by its first line."""

import re
from pathlib import Path
from typing import Literal, get_args

from app.datasets.blocks import Block
from app.datasets.errors import DatasetError

Format = Literal["libsvm", "vw", "jsonl", "urls", "texts", "mails"]
FORMATS: tuple[Format, ...] = get_args(Format)

SUFFIXES: dict[str, Format] = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".vw": "vw",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".tar": "mails",
    ".tgz": "mails",
    ".txz": "mails",
    ".tbz2": "mails",
}
TABBED = ".tsv"  # either URLs or texts
COMPRESSED = (".gz", ".xz", ".bz2")
# Tried in this order: a URL may contain a bar, and so may a comment in LIBSVM.
SHAPES: dict[Format, re.Pattern[bytes]] = {
    "jsonl": re.compile(rb"\s*\{"),
    "urls": re.compile(rb"[^\t]*\t(\+?1|-1|0)\t[^\t]+$"),
    "libsvm": re.compile(rb"\s*(#|[-+]?[\d.]+([eE][-+]?\d+)?\s*(\s\d+:\S+|#|$))"),
    "texts": re.compile(rb"(?i:spam|ham)\t|(\+?1|-1|0)\t[^|]"),
    "vw": re.compile(rb"[^|]*\|"),
}
ARCHIVE_MARK = slice(257, 262), b"ustar"


def by_name(path: str | Path) -> Format | None:
    """Return the format of a known file extension, else None. A folder holds mails."""
    if path != "-" and Path(path).is_dir():
        return "mails"
    return SUFFIXES.get(_suffix(path))


def by_first_line(block: Block, path: str | Path, name: str) -> Format:
    """Return the format that the first line of a block matches."""
    number, line = next(block.lines())
    if _suffix(path) == TABBED:
        return "urls" if SHAPES["urls"].match(line) or not SHAPES["texts"].match(line) else "texts"
    if block.text[ARCHIVE_MARK[0]] == ARCHIVE_MARK[1]:
        raise DatasetError(name, "the file is a tar archive; if it holds mails, use --format mails")
    for candidate, shape in SHAPES.items():
        if shape.match(line):
            return candidate
    raise DatasetError(name, f"the line matches no known format; choose one of {', '.join(FORMATS)}", number)


def _suffix(path: str | Path) -> str:
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower()
