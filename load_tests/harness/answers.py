"""The verdicts in an answer."""

import re
from collections.abc import Callable

from load_tests.harness.jobs import Verdict

SHOWN = 1000
UNDECIDED = 0.5


class BadAnswer(Exception):
    """An answer that is an error, or not what the request asks for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data[:SHOWN].decode(errors="replace"))


def _labels(name: bytes) -> Callable[[bytes], list[bool]]:
    pattern = re.compile(rb'"%b":(-?1)\b' % name)

    def read(answer: bytes) -> list[bool]:
        if not (found := pattern.findall(answer)):
            raise BadAnswer(answer)
        return [label == b"1" for label in found]

    return read


def _bayes(answer: bytes) -> list[bool]:
    """BAYES_SPAM among the symbols means: more likely spam than not."""
    if b'"symbols"' not in answer:
        raise BadAnswer(answer)
    return [b'"BAYES_SPAM"' in answer]


def _probability(answer: bytes) -> list[bool]:
    """Verdict and probability; nothing while there is no word list."""
    fields = answer.split()
    return [len(fields) > 1 and float(fields[1]) > UNDECIDED]


# Whether each example is an anomaly; no statement counts as normal.
VERDICTS: dict[Verdict, Callable[[bytes], list[bool]]] = {
    "label": _labels(b"label"),
    "predicted": _labels(b"predicted"),
    "sign": lambda answer: [float(answer.split()[0]) > 0.0],
    "bayes": _bayes,
    "probability": _probability,
}
