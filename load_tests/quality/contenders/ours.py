"""Sluice itself, with the settings that it ships with unless others are named."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from app.learning.config import Value
from app.learning.state import TenantState
from load_tests.quality.contenders.contender import Options, Played
from load_tests.quality.contenders.names import OURS
from load_tests.quality.stream import Stream

MICROSECONDS_PER_NONZERO = 0.03


@dataclass(frozen=True, slots=True)
class Sluice:
    """A tenant's state under some settings."""

    name: str = OURS
    config: dict[str, Value] = field(default_factory=dict)
    limit: int | None = None
    tuned_on: int | None = None

    def seconds(self, examples: int, nonzeros: int) -> float:
        """About what one setting takes for a stream."""
        return 1e-6 * (MICROSECONDS_PER_NONZERO * nonzeros + examples)

    def settings(self, *, rare: bool) -> Sequence[Options]:  # noqa: ARG002 - the same for both: nothing is tuned
        """None but its own."""
        return [{}]

    def play(self, stream: Stream, settings: Sequence[Options]) -> list[Played]:
        """Test, then train, over a stream, anew for each of the settings."""
        return [self._played(stream) for _ in settings]

    def _played(self, stream: Stream) -> Played:
        state = TenantState(self.config)
        scores = state.learn_batch(stream.starts, stream.keys, stream.values, stream.labels)
        weights = state.model.survey().weights
        sparsity = 1.0 - int(np.count_nonzero(weights)) / weights.size if weights.size else None
        return Played(scores - state.model.threshold, sparsity)
