"""The command line of Sluice: a module for each command."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from app.cli import audit, demo, evaluate, features, inspect, keys, serve, train, transfer, warm
from app.learning.errors import SluiceError

COMMANDS = (serve, demo, transfer, keys, audit, evaluate, train, features, inspect, warm)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, or 1 with a sentence on standard error."""
    parser = ArgumentParser(prog="sluice", description="Online anomaly detection that learns from every label at once.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(commands)
    chosen = parser.parse_args(arguments)
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except (SluiceError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"sluice: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sluice: stopped", file=sys.stderr)
        return 130
    return 0
