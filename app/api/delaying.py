"""Refusals that come late. Who is refused and asks again at once would else keep a worker busy with refusing."""

from typing import Final

HOLD_BACK: Final = "hold_back"  # where the scope has what answers later, if the server can do that
LEAST_SECONDS: Final = 0.1
MOST_SECONDS: Final = 2.0
PER_SECOND: Final = 500  # refusals that may be told in a second: a few percent of what a worker can do
GOLDEN: Final = 0.6180339887498949  # multiples of it, without their whole parts, lie evenly between 0 and 1


class Delay:
    """How long a refusal is held back, in one worker: the more of them wait, the longer."""

    def __init__(self) -> None:
        self.waiting = 0
        self._place = 0.0

    def seconds(self) -> float:
        """For the next one. Those that came together are not let go together: they would come together again."""
        self._place = (self._place + GOLDEN) % 1.0
        usual = min(max(self.waiting / PER_SECOND, LEAST_SECONDS), MOST_SECONDS)
        return usual * (0.75 + self._place / 2.0)
