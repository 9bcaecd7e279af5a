"""`sluice serve`: the HTTP service."""

import os
from argparse import ArgumentParser, Namespace

from app.server.process import serve as run_server
from app.settings import Settings


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Run the HTTP service until stopped. Environment variables configure it: docs/settings.md."
    parser.set_defaults(run=serve)


def serve(_: Namespace) -> None:
    """Run the command."""
    run_server(Settings.from_environment(os.environ))
