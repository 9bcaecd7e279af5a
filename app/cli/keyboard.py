"""Single keys from a terminal, without Return; from a pipe, one character after the other."""

import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


def read_key() -> str:
    """Return the next key that is no blank; empty at the end of the input."""
    with _key_by_key():
        while (key := sys.stdin.read(1)).isspace():
            pass
    return key


@contextmanager
def _key_by_key() -> Iterator[None]:
    """Let a terminal pass on every key at once, and Ctrl-C as before."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
