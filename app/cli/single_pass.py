"""One pass over a file with one or several learners."""

import time
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from app.cli.output import warn
from app.cli.progress import progress_bar
from app.cli.reliability import Reliability
from app.datasets.batch import Batch
from app.datasets.reader import read
from app.datasets.shuffle import shuffled
from app.learning.state import TenantState

SHOWN_FAULTS: Final = 5
TESTED_AT_ONCE: Final = 64  # examples whose probabilities are taken before they are learnt together
EMPTY_BATCH: Final = (np.zeros(1, np.int64), np.empty(0, np.uint64), np.empty(0), np.empty(0), np.empty(0, np.int64))
FEW_CHANGES: Final = 0.1  # share of the label changes of a random order; below it, the file is sorted by label


@dataclass(slots=True)
class Learner:
    """A state under test, the time spent on it, and the reliability of its probabilities if that is wanted."""

    state: TenantState
    seconds: float = 0.0
    reliability: Reliability | None = None

    def __post_init__(self) -> None:
        """Load the kernels before the time is measured."""
        self.state.learn_batch(*EMPTY_BATCH)

    def learn(self, batch: Batch) -> None:
        """Test, then train."""
        for part in [batch] if self.reliability is None else batch.split(TESTED_AT_ONCE):
            if self.reliability is not None:
                self.reliability.add(self._probabilities(part), part.labels.tolist())
            start = time.perf_counter()
            self.state.learn_batch(part.starts, part.keys, part.values, part.labels, part.given)
            self.seconds += time.perf_counter() - start

    def _probabilities(self, batch: Batch) -> list[float | None]:
        model = self.state.model
        scores = model.scores(*model.canonical(batch.starts, batch.keys, batch.values, batch.given))
        return [self.state.probability(score) for score in scores.tolist()]


@dataclass(slots=True)
class Pass:
    """Counts of one pass over a file."""

    examples: int = 0
    nonzeros: int = 0
    skipped: int = 0
    positives: int = 0
    changes: int = 0
    seconds: float = 0.0
    last_label: float | None = None
    faults: list[str] = field(default_factory=list)

    def see(self, batch: Batch) -> None:
        """Count a batch, and how often its label differs from the one before."""
        self.examples += len(batch)
        self.nonzeros += batch.keys.size
        self.positives += int(np.count_nonzero(batch.labels > 0.0))
        if self.last_label is not None and batch.labels[0] != self.last_label:
            self.changes += 1
        self.changes += int(np.count_nonzero(np.diff(batch.labels)))
        self.last_label = float(batch.labels[-1])

    @property
    def is_sorted_by_label(self) -> bool:
        """Whether labels come in runs far longer than chance, so that the order alone predicts the next one."""
        expected = 2.0 * self.positives * (self.examples - self.positives) / max(self.examples, 1)
        return expected > 1.0 / FEW_CHANGES and self.changes < FEW_CHANGES * expected

    def report(self, line: int, reason: str) -> None:
        """Count a malformed line that was skipped; keep the first reasons."""
        self.skipped += 1
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append(f"line {line}: {reason}")


def run(chosen: Namespace, learners: list[Learner], *, keep_names: bool = False) -> Pass:
    """Learn every example of the file with every learner, with a progress bar on a terminal."""
    seen = Pass()
    start = time.perf_counter()
    with progress_bar(quiet=chosen.quiet) as watch:
        source = read(
            chosen.file,
            format=chosen.format,
            featurizer=chosen.featurizer,
            on_error=chosen.on_error,
            report=seen.report,
            observer=watch,
        )
        for batch in source if chosen.shuffle is None else shuffled(source, chosen.shuffle):
            seen.see(batch)
            for learner in learners:
                learner.learn(batch)
                if keep_names:
                    _keep_names(learner.state, batch)
    seen.seconds = time.perf_counter() - start
    report_skipped(seen)
    return seen


def _keep_names(state: TenantState, batch: Batch) -> None:
    """Store the names of new features."""
    keys, places = np.unique(batch.keys, return_index=True)
    new = state.names.unknown(keys)
    state.names.remember(keys[new], [batch.name_at(place) for place in places[new].tolist()])


def report_skipped(seen: Pass) -> None:
    """Print the first malformed lines that were skipped, and the number of others."""
    for fault in seen.faults:
        warn(f"skipped {fault}")
    if seen.skipped > len(seen.faults):
        warn(f"skipped {seen.skipped - len(seen.faults):,} more malformed lines")
