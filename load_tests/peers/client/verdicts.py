"""What answers say: whether each example is an anomaly. Whoever says nothing does not raise an alarm."""

import re
from collections.abc import Callable

from load_tests.peers.client.jobs import Reading
from load_tests.service.http_answers import BadAnswer

LABEL = re.compile(rb'"label":(-?1)\b')
PREDICTED = re.compile(rb'"predicted":(-?1)\b')
SPAM_MARK = b'"BAYES_SPAM"'
UNDECIDED = 0.5


def verdicts(reading: Reading, answer: bytes) -> list[bool]:
    """One for each example that was asked about."""
    return READERS[reading](answer)


def _labels(pattern: re.Pattern[bytes]) -> Callable[[bytes], list[bool]]:
    def read(answer: bytes) -> list[bool]:
        found = pattern.findall(answer)
        if not found:
            raise BadAnswer(answer[:600].decode(errors="replace"))
        return [label == b"1" for label in found]

    return read


def _sign(answer: bytes) -> list[bool]:
    return [float(answer.split()[0]) > 0.0]


def _bayes(answer: bytes) -> list[bool]:
    """BAYES_SPAM among the symbols: more likely spam than not."""
    if b'"symbols"' not in answer:
        raise BadAnswer(answer[:600].decode(errors="replace"))
    return [SPAM_MARK in answer]


def _probability(answer: bytes) -> list[bool]:
    """Verdict and probability; nothing while there is no word list."""
    fields = answer.split()
    return [len(fields) > 1 and float(fields[1]) > UNDECIDED]


READERS: dict[Reading, Callable[[bytes], list[bool]]] = {
    "label": _labels(LABEL),
    "predicted": _labels(PREDICTED),
    "sign": _sign,
    "bayes": _bayes,
    "probability": _probability,
}
