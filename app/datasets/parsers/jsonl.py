"""JSON lines: a label, and one of features, url, email and text; other fields are ignored."""

from functools import partial

import msgspec

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import MalformedLine
from app.datasets.parsers.rows import Rows, parse_lines
from app.datasets.skipped_lines import Faults
from app.features.featurizer import KINDS, Kind, features_of
from app.learning.errors import BadExample
from app.learning.example import Example, example_of_json
from kernels.text.parser import LONGEST_NAME_BYTES

LABELS = {1: 1.0, -1: -1.0, 0: -1.0}
Raw = str | msgspec.UnsetType


class Line(msgspec.Struct):
    """One line; exactly one of its fields beside the label is there."""

    label: int
    features: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    url: Raw = msgspec.UNSET
    email: Raw = msgspec.UNSET
    text: Raw = msgspec.UNSET

    def raws(self) -> list[tuple[Kind, str]]:
        """What is there to be turned into features."""
        fields: dict[Kind, Raw] = {"url": self.url, "email": self.email, "text": self.text}
        return [(kind, raw) for kind, raw in fields.items() if raw is not msgspec.UNSET]


DECODER = msgspec.json.Decoder(Line)


def parse(block: Block, faults: Faults, featurizer: int) -> Batch:
    """Parse a block of lines."""
    return parse_lines(block, faults, partial(_add, featurizer))


def _add(featurizer: int, rows: Rows, text: bytes) -> None:
    line = _decode(text)
    if line.label not in LABELS:
        raise MalformedLine(f"{line.label} is not a label (1, -1 or 0)")
    raws = line.raws()
    if len(raws) + (line.features is not msgspec.UNSET) != 1:
        raise MalformedLine(f"there must be exactly one of features, {', '.join(KINDS[:-1])} and {KINDS[-1]}")
    if line.features is not msgspec.UNSET:
        rows.add(LABELS[line.label], _example(line.features))
    else:
        ((kind, raw),) = raws
        rows.add(LABELS[line.label], features_of(kind, raw, featurizer).example)


def _decode(text: bytes) -> Line:
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedLine(str(error)) from error
    except RecursionError:
        raise MalformedLine("the JSON is nested too deeply") from None


def _example(features: msgspec.Raw) -> Example:
    """The same as a service makes of it."""
    try:
        example = example_of_json(memoryview(features))
    except BadExample as error:
        raise MalformedLine(str(error)) from error
    if len(memoryview(features)) > LONGEST_NAME_BYTES:
        for name in example.names:
            if len(name.encode()) > LONGEST_NAME_BYTES:
                raise MalformedLine(f"the name {name[:40]!r}... is longer than {LONGEST_NAME_BYTES} bytes")
    return example
