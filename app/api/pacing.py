"""Long work on the event loop, in slices: other requests get their turn in between."""

import time

SLICE_SECONDS = 0.001


class Pace:
    """Says when a slice of work is over. Asking costs some 60 ns."""

    def __init__(self) -> None:
        self._end = time.perf_counter() + SLICE_SECONDS

    def is_over(self) -> bool:
        """Whether it is time to let others work; if so, the next slice begins."""
        now = time.perf_counter()
        if now < self._end:
            return False
        self._end = now + SLICE_SECONDS
        return True
