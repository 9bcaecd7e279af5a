"""A hash of all that a log leads to: equal for equal logs, on every machine."""

import hashlib
from collections.abc import Iterable

import msgspec
import numpy as np

from app.learning.config import Config
from app.learning.prequential import Prequential
from kernels.arrays import Floats


def digest_of(version: int, config: Config, counts: Prequential, learnt: Iterable[Floats]) -> str:
    """Hash configuration, counts, and what was learnt: scalars, rows in the order of the table, matrix."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(msgspec.json.encode([version, config.told], order="deterministic"))
    for array in counts.arrays():
        digest.update(array.data)
    for array in learnt:
        digest.update(np.ascontiguousarray(array).reshape(-1).data)
    return digest.hexdigest()
