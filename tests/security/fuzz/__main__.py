"""`python -m tests.security.fuzz TARGET SECONDS SEED FILE`: fuzz one parser, in a process that may crash.

FILE holds the current input, so that a crash can be traced to it.
"""

import faulthandler
import resource
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.security.fuzz.targets import TARGETS, Target

INPUTS_PER_SEED = 100
SLOWEST_SECONDS = 10.0  # generous: much may be running on few cores
MOST_BYTES = 8 << 30  # no input may need more memory


def main(name: str, seconds: float, first_seed: int, file: Path) -> None:
    """Try inputs until the time is up, then print their number."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    end, number, tried = time.monotonic() + seconds, first_seed, 0
    while time.monotonic() < end:
        print(f"seed {number}", flush=True)  # noqa: T201 - read by the parent process
        tried += _run(TARGETS[name], number, file, end)
        number += 1
    print(f"{tried} inputs", flush=True)  # noqa: T201


def _run(target: Target, number: int, file: Path, end: float) -> int:
    tried = 0

    @seed(number)
    @settings(
        max_examples=INPUTS_PER_SEED,
        database=None,
        deadline=None,
        print_blob=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs())
    def run(sent: Any) -> None:  # noqa: ANN401 - depends on the target
        nonlocal tried
        if time.monotonic() > end:
            return
        tried += 1
        file.write_text(repr(sent), encoding="utf-8", errors="backslashreplace")
        begin = time.monotonic()
        target.check(sent)
        assert time.monotonic() - begin < SLOWEST_SECONDS, "the parser is far too slow"

    run()
    return tried


def main_with() -> None:
    """Run with the arguments of the command line."""
    name, seconds, first_seed, file = sys.argv[1:]
    main(name, float(seconds), int(first_seed), Path(file))


if __name__ == "__main__":
    main_with()
