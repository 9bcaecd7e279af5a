"""The command line of Sluice: `main` here, a module for each command in `commands/`."""

import os
import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from app.learning.errors import SluiceError

COMMANDS: Final = {  # name: (module, help)
    "serve": ("serve", "run the HTTP service"),
    "demo": ("demo", "watch a service learn, in under a minute"),
    "export": ("export_tenant", "save a tenant's model from a running service"),
    "import": ("import_tenant", "load a model into a running service"),
    "keys": ("keys", "create, list, rotate and revoke API keys"),
    "audit": ("audit", "show who changed and who labelled what"),
    "evaluate": ("evaluate", "test, then train, on a file of labelled examples"),
    "train": ("train", "train a model on a file of labelled examples"),
    "features": ("features", "show the features of a URL, an e-mail or a text"),
    "inspect": ("inspect", "show what a model contains"),
    "warm": ("warm", "compile the kernels for this machine, once"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code: 0, or 1 after an error message on standard error."""
    arguments = sys.argv[1:] if arguments is None else arguments
    chosen = _parser(arguments).parse_args(arguments)
    try:
        chosen.run(chosen)
        sys.stdout.flush()
    except (SluiceError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"sluice: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("sluice: stopped", file=sys.stderr)
        return 130
    return 0


def _parser(arguments: Sequence[str]) -> ArgumentParser:
    """Import the module of the chosen command only: Numba alone takes longer than everything `sluice --help` needs."""
    parser = ArgumentParser(prog="sluice", description="Online anomaly detection that learns from every label at once.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name in arguments[:1]:
            import_module(f"app.cli.commands.{module}").add_arguments(command)
    return parser


class _Version(Action):
    """Prints the version that is installed."""

    def __call__(self, parser: ArgumentParser, _: Namespace, __: object, ___: str | None = None) -> None:
        from importlib.metadata import version  # noqa: PLC0415 - only --version needs it

        print(f"sluice {version('sluice')}")
        parser.exit()
