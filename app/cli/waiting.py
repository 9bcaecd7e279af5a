"""What is shown on standard error while a file is read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from app.datasets.source import Observer


@contextmanager
def watched(*, quiet: bool) -> Iterator[Observer]:
    """A progress bar on a terminal, and sentences above it; neither if quiet."""
    with tqdm(unit="B", unit_scale=True, file=sys.stderr, disable=quiet or None, leave=False) as bar:

        def progress(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        def say(sentence: str) -> None:
            if not quiet:
                bar.write(sentence, file=sys.stderr)

        yield Observer(progress, say)
