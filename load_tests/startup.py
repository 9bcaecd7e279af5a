"""From a fresh process to the first score, beside importing Numba alone.

Numba imports scipy where it finds it, which takes long. It is installed here for scikit-learn only, so it is hidden:
the environment that Sluice runs in has none.
"""

import os
import subprocess
import sys
from statistics import median
from tempfile import TemporaryDirectory

RUNS = 9
NUMBA = "import numba"
SLUICE = """
from app.learning.config import config_of
from app.learning.example import example_of
from app.learning.model import Model
Model(config_of({"algorithm": "cs-ssol"})).score(example_of({"token:first": 1.0}))
"""
TIMED = """
import sys, time
sys.modules["scipy"] = None
start = time.perf_counter()
{}
print(time.perf_counter() - start)
"""
NOT_INHERITED = {"OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE"}  # a warm start has its bytecode, too


def warm_seconds() -> tuple[float, float]:
    """Importing Numba, and import to first score with a warm cache: medians of runs that take turns."""
    _seconds(SLUICE)  # compiles if the cache is cold
    numba, sluice = [], []
    for _ in range(RUNS):
        numba.append(_seconds(NUMBA))
        sluice.append(_seconds(SLUICE))
    return median(numba), median(sluice)


def cold_seconds() -> float:
    """Import to first score where nothing has been compiled yet."""
    with TemporaryDirectory() as folder:
        return _seconds(SLUICE, NUMBA_CACHE_DIR=folder)


def _seconds(code: str, **environment: str) -> float:
    """What the code takes inside a fresh interpreter, whose own start is not counted."""
    command = [sys.executable, "-c", TIMED.format(code)]
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    answer = subprocess.run(command, capture_output=True, check=True, env=inherited | environment)  # noqa: S603 - our own code
    return float(answer.stdout)
