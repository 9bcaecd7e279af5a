"""JSON lines with a label and features, one of url, email and text, or both; other fields are ignored."""

from functools import partial

import msgspec

from app.datasets.batch import Batch, BatchBuilder
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors, MalformedLine
from app.datasets.parsers.lines import parse_lines
from app.features.featurizer import KINDS, Kind, features_of
from app.learning.errors import BadExample
from app.learning.example import Example, example_of_json, joined
from kernels.text.parser import LONGEST_NAME_BYTES

LABELS = {1: 1.0, -1: -1.0, 0: -1.0}
RawInput = str | msgspec.UnsetType


class Line(msgspec.Struct):
    """One line: the label, and features, a raw input, or both."""

    label: int
    features: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    url: RawInput = msgspec.UNSET
    email: RawInput = msgspec.UNSET
    text: RawInput = msgspec.UNSET

    def raw_inputs(self) -> list[tuple[Kind, str]]:
        """Return the raw inputs that are present."""
        fields: dict[Kind, RawInput] = {"url": self.url, "email": self.email, "text": self.text}
        return [(kind, raw) for kind, raw in fields.items() if raw is not msgspec.UNSET]


DECODER = msgspec.json.Decoder(Line)


def parse(block: Block, errors: LineErrors, featurizer: int) -> Batch:
    """Parse a block of lines."""
    return parse_lines(block, errors, partial(_add, featurizer))


def _add(featurizer: int, builder: BatchBuilder, text: bytes) -> None:
    line = _decode(text)
    if line.label not in LABELS:
        raise MalformedLine(f"{line.label} is not a label (1, -1 or 0)")
    raw_inputs = line.raw_inputs()
    examples = [] if line.features is msgspec.UNSET else [_example(line.features)]
    if len(raw_inputs) > 1 or not (raw_inputs or examples):
        raise MalformedLine(f"a line must have features, one of {', '.join(KINDS)}, or both")
    examples += [features_of(kind, raw, featurizer).example for kind, raw in raw_inputs]
    builder.add(LABELS[line.label], joined(*examples) if len(examples) > 1 else examples[0])


def _decode(text: bytes) -> Line:
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedLine(str(error)) from error
    except RecursionError:
        raise MalformedLine("the JSON is nested too deeply") from None


def _example(features: msgspec.Raw) -> Example:
    """Parse features exactly as the service does."""
    try:
        example = example_of_json(memoryview(features))
    except BadExample as error:
        raise MalformedLine(str(error)) from error
    if len(memoryview(features)) > LONGEST_NAME_BYTES:
        for name in example.names:
            if len(name.encode()) > LONGEST_NAME_BYTES:
                raise MalformedLine(f"the name {name[:40]!r}... is longer than {LONGEST_NAME_BYTES} bytes")
    return example
