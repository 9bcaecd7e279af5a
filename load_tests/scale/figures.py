"""What was measured several times, and how it is told: the median, and between which values it lay."""

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One quantity, a value for each round."""

    rounds: list[float]

    @property
    def median(self) -> float:
        """The typical value."""
        return median(self.rounds)

    @property
    def least(self) -> float:
        """Of all rounds."""
        return min(self.rounds)

    @property
    def most(self) -> float:
        """Of all rounds."""
        return max(self.rounds)

    def told(self, places: int = 0) -> str:
        """Such as `7,671 (7,502..7,800)`; a single round has no spread."""
        middle = f"{self.median:,.{places}f}"
        if len(self.rounds) == 1:
            return middle
        return f"{middle} ({self.least:,.{places}f}..{self.most:,.{places}f})"


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of request, as fast as answers come."""

    rate: Figure  # answers per second
    p50: Figure  # milliseconds
    p99: Figure
    worker: Figure  # microseconds of processor time that a request takes in the workers, all together
    store: Figure  # the same in the store
    client: Figure  # cores that the client kept busy


@dataclass(frozen=True, slots=True)
class Idle:
    """Cores that are busy while nobody asks."""

    workers: float
    store: float
