"""What the client is asked to do, and what it found: passed between the processes as msgpack."""

from array import array

import msgspec
import numpy as np

from kernels.arrays import Floats


class Request(msgspec.Struct, frozen=True, array_like=True):
    """The bytes of a request. With a tail, something that never comes twice is put before it: a feedback_id."""

    head: bytes
    tail: bytes = b""


UNIQUE_BYTES = 20


class ClosedLoop(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Every connection asks, waits for the answer, and asks again: how much is served, and how long it takes then."""

    port: int
    requests: list[Request]
    connections: int
    warm_up_seconds: float = 0.3
    seconds: float = 0.0  # 0: until each request was sent once
    mark: bytes = b'"score":'
    marks: int = 1  # an answer in which the mark is not found so often is an error


class ConstantRate(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Kinds of requests, each at its rate, whatever the answers do: how long the slowest take."""

    port: int
    kinds: dict[str, list[Request]]
    per_second: float
    seconds: float
    connections: int = 16  # of each kind
    mark: bytes = b'"score":'


class Streaming(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """NDJSON both ways: blocks of lines are sent as fast as the connection takes them, while answers are read."""

    port: int
    head: bytes
    blocks: list[bytes]
    connections: int
    seconds: float
    warm_up_seconds: float = 0.3
    mark: bytes = b'"score":'


Job = ClosedLoop | ConstantRate | Streaming


class Done(msgspec.Struct, frozen=True):
    """Answers within the time that counted, and their latencies in seconds by kind; with the client's own work."""

    answers: int
    seconds: float
    all_seconds: float  # the warm-up included
    processor_seconds: float  # in all of them
    packed: dict[str, bytes]

    def latencies(self, kind: str = "") -> Floats:
        """In the order of the answers."""
        return np.frombuffer(self.packed[kind])


def pack(latencies: dict[str, list[float]]) -> dict[str, bytes]:
    """As `Done` carries them."""
    return {kind: array("d", found).tobytes() for kind, found in latencies.items()}
