"""Runs one or several learners over one pass of a file."""

import sys
import time
from argparse import Namespace
from dataclasses import dataclass, field

import numpy as np

from app.cli.waiting import watched
from app.datasets.batch import Batch
from app.datasets.reader import read
from app.datasets.shuffle import shuffled
from app.learning.state import TenantState

SHOWN_FAULTS = 5


NOTHING = (np.zeros(1, np.int64), np.empty(0, np.uint64), np.empty(0), np.empty(0))
FEW_CHANGES = 0.1  # of the label changes that a random order would have: below this, the order gives labels away


@dataclass(slots=True)
class Learner:
    """A state under test, and the time spent on it."""

    state: TenantState
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Load the kernels before the clock runs."""
        self.state.learn_batch(*NOTHING)

    def learn(self, batch: Batch) -> None:
        """Test, then train."""
        start = time.perf_counter()
        self.state.learn_batch(batch.starts, batch.keys, batch.values, batch.labels)
        self.seconds += time.perf_counter() - start


@dataclass(slots=True)
class Pass:
    """What was seen of the file."""

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
        """Whether labels come in runs far longer than chance, so that the order itself tells the next one."""
        expected = 2.0 * self.positives * (self.examples - self.positives) / max(self.examples, 1)
        return expected > 1.0 / FEW_CHANGES and self.changes < FEW_CHANGES * expected

    def report(self, line: int, reason: str) -> None:
        """Remember a malformed line that was left out."""
        self.skipped += 1
        if len(self.faults) < SHOWN_FAULTS:
            self.faults.append(f"line {line}: {reason}")


def run(chosen: Namespace, learners: list[Learner], *, keep_names: bool = False) -> Pass:
    """Learn every example of the file with every learner, with a progress bar on a terminal."""
    seen = Pass()
    start = time.perf_counter()
    with watched(quiet=chosen.quiet) as watch:
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
                    _remember(learner.state, batch)
    seen.seconds = time.perf_counter() - start
    say_skipped(seen)
    return seen


def _remember(state: TenantState, batch: Batch) -> None:
    """Keep the names of features that are new."""
    keys, places = np.unique(batch.keys, return_index=True)
    new = state.names.unknown(keys)
    state.names.remember(keys[new], [batch.name_at(place) for place in places[new].tolist()])


def say_skipped(seen: Pass) -> None:
    """Name the first malformed lines that were left out, and count the others."""
    for fault in seen.faults:
        print(f"skipped {fault}", file=sys.stderr)
    if seen.skipped > len(seen.faults):
        print(f"skipped {seen.skipped - len(seen.faults):,} more malformed lines", file=sys.stderr)
