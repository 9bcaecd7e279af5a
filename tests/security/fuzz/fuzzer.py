"""Run a fuzzer in its own process, and report how it ended."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.services import ROOT

START_SECONDS = 120.0  # generous: the kernels may have to be compiled
LONGEST_SHOWN = 4000
FUZZ = "from tests.security.fuzz.__main__ import main_with; main_with()"


def failure(name: str, seconds: float, seed: int, file: Path, before: str = "") -> str | None:
    """Return how a parser fails and how to reproduce it, or None. `before` is Python code to run first."""
    command = [sys.executable, "-c", f"{before}\n{FUZZ}", name, str(seconds), str(seed), str(file)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            check=False,
            timeout=seconds + START_SECONDS,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"{name} hangs with {_tried(file)}; FUZZ_SEED={seed}"
    if done.returncode == 0:
        return None
    how = f"died of {signal.Signals(-done.returncode).name} with {_tried(file)}" if done.returncode < 0 else "fails"
    seeds = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("seed ")]
    return f"{name} {how}; FUZZ_SEED={seeds[-1] if seeds else seed}\n{done.stderr[-LONGEST_SHOWN:]}"


def _tried(file: Path) -> str:
    return file.read_text(encoding="utf-8")[:LONGEST_SHOWN] if file.exists() else "no input"
