"""Tab-separated lines: URLs as `timestamp<TAB>label<TAB>url` and texts as `label<TAB>text`.

The timestamp may be empty and is not used. The label of a text may also be the word spam or ham.
"""

from functools import partial

from app.datasets.batch import Batch, BatchBuilder
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors, MalformedLine
from app.datasets.parsers.lines import LABELS, parse_label, parse_lines, quote
from app.features.featurizer import features_of

URL_FIELDS = 3


def parse_urls(block: Block, errors: LineErrors, featurizer: int) -> Batch:
    """Parse a block of URL lines."""
    return parse_lines(block, errors, partial(_add_url, featurizer))


def parse_texts(block: Block, errors: LineErrors, featurizer: int) -> Batch:
    """Parse a block of text lines."""
    return parse_lines(block, errors, partial(_add_text, featurizer))


def _add_url(featurizer: int, builder: BatchBuilder, line: bytes) -> None:
    fields = line.split(b"\t")
    if len(fields) != URL_FIELDS:
        raise MalformedLine(f"{quote(line)} is not timestamp, label and URL separated by tabs")
    _, label, url = fields
    if label not in LABELS:
        raise MalformedLine(f"{quote(label)} is not a label (1, -1 or 0)")
    if not url:
        raise MalformedLine("the URL is empty")
    try:
        extraction = features_of("url", url.decode(), featurizer)
    except UnicodeDecodeError as error:
        raise MalformedLine(f"{quote(url)} is not UTF-8") from error
    builder.add(LABELS[label], extraction.example)


def _add_text(featurizer: int, builder: BatchBuilder, line: bytes) -> None:
    word, tab, text = line.partition(b"\t")
    if not tab:
        raise MalformedLine(f"{quote(line)} is not label and text separated by a tab")
    label = parse_label(word)
    if label is None:
        raise MalformedLine(f"{quote(word)} is not a label (spam, ham, 1, -1 or 0)")
    builder.add(label, features_of("text", text, featurizer).example)
