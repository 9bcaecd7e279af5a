"""URL lists: `timestamp<TAB>label<TAB>url`; the timestamp may be empty and is not used."""

from functools import partial

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import MalformedLine
from app.datasets.parsers.rows import Rows, parse_lines
from app.datasets.parsers.scanner import quoted
from app.datasets.skipped_lines import Faults
from app.features.featurizer import features_of

LABELS = {b"1": 1.0, b"+1": 1.0, b"-1": -1.0, b"0": -1.0}
FIELDS = 3


def parse(block: Block, faults: Faults, featurizer: int) -> Batch:
    """Parse a block of lines."""
    return parse_lines(block, faults, partial(_add, featurizer))


def _add(featurizer: int, rows: Rows, text: bytes) -> None:
    fields = text.split(b"\t")
    if len(fields) != FIELDS:
        raise MalformedLine(f"{quoted(text)} is not timestamp, label and URL with tabs between them")
    _, label, url = fields
    if label not in LABELS:
        raise MalformedLine(f"{quoted(label)} is not a label (1, -1 or 0)")
    if not url:
        raise MalformedLine("the URL is empty")
    try:
        found = features_of("url", url.decode(), featurizer)
    except UnicodeDecodeError as error:
        raise MalformedLine(f"{quoted(url)} is not UTF-8") from error
    rows.add(LABELS[label], found.example)
