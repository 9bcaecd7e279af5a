"""The progress bar on standard error while bytes are read or sent."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

from app.cli.output import console
from app.datasets.source import Observer


@contextmanager
def progress_bar(*, quiet: bool = False) -> Iterator[Observer]:
    """Show a progress bar on a terminal, and sentences above it; show neither if quiet."""
    screen = console(sys.stderr)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(
        *columns,
        console=screen,
        transient=True,
        redirect_stdout=False,  # standard output may be a pipe, which must get what is printed meanwhile
        redirect_stderr=False,
        disable=quiet or not screen.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None)

        def progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        def say(sentence: str) -> None:
            if not quiet:
                screen.print(sentence, soft_wrap=True)

        yield Observer(progress, say)
