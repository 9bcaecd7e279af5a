"""What is seen while the demo runs: a panel that is drawn again in its place; without a terminal, lines."""

import shutil
import threading
import time
from collections import deque
from typing import Final, Protocol, TextIO

from app.cli.demo.tallying import RECENT, Tally, as_served, by_model
from app.cli.showing import percent

DRAW_SECONDS: Final = 0.2
LINE_SECONDS: Final = 3.0
STEPS: Final = 60  # places of the curve
BAR: Final = 30
UNICODE, ASCII = "▁▂▃▄▅▆▇█", "_.-=+*%#"
UP, CLEAR_LINE, CLEAR_BELOW = "\x1b[{}A", "\x1b[2K", "\x1b[0J"


class Display(Protocol):
    """Where a run is shown."""

    def look(self, tally: Tally) -> None:
        """Show how it stands, if it is time to."""

    def say(self, sentence: str) -> None:
        """Show a sentence that stays."""

    def mark(self) -> None:
        """Attackers change at this moment."""

    def close(self, tally: Tally) -> None:
        """Show how it ended, and leave that."""


def display(labels: int | None, out: TextIO) -> Display:
    """A panel on a terminal, else lines; `labels` is how many there will be, if there is an end."""
    return Panel(labels, out) if out.isatty() else Lines(out)


def rate(share: float | None) -> str:
    """As people read it; a dash where it is undefined."""
    return "-" if share is None else f"{percent(share, 1)}%"


class Lines:
    """A line every few seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._begin = time.monotonic()
        self._next = self._begin + LINE_SECONDS

    def look(self, tally: Tally) -> None:
        """Show how it stands, every few seconds."""
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
        print(sentence, file=self._out, flush=True)

    def mark(self) -> None:
        """Print it."""
        self.say("--- now the attackers change their tricks ---")

    def close(self, tally: Tally) -> None:
        """Nothing: the summary follows."""


class Panel:
    """A few lines that are drawn again in their place."""

    def __init__(self, labels: int | None, out: TextIO) -> None:
        self._out = out
        self._labels = labels
        self._every = max(1, (labels or 100 * STEPS) // STEPS)
        self._curve: deque[float | str | None] = deque(maxlen=STEPS + 1)
        self._seen = 0
        self._levels, self._change = (UNICODE, "│") if "utf" in (out.encoding or "").lower() else (ASCII, "|")
        self._begin = time.monotonic()
        self._next = 0.0
        self._height = 0
        self._lock = threading.Lock()  # threads say what they meet with

    def look(self, tally: Tally) -> None:
        """Draw, a few times in a second."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + DRAW_SECONDS
            lines = self._drawn(tally)
            with self._lock:
                self._show("", lines)

    def say(self, sentence: str) -> None:
        """Print it above the panel, which the next look draws again."""
        with self._lock:
            self._show(f"{sentence}\n", [])

    def mark(self) -> None:
        """A stroke in the curve, and a sentence."""
        self._curve.append(self._change)
        self.say("Now the attackers change their tricks.")

    def close(self, tally: Tally) -> None:
        """Draw it once more, for good."""
        self._next = 0.0
        self.look(tally)
        self._height = 0

    def _show(self, above: str, lines: list[str]) -> None:
        back = UP.format(self._height) if self._height else ""
        width = shutil.get_terminal_size().columns - 1
        body = "".join(f"{CLEAR_LINE}{line[:width]}\n" for line in lines)
        self._out.write(f"{back}{CLEAR_BELOW}{above}{body}")
        self._out.flush()
        self._height = len(lines)

    def _drawn(self, tally: Tally) -> list[str]:
        latest = tally.latest()
        model, served = by_model(latest), as_served(latest)
        if tally.labels >= self._seen + self._every:
            self._seen = tally.labels
            self._curve.append(model.balanced_accuracy)
        found = f"{int(model.true_positives)} of {int(model.positives)} attacks found"
        alarms = f"{int(model.false_positives)} false alarms in {int(model.negatives)}"
        whole = f" of {self._labels:,}" if self._labels else ""
        seconds = time.monotonic() - self._begin
        return [
            "",
            f"  {tally.labels:,}{whole} labels after {seconds:.0f} s; the last {min(tally.labels, RECENT)} of them:",
            f"  balanced accuracy  {rate(model.balanced_accuracy):>6}  {self._bar(model.balanced_accuracy)}",
            f"  sensitivity        {rate(model.sensitivity):>6}  {found}",
            f"  specificity        {rate(model.specificity):>6}  {alarms}",
            f"  as served          {rate(served.balanced_accuracy):>6}  balanced, by the model of when it was asked",
            f"  {''.join(map(self._level, self._curve))}",
        ]

    def _bar(self, share: float | None) -> str:
        """From 50%, which is guessing, to 100%."""
        return self._levels[-1] * round(BAR * _above_guessing(share)) if share is not None else ""

    def _level(self, place: float | str | None) -> str:
        if isinstance(place, str):
            return place
        return " " if place is None else self._levels[round((len(self._levels) - 1) * _above_guessing(place))]


def _above_guessing(share: float) -> float:
    return min(max(2.0 * share - 1.0, 0.0), 1.0)
