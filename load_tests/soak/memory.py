"""Memory over time, and whether it grows.

A service is judged over one life, from a start to the next stop. Its first minute is left out: tenants are loaded with
their first request, and the heap finds its size. Then the last third of the life is compared with the first third, by
their medians, so that a snapshot's copy counts for nothing. It may be a tenth more, because a worker remembers the
last events (32 MiB at most) to give them back to a store that has lost them, and fills that slowly. A leak of half a
kilobyte with every request would be found.

The store does grow: it keeps every label, and its id for a week. So it is judged by the label: what it holds more, by
the labels that were acknowledged meanwhile. Kept predictions leave it after a minute; if they did not, they would
come to some thousand bytes for each label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

WARM_UP_SECONDS = 60.0
LEAST_SECONDS = 240.0  # after that: in less, nothing can be told


@dataclass(frozen=True, slots=True)
class Sample:
    """Memory at a time, and how many labels had been acknowledged by then."""

    at: float
    bytes: int
    labels: int = 0


@dataclass(slots=True)
class Life:
    """A process from its start to its end."""

    name: str
    began: float
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Growth:
    """What a life was like early and late."""

    early: Sample
    late: Sample

    @property
    def ratio(self) -> float:
        """1 if nothing has grown."""
        return self.late.bytes / self.early.bytes

    @property
    def bytes_per_label(self) -> float | None:
        """None if there were no labels."""
        labels = self.late.labels - self.early.labels
        return (self.late.bytes - self.early.bytes) / labels if labels else None


def growth(life: Life) -> Growth | None:
    """None if the life was too short to tell."""
    samples = [sample for sample in life.samples if sample.at >= life.began + WARM_UP_SECONDS]
    if not samples or samples[-1].at - samples[0].at < LEAST_SECONDS:
        return None
    third = (samples[-1].at - samples[0].at) / 3.0
    return Growth(
        _middle([sample for sample in samples if sample.at <= samples[0].at + third]),
        _middle([sample for sample in samples if sample.at >= samples[-1].at - third]),
    )


def _middle(samples: Sequence[Sample]) -> Sample:
    """Of each figure by itself."""
    at, used, labels = ([getattr(each, name) for each in samples] for name in ("at", "bytes", "labels"))
    return Sample(median(at), int(median(used)), int(median(labels)))
