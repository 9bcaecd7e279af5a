"""The digest of a state."""

import hashlib
from collections.abc import Iterable

import msgspec
import numpy as np

from app.learning.config import Config
from app.learning.prequential import Prequential
from kernels.arrays import Floats


def compute_digest(version: int, config: Config, counts: Prequential, learnt: Iterable[Floats]) -> str:
    """Hash configuration, counts, and the learnt arrays: scalars, rows in their order, matrix, statistics."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(msgspec.json.encode([version, config.stored], order="deterministic"))
    for array in counts.arrays():
        digest.update(array.data)
    for array in learnt:
        digest.update(np.ascontiguousarray(array).reshape(-1).data)
    return digest.hexdigest()
