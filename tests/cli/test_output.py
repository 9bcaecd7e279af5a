"""Tables on terminals and in pipes."""

import re
import sys

import pytest

from app.cli.output import percent, print_table

Output = pytest.CaptureFixture[str]
LONG = "a" * 300


@pytest.mark.parametrize("forced", ["", "1"])
def test_a_pipe_gets_a_plain_line_per_row(capsys: Output, monkeypatch: pytest.MonkeyPatch, forced: str) -> None:
    monkeypatch.setenv("FORCE_COLOR", forced)
    monkeypatch.setenv("COLUMNS", "60")
    print_table(("name", "count"), [(LONG, "1"), ("b", "22")])
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["name", "count"],
        ["-" * (301 + 1 + 5)],
        [LONG, "1"],
        ["b", "22"],
    ]


def test_a_terminal_gets_all_of_a_long_name_within_its_width(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    print_table(("name", "count"), [(LONG, "1")])
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert max(map(len, printed.splitlines())) <= 60
    assert printed.count("a") == LONG.count("a") + "name".count("a")


def test_cells_are_printed_as_they_are(capsys: Output) -> None:
    print_table(("name", "count"), [("[bold]x[/bold] :smile:", "1")])
    assert "[bold]x[/bold] :smile:" in capsys.readouterr().out


def test_a_cell_cannot_move_the_cursor(capsys: Output) -> None:
    print_table(("name", "count"), [("a\x1b[2Jb\n", "1")])
    assert r"a\x1b[2Jb\n" in capsys.readouterr().out


@pytest.mark.parametrize(("share", "text"), [(None, "-"), (0.5, "50.00"), (1.0, "100.00")])
def test_a_share_is_shown_in_percent(share: float | None, text: str) -> None:
    assert percent(share) == text
