"""Measurements in fresh processes: bytes per feature of a growing model, and import to first score."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from app.learning.config import config_of
from app.learning.model import Model
from kernels.learner import totals as place

STATUS = Path("/proc/self/status")
PEAK_RESET = Path("/proc/self/clear_refs")
FEATURES = 16_000_000
LEAST_FEATURES = 800  # a smaller model has a table of some kilobytes, whatever its number of features
LEAST_FEATURES_FOR_RSS = 100_000  # below, other pages of the process would count as the table's
WARM_UP_FEATURES = 30_000  # learnt before by another model, to load the code
RUNS = 9
NUMBA = "import numba"
SLUICE = """
from app.learning.config import config_of
from app.learning.example import example_of
from app.learning.model import Model
Model(config_of({"algorithm": "cs-ssol"})).score(example_of({"token:first": 1.0}))
"""
# Numba imports scipy where it finds it, which takes long. Sluice's own environment has none, so it is hidden here.
TIMED = """
import sys, time
sys.modules["scipy"] = None
start = time.perf_counter()
{}
print(time.perf_counter() - start)
"""
NOT_INHERITED = {"OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE"}  # a warm start has its bytecode, too


@dataclass(frozen=True, slots=True)
class Growth:
    """Just after a doubling, where a feature costs most: the size of the table, and the peak of the process."""

    features: int
    table_bytes_per_feature: float
    peak_bytes_per_feature: float | None


@dataclass(frozen=True, slots=True)
class Startup:
    """Seconds of importing Numba, and of import to first score, with compiled kernels and without."""

    numba: float
    warm: float
    cold: float


def growths() -> list[Growth]:
    answer = subprocess.run([sys.executable, "-m", __name__], capture_output=True, check=True)  # noqa: S603 - our own module
    return msgspec.json.decode(answer.stdout, type=list[Growth])


def startup() -> Startup:
    """Return medians of runs that take turns, and one run without compiled kernels."""
    _seconds(SLUICE)  # compiles if the cache is cold
    warm = [(_seconds(NUMBA), _seconds(SLUICE)) for _ in range(RUNS)]
    with TemporaryDirectory() as folder:
        cold = _seconds(SLUICE, NUMBA_CACHE_DIR=folder)
    numba, sluice = zip(*warm, strict=True)
    return Startup(median(numba), median(sluice), cold)


def reset_peak() -> None:
    """Start a new peak: VmHWM is now what is resident."""
    PEAK_RESET.write_text("5", encoding="ascii")


def resident_bytes(name: str) -> int:
    """Return VmRSS, which is now, or VmHWM, the peak; ru_maxrss would include the process that started this one."""
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def _seconds(code: str, **environment: str) -> float:
    """Time code in a fresh interpreter, whose own start is not counted."""
    command = [sys.executable, "-c", TIMED.format(code)]
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    answer = subprocess.run(command, capture_output=True, check=True, env=inherited | environment)  # noqa: S603 - our own code
    return float(answer.stdout)


def _grow_to(features: int) -> list[Growth]:
    rng = np.random.default_rng(0)
    model = Model(config_of({"max_features": 1 << 31}))
    reset_peak()
    before = resident_bytes("VmRSS")
    found: list[Growth] = []
    while model.features < features:
        known, bits = model.features, model.tally[place.BITS]
        # One example, so short that the number of features just before a doubling is known well.
        keys = np.sort(rng.integers(1, 2**64, max(1, known // 1000), np.uint64))
        model.stream(np.array([0, keys.size]), keys, np.full(keys.size, 0.1), np.ones(1))
        if model.tally[place.BITS] > bits and known >= LEAST_FEATURES:
            peak = (resident_bytes("VmHWM") - before) / known
            found.append(Growth(known, model.bytes / known, peak if known >= LEAST_FEATURES_FOR_RSS else None))
    return found


if __name__ == "__main__":
    _grow_to(WARM_UP_FEATURES)
    sys.stdout.buffer.write(msgspec.json.encode(_grow_to(FEATURES)))
