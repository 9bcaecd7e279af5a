"""Vowpal Wabbit's daemon over TCP: a line to ask, a line with a label to teach."""

import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import msgspec

from load_tests.harness.processes import ended, free_port
from load_tests.peers.client.jobs import Reading, Request, Wire
from load_tests.peers.contenders.contender import Contender, Place
from load_tests.peers.contenders.families import Family
from load_tests.peers.examples import Example

BITS = "22"  # hardly any two features collide
SPECIAL = str.maketrans({":": "%c", "|": "%p", "%": "%%", " ": "%s", "\n": "%n", "\r": "%r", "\t": "%t"})
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class VowpalWabbit(Contender):
    """Some options; `weight` is that of an anomaly."""

    wire: ClassVar[Wire] = "lines"
    reading: ClassVar[Reading] = "sign"
    options: tuple[str, ...] = ()
    weight: float = 1.0

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:
        """Start it with a child for every connection: a child serves one at a time. They share the weights."""
        port = free_port()
        own = ["--port", str(port), "--num_children", str(connections), "--bit_precision", BITS, "--quiet"]
        command = [sys.executable, "-m", "load_tests.peers.learners.vw_daemon", *own, *self.options]
        with ended(Family(command, port, folder / "vw.log").start()) as daemon:
            daemon.wait_until(partial(_answers, port), PATIENCE_SECONDS)
            yield Place(port)

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """Lines without a label."""
        return [Request(_line(b"", each), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """Lines with a label, and the weight of an anomaly."""
        anomaly = b"1 %g " % self.weight
        return [Request(_line(anomaly if each.label > 0 else b"-1 ", each), learns=True) for each in examples]

    def absent(self) -> str | None:
        """Its package may be missing."""
        return None if find_spec("vowpalwabbit") else "the Python package vowpalwabbit is not installed"


def _line(head: bytes, example: Example) -> bytes:
    features: dict[str, float] = msgspec.json.decode(example.features)
    pairs = (f"{name.translate(SPECIAL)}:{value:g}" for name, value in features.items())
    return b"%b| %b\n" % (head, " ".join(pairs).encode())


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
            connection.sendall(b"|\n")
            return bool(connection.recv(100))
    except OSError:
        return False
