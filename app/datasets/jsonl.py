"""JSON lines: `{"label": 1, "features": {"name": 0.5}}` or `{"label": -1, "url": "..."}`; other fields are ignored."""

import msgspec

from app.datasets.batch import Batch
from app.datasets.errors import MalformedLine
from app.datasets.faults import Faults
from app.datasets.lines import Block
from app.datasets.rows import Rows, parse_lines
from app.features.url import url_features
from kernels.examples import LARGEST_VALUE
from kernels.parsing import LONGEST_NAME_BYTES

LABELS = {1: 1.0, -1: -1.0, 0: -1.0}


class Line(msgspec.Struct):
    """One line; exactly one of `features` and `url` is there."""

    label: int
    features: dict[str, float | bool] | msgspec.UnsetType = msgspec.UNSET
    url: str | msgspec.UnsetType = msgspec.UNSET


DECODER = msgspec.json.Decoder(Line)


def parse(block: Block, faults: Faults) -> Batch:
    """Parse a block of lines."""
    return parse_lines(block, faults, _add)


def _add(rows: Rows, text: bytes) -> None:
    line = _decode(text)
    if line.label not in LABELS:
        raise MalformedLine(f"{line.label} is not a label (1, -1 or 0)")
    if (line.features is msgspec.UNSET) == (line.url is msgspec.UNSET):
        raise MalformedLine("there must be either features or a url")
    label = LABELS[line.label]
    if line.url is not msgspec.UNSET:
        names = url_features(line.url)
        rows.add(label, names, [1.0] * len(names))
    elif line.features is not msgspec.UNSET:
        _check(line.features)
        rows.add(label, line.features.keys(), map(float, line.features.values()))


def _decode(text: bytes) -> Line:
    try:
        return DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedLine(str(error)) from error


def _check(features: dict[str, float | bool]) -> None:
    for name, value in features.items():
        if not abs(value) <= LARGEST_VALUE:
            raise MalformedLine(f"{name!r}: {value} is beyond {LARGEST_VALUE:g}")
        if not name:
            raise MalformedLine("a feature has no name")
        if len(name) > LONGEST_NAME_BYTES // 4 and len(name.encode()) > LONGEST_NAME_BYTES:
            raise MalformedLine(f"the name {name[:40]!r}... is longer than {LONGEST_NAME_BYTES} bytes")
