"""What the demo shows while it runs: a live panel on a terminal, otherwise lines."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from app.cli.demo.tally import RECENT, Tally, as_served, by_model
from app.cli.output import percent

DRAW_SECONDS: Final = 0.2
LINE_SECONDS: Final = 3.0
CURVE_POINTS: Final = 60
PANEL_WIDTH: Final = 76
LEVELS, ASCII_LEVELS = "▁▂▃▄▅▆▇█", "_.-=+*%#"


class Display(Protocol):
    """Where a run is shown."""

    def update(self, tally: Tally) -> None:
        """Show the current figures, if the last ones are old enough."""

    def say(self, sentence: str) -> None:
        """Print a sentence that stays. Threads may call it."""

    def mark_change(self) -> None:
        """Show that the attackers change now."""

    def finish(self, tally: Tally) -> None:
        """Show the last figures."""


@contextmanager
def display(labels: int | None, console: Console) -> Iterator[Display]:
    """Show a panel on a terminal, else lines; `labels` is their number, if the run ends."""
    if not console.is_interactive:
        yield Lines(console)
        return
    live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    try:
        yield LivePanel(labels, live)
    finally:
        live.stop()  # shows the cursor again


def rate(share: float | None) -> str:
    """A share in percent with its sign, or a dash where it is undefined."""
    return "-" if share is None else f"{percent(share, 1)}%"


class Lines:
    """A line every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = time.monotonic()
        self._next = self._begin + LINE_SECONDS

    def update(self, tally: Tally) -> None:
        """Print a line every few seconds."""
        now = time.monotonic()
        if now < self._next or not tally.labels:
            return
        self._next = now + LINE_SECONDS
        latest = tally.latest()
        model = by_model(latest)
        self.say(
            f"{now - self._begin:3.0f} s  {tally.labels:6,} labels; of the last {len(latest)}: "
            f"balanced accuracy {rate(model.balanced_accuracy):>6}, sensitivity {rate(model.sensitivity):>6}, "
            f"specificity {rate(model.specificity):>6}; as served {rate(as_served(latest).balanced_accuracy):>6}"
        )

    def say(self, sentence: str) -> None:
        """Print it."""
        self._console.print(sentence, soft_wrap=True)
        self._console.file.flush()

    def mark_change(self) -> None:
        """Print it."""
        self.say("--- now the attackers change their tricks ---")

    def finish(self, tally: Tally) -> None:
        """Print nothing: the summary follows."""


class LivePanel:
    """A panel that is drawn again in its place, below the sentences."""

    def __init__(self, labels: int | None, live: Live) -> None:
        self._labels = labels
        self._live = live
        self._levels, self._change = (LEVELS, "│") if live.console.encoding.startswith("utf") else (ASCII_LEVELS, "|")
        self._curve: deque[str] = deque(maxlen=CURVE_POINTS + 1)
        self._labels_per_point = max(1, (labels or 100 * CURVE_POINTS) // CURVE_POINTS)
        self._labels_drawn = 0
        self._begin = time.monotonic()
        self._next = 0.0

    def update(self, tally: Tally) -> None:
        """Draw the panel a few times per second."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + DRAW_SECONDS
            self._live.start()  # has no effect after the first time
            self._live.update(self._panel(tally), refresh=True)

    def say(self, sentence: str) -> None:
        """Print it above the panel."""
        self._live.console.print(sentence)

    def mark_change(self) -> None:
        """Add a stroke to the curve, and print a sentence."""
        self._curve.append(self._change)
        self.say("Now the attackers change their tricks.")

    def finish(self, tally: Tally) -> None:
        """Draw the panel a last time, and leave it."""
        self._next = 0.0
        self.update(tally)
        self._live.stop()

    def _panel(self, tally: Tally) -> Panel:
        latest = tally.latest()
        model, served = by_model(latest), as_served(latest)
        if tally.labels >= self._labels_drawn + self._labels_per_point:
            self._labels_drawn = tally.labels
            self._curve.append(self._level(model.balanced_accuracy))
        total = f" of {self._labels:,}" if self._labels else ""
        rows = Table.grid(padding=(0, 2))
        rows.add_column()
        rows.add_column(justify="right", width=6)
        balanced = 0.0 if model.balanced_accuracy is None else model.balanced_accuracy
        bar = ProgressBar(total=1.0, completed=_above_chance(balanced), width=30)
        rows.add_row("balanced accuracy", rate(model.balanced_accuracy), bar)
        found = f"{int(model.true_positives)} of {int(model.positives)} attacks found"
        rows.add_row("sensitivity", rate(model.sensitivity), found)
        alarms = f"{int(model.false_positives)} false alarms in {int(model.negatives)} normal"
        rows.add_row("specificity", rate(model.specificity), alarms)
        rows.add_row("as served", rate(served.balanced_accuracy), "balanced accuracy when predicted")
        return Panel(
            Group(rows, "", Text("".join(self._curve))),
            title=f"{tally.labels:,}{total} labels after {time.monotonic() - self._begin:.0f} s",
            subtitle=f"the last {min(tally.labels, RECENT)} labels",
            width=min(PANEL_WIDTH, self._live.console.width),
        )

    def _level(self, share: float | None) -> str:
        """A block as high as the share above 50%, which is chance."""
        return " " if share is None else self._levels[round((len(self._levels) - 1) * _above_chance(share))]


def _above_chance(share: float) -> float:
    return min(max(2.0 * share - 1.0, 0.0), 1.0)
