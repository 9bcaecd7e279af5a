"""The live panel and the lines of the demo, and their counts."""

import io
import re
from collections.abc import Callable

import pytest
from rich.console import Console

from app.cli.demo.display import Lines, LivePanel, display
from app.cli.demo.tally import Label, Tally
from app.cli.output import console
from app.datasets.synthetic_urls import SyntheticUrl

NORMAL, ATTACK, LATER = (
    SyntheticUrl("http://a.test/", -1, 0),
    SyntheticUrl("http://b.test/", 1, 0),
    SyntheticUrl("http://c.test/", 1, 1),
)


class AsciiFile(io.StringIO):
    encoding = "ascii"


def terminal(width: int = 80, file: io.StringIO | None = None) -> Console:
    return Console(file=file or io.StringIO(), force_terminal=True, width=width, color_system=None)


def drawn(screen: Console, use: Callable[[LivePanel], None], labels: int = 10) -> list[str]:
    """The lines of all panels and sentences, without control sequences."""
    with display(labels, screen) as panel:
        assert isinstance(panel, LivePanel)
        use(panel)
    assert isinstance(screen.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.file.getvalue()).replace("\r", "\n").splitlines()


def test_a_file_gets_lines() -> None:
    with display(10, console(io.StringIO())) as screen:
        assert isinstance(screen, Lines)


def test_rates_are_dashes_until_they_are_defined() -> None:
    tally = Tally()
    tally.add(NORMAL, Label(-1, -1, -1))
    lines = drawn(terminal(), lambda panel: panel.update(tally))
    assert any(re.search(r"balanced accuracy +- ", line) for line in lines)
    assert any(re.search(r"specificity +100\.0%", line) for line in lines)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_panel_fits_the_terminal(width: int) -> None:
    lines = drawn(terminal(width), lambda panel: panel.update(Tally()))
    assert max(map(len, lines)) <= width


def test_the_panel_is_drawn_again_in_its_place() -> None:
    screen = terminal()

    def draw_twice(panel: LivePanel) -> None:
        panel.update(Tally())
        panel.finish(Tally())

    height = sum(line.startswith(("╭", "│", "╰")) for line in drawn(screen, draw_twice)) // 3  # stopping draws it, too
    assert isinstance(screen.file, io.StringIO)
    assert screen.file.getvalue().count("\x1b[1A") == 2 * (height - 1)


def test_a_change_is_a_stroke_in_the_curve() -> None:
    tally = Tally()

    def run(panel: LivePanel) -> None:
        for _ in range(2):
            tally.add(ATTACK, Label(1, 1, 1))
            tally.add(NORMAL, Label(-1, -1, -1))
        panel.update(tally)
        panel.mark_change()
        tally.add(LATER, Label(1, -1, -1))
        panel.finish(tally)

    lines = drawn(terminal(), run, labels=4)
    assert "Now the attackers change their tricks." in [line.strip() for line in lines]
    assert any("█│▆" in line for line in lines)


def test_a_terminal_without_unicode_gets_ascii() -> None:
    screen, tally = terminal(file=AsciiFile()), Tally()
    tally.add(ATTACK, Label(1, 1, 1))
    tally.add(NORMAL, Label(-1, -1, -1))
    assert "".join(drawn(screen, lambda panel: panel.update(tally))).isascii()


def test_labels_before_and_after_a_change_are_counted_apart() -> None:
    tally = Tally()
    tally.add(ATTACK, Label(1, 1, 1))
    tally.add(LATER, Label(1, -1, -1))
    tally.add(ATTACK, Label(1, 1, -1))  # a late label
    assert tally.before is not None
    assert (len(tally.before.last), len(tally.now.first)) == (2, 1)
    assert (tally.labels, tally.model.true_positives, tally.served.true_positives) == (3, 2, 1)
