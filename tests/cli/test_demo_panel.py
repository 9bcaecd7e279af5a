"""What the demo draws on a terminal."""

import io

from app.cli.demo.panel import Lines, Panel, display
from app.cli.demo.tallying import Given, Tally
from app.datasets.synthetic_urls import SyntheticUrl

NORMAL, ATTACK, LATER = (
    SyntheticUrl("http://a.test/", -1, 0),
    SyntheticUrl("http://b.test/", 1, 0),
    SyntheticUrl("http://c.test/", 1, 1),
)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_panel_and_a_file_gets_lines() -> None:
    assert isinstance(display(10, Terminal()), Panel)
    assert isinstance(display(10, io.StringIO()), Lines)


def test_rates_are_dashes_until_they_are_defined() -> None:
    terminal, tally = Terminal(), Tally()
    tally.add(NORMAL, Given(-1, -1, -1))
    Panel(10, terminal).look(tally)
    assert "balanced accuracy       -" in terminal.getvalue()
    assert "specificity        100.0%" in terminal.getvalue()


def test_the_panel_is_drawn_again_in_its_place() -> None:
    terminal, tally = Terminal(), Tally()
    panel = Panel(10, terminal)
    panel.look(tally)
    height = terminal.getvalue().count("\n")
    panel.close(tally)
    assert terminal.getvalue().count(f"\x1b[{height}A") == 1


def test_a_change_is_a_stroke_in_the_curve() -> None:
    terminal, tally = Terminal(), Tally()
    panel = Panel(4, terminal)
    for _ in range(2):
        tally.add(ATTACK, Given(1, 1, 1))
        tally.add(NORMAL, Given(-1, -1, -1))
    panel.look(tally)
    panel.mark()
    tally.add(LATER, Given(1, -1, -1))
    panel.close(tally)
    assert "Now the attackers change their tricks." in terminal.getvalue()
    assert terminal.getvalue().rstrip().endswith("█│▆")


def test_a_terminal_that_knows_no_blocks_gets_ascii() -> None:
    terminal, tally = Terminal(), Tally()
    terminal.encoding = "ascii"
    tally.add(ATTACK, Given(1, 1, 1))
    tally.add(NORMAL, Given(-1, -1, -1))
    Panel(4, terminal).look(tally)
    assert terminal.getvalue().isascii()


def test_what_came_before_a_change_and_after_it_is_kept_apart() -> None:
    tally = Tally()
    tally.add(ATTACK, Given(1, 1, 1))
    tally.add(LATER, Given(1, -1, -1))
    tally.add(ATTACK, Given(1, 1, -1))  # its moderator was late
    assert tally.before is not None
    assert (len(tally.before.last), len(tally.now.first)) == (2, 1)
    assert (tally.labels, tally.model.true_positives, tally.served.true_positives) == (3, 2, 1)
