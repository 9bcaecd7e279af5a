"""Labelled texts: `label<TAB>text`; the label is spam, ham, 1, -1 or 0."""

from functools import partial

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import MalformedLine
from app.datasets.parsers.labels import label_of
from app.datasets.parsers.rows import Rows, parse_lines
from app.datasets.parsers.scanner import quoted
from app.datasets.skipped_lines import Faults
from app.features.featurizer import features_of


def parse(block: Block, faults: Faults, featurizer: int) -> Batch:
    """Parse a block of lines."""
    return parse_lines(block, faults, partial(_add, featurizer))


def _add(featurizer: int, rows: Rows, line: bytes) -> None:
    word, tab, text = line.partition(b"\t")
    if not tab:
        raise MalformedLine(f"{quoted(line)} is not label and text with a tab between them")
    label = label_of(word)
    if label is None:
        raise MalformedLine(f"{quoted(word)} is not a label (spam, ham, 1, -1 or 0)")
    rows.add(label, features_of("text", text, featurizer).example)
