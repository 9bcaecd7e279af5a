"""What the client is asked to do, and what it found: passed between the processes as msgpack."""

from array import array
from typing import Literal

import msgspec
import numpy as np

from kernels.arrays import Floats

Wire = Literal["http", "lines", "programs"]
Reading = Literal["label", "predicted", "sign", "bayes", "probability"]


class Request(msgspec.Struct, frozen=True, array_like=True):
    """The bytes of a request; `judged` if its answer tells the verdicts that count, those before learning."""

    data: bytes
    learns: bool = False
    judged: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """Connections that each ask, wait for the answer, and ask again."""

    wire: Wire
    reading: Reading  # how verdicts stand in an answer
    requests: list[Request]
    port: int = 0
    folder: str = ""  # of programs
    connections: int = 1
    seconds: float = 0.0  # 0: until each request was sent once, in order
    warm_up_seconds: float = 0.3


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What came back within the time that counted."""

    seconds: float
    predicting: bytes  # latencies
    learning: bytes
    verdicts: bytes  # 1 for an anomaly, 0 for what is normal, in the order of the answers

    @property
    def predict_seconds(self) -> Floats:
        """How long each answer took."""
        return np.frombuffer(self.predicting)

    @property
    def learn_seconds(self) -> Floats:
        """How long each answer took."""
        return np.frombuffer(self.learning)


def pack(latencies: list[float]) -> bytes:
    """As `Done` carries them."""
    return array("d", latencies).tobytes()
