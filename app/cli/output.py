"""What commands print: tables, JSON, numbers as people read them."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final, TextIO

import msgspec
from rich.box import Box
from rich.console import Console
from rich.table import Table

UNLIMITED: Final = 1 << 30  # columns
RULE: Final = "    \n    \n -- \n    \n    \n    \n    \n    \n"  # a line of dashes below the heads, and nothing else


def console(file: TextIO | None = None) -> Console:
    """A console on standard output, or on `file`, that prints text as it is: no markup, no emoji codes.

    A file or a pipe gets neither colours nor wrapped lines, also if FORCE_COLOR is set.
    """
    if (file or sys.stdout).isatty():
        return _Console(file=file, markup=False, highlight=False, emoji=False)
    return _Console(file=file, markup=False, highlight=False, emoji=False, force_terminal=False, width=UNLIMITED)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> None:
    """Print rows under their heads; after the first `text_columns`, columns hold numbers."""
    table = Table(box=Box(RULE, ascii=True), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < text_columns else "right", overflow="fold")
    for row in rows:
        table.add_row(*map(printable, row))
    console().print(table)


def print_text(*paragraphs: str) -> None:
    """Print each paragraph, wrapped between words on a terminal, as one line elsewhere."""
    screen = console()
    for paragraph in paragraphs:
        screen.print(paragraph, soft_wrap=not screen.is_terminal)


def print_json(value: object) -> None:
    """Print an indented JSON document."""
    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent, or a dash where it is undefined."""
    return "-" if share is None else f"{100.0 * share:.{digits}f}"


def printable(text: str) -> str:
    """Escape control characters: a name in an input must not move the cursor."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def warn(sentence: str) -> None:
    """Print a sentence on standard error."""
    print(sentence, file=sys.stderr)


class _Console(Console):
    """Leaves a closed pipe to `main`; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        """Raise the BrokenPipeError that is being handled."""
        raise  # noqa: PLE0704 - rich calls this in its `except` block
