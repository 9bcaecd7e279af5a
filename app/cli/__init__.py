"""The command line of Sluice: `main` here, a module for each command in `commands/`.

This module imports next to nothing: until `main` runs, Ctrl-C would print a traceback.
"""

import os
import sys

TYPE_CHECKING = False  # as `typing` has it; importing that would take as long as everything else here
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

COMMANDS = {  # name: (module, help)
    "serve": ("serve", "run the HTTP service"),
    "demo": ("demo", "watch a service learn, in under a minute"),
    "export": ("tenants.export_tenant", "save a tenant's model from a running service"),
    "import": ("tenants.import_tenant", "load a model into a running service"),
    "labels": ("tenants.labels", "show who labelled what"),
    "retract": ("tenants.retract", "take labels back in a running service"),
    "review": ("tenants.review", "review what is most worth a look, one key for each item"),
    "whatif": ("tenants.whatif", "compare a tenant with other settings on its kept labels"),
    "keys": ("keys", "create, list, rotate and revoke API keys"),
    "repair": ("repair", "check the stored tenants, and repair a damaged one"),
    "audit": ("audit", "show who changed and who labelled what"),
    "evaluate": ("evaluate", "test, then train, on a file of labelled examples"),
    "train": ("train", "train a model on a file of labelled examples"),
    "features": ("features", "show the features of a URL, an e-mail or a text"),
    "inspect": ("inspect", "show what a model contains"),
    "warm": ("warm", "compile the kernels for this machine, once"),
}


INTERRUPTED = 130  # as a shell reports a program that Ctrl-C has ended


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run one command; return its exit code: its own, 0, 1 after an error message, or 130 after Ctrl-C."""
    try:
        return _run(_parse(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        print("sluice: stopped", file=sys.stderr)
        return INTERRUPTED


def _run(chosen: "Namespace") -> int:
    from app.learning.errors import SluiceError  # noqa: PLC0415 - see above

    try:
        code = chosen.run(chosen)
        sys.stdout.flush()
    except (SluiceError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"sluice: {error}", file=sys.stderr)
        return 1
    return code or 0


def _parse(arguments: "Sequence[str]") -> "Namespace":
    """Parse the arguments. Ctrl-C meanwhile ends the program at once: nothing has been started yet.

    An exception instead would interrupt imports, and some libraries turn it into another one or print it.
    """
    import signal  # noqa: PLC0415 - see above

    try:
        before = signal.signal(signal.SIGINT, _end_at_once)
    except ValueError:  # another thread than the main one cannot handle signals
        return _parser(arguments).parse_args(arguments)
    try:
        if before is signal.SIG_IGN:  # as in the background of a script
            signal.signal(signal.SIGINT, before)
        return _parser(arguments).parse_args(arguments)
    finally:
        signal.signal(signal.SIGINT, before)


def _end_at_once(*_: object) -> None:
    os.write(2, b"sluice: stopped\n")
    os._exit(INTERRUPTED)


def _parser(arguments: "Sequence[str]") -> "ArgumentParser":
    """Import the module of the chosen command only: Numba alone takes longer than everything `sluice --help` needs."""
    from argparse import ArgumentParser  # noqa: PLC0415 - see above
    from importlib import import_module  # noqa: PLC0415

    from app.cli.argument_types import VersionAction  # noqa: PLC0415

    parser = ArgumentParser(prog="sluice", description="Online anomaly detection that learns from every label at once.")
    parser.add_argument("--version", action=VersionAction, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text)
        if name in arguments[:1]:
            import_module(f"app.cli.commands.{module}").add_arguments(command)
    return parser
