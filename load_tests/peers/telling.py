"""What the benchmark does, as it goes."""

import time

STARTED = time.monotonic()


def say(text: str) -> None:
    """Print a line with the time since the start."""
    print(f"[{time.monotonic() - STARTED:5.0f} s] {text}", flush=True)
