"""Where an answer ends and what it says: as little of HTTP as needed, so that the client is never the bottleneck."""

import re
from collections.abc import Callable

from load_tests.harness.jobs import Verdict

SHOWN = 1000
LENGTH = b"content-length: "
UNDECIDED = 0.5


class BadAnswer(Exception):
    """An answer that is an error, or not what the request asks for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data[:SHOWN].decode(errors="replace"))


class HttpReader:
    """Reads the answers on one connection, one at a time: with a content-length, or in chunks."""

    def __init__(self) -> None:
        self.closes = False  # whether the server closes the connection after this answer
        self._held = b""

    def read(self, data: bytes) -> bytes | None:
        """Take received bytes; return the body once the answer is complete. BadAnswer unless its status is 2xx."""
        if self._held:
            data = self._held + data
        head, blank, rest = data.partition(b"\r\n\r\n")
        head = head.lower() + b"\r"
        body = None
        if blank and b"transfer-encoding: chunked" in head:
            body = _unchunked(rest)
        elif blank:
            body = rest if len(rest) >= length_of(head) else None
        if body is None:
            self._held = data
            return None
        if data[9:10] != b"2":
            raise BadAnswer(data)
        self._held = b""
        self.closes = b"connection: close" in head
        return body


class LineReader:
    """Reads answers of one line each."""

    closes = False

    def __init__(self) -> None:
        self._held = b""

    def read(self, data: bytes) -> bytes | None:
        """Take received bytes; return the line once it is complete."""
        self._held += data
        if not self._held.endswith(b"\n"):
            return None
        line, self._held = self._held, b""
        return line


def length_of(head: bytes) -> int:
    """The content-length of a head in lower case."""
    _, found, after = head.partition(LENGTH)
    if not found:
        raise BadAnswer(head)
    return int(after.partition(b"\r")[0])


def _unchunked(rest: bytes) -> bytes | None:
    if not rest.endswith(b"0\r\n\r\n"):
        return None
    parts: list[bytes] = []
    place = 0
    while (end := rest.find(b"\r\n", place)) >= 0:
        size = int(rest[place:end], 16)
        if size == 0:
            return b"".join(parts)
        parts.append(rest[end + 2 : end + 2 + size])
        place = end + 2 + size + 2
    return None


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
