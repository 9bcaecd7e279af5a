"""`sluice serve`: the HTTP service."""

import os
from argparse import Namespace
from typing import Any


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        help="run the HTTP service",
        description="Serve over HTTP until stopped. Settings are environment variables: see docs/settings.md.",
    )
    parser.set_defaults(run=serve)


def serve(_: Namespace) -> None:
    """Run the command."""
    from app.server.process import serve as run  # noqa: PLC0415 - the other commands should not wait for a web framework
    from app.settings import Settings  # noqa: PLC0415

    run(Settings.from_environment(os.environ))
