"""Bytes per feature of a diagonal second-order model that keeps meeting new features, in a process of its own."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from kernels.learner import totals as place

FEATURES = 16_000_000
LEAST_FEATURES = 800  # a smaller model has a table of some kilobytes, whatever its number of features
LEAST_FEATURES_FOR_RSS = 100_000  # below, pages of other things would count as the table's
WARM_UP_FEATURES = 30_000  # learnt before by another model: loads the code, and whatever else is not the table
STATUS = Path("/proc/self/status")
PEAK_RESET = Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True)
class Growth:
    """Just after a doubling, where a feature costs most: the table's own size, and the peak of the process so far."""

    features: int
    table_bytes_per_feature: float
    peak_bytes_per_feature: float | None


def growths() -> list[Growth]:
    """Grow a model in a fresh process."""
    answer = subprocess.run([sys.executable, "-m", __name__], capture_output=True, check=True)  # noqa: S603 - our own module
    return msgspec.json.decode(answer.stdout, type=list[Growth])


def worst(found: list[Growth]) -> float:
    """The most bytes that a feature ever took, growth included."""
    return max(max(g.table_bytes_per_feature, g.peak_bytes_per_feature or 0.0) for g in found)


def _grow_to(features: int) -> list[Growth]:
    rng = np.random.default_rng(0)
    model = Model(config_of({"max_features": 1 << 31}))
    PEAK_RESET.write_text("5", encoding="ascii")
    before = _resident_bytes("VmRSS")
    found: list[Growth] = []
    while model.features < features:
        known, bits = model.features, model.tally[place.BITS]
        _learn_new_features(model, rng)
        if model.tally[place.BITS] > bits and known >= LEAST_FEATURES:
            peak = (_resident_bytes("VmHWM") - before) / known
            found.append(Growth(known, model.bytes / known, peak if known >= LEAST_FEATURES_FOR_RSS else None))
    return found


def _learn_new_features(model: Model, rng: np.random.Generator) -> None:
    """One example, so short that the number of features just before a doubling is known well."""
    keys = np.sort(rng.integers(1, 2**64, max(1, model.features // 1000), np.uint64))
    model.stream(np.array([0, keys.size]), keys, np.full(keys.size, 0.1), np.ones(1))


def _resident_bytes(name: str) -> int:
    """VmRSS is now, VmHWM the peak so far."""
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    _grow_to(WARM_UP_FEATURES)
    sys.stdout.buffer.write(msgspec.json.encode(_grow_to(FEATURES)))
