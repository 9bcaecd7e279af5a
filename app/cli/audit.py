"""`sluice audit`: who did what, in the order of time: changes from the audit, labels from the log of a tenant."""

import asyncio
from argparse import Namespace
from typing import Any

from app.cli.keys import duration


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="show who did what",
        description="Changes of tenants and keys, from the audit; with --tenant also its labels, from its log, as far "
        "back as that is kept. Read from the store (SLUICE_REDIS_URL, or the embedded one in SLUICE_DATA_DIR).",
    )
    parser.add_argument("--tenant", help="only what concerns this tenant, and its labels")
    parser.add_argument("--since", type=duration, metavar="24h", help="only what is not older")
    parser.add_argument("--json", action="store_true", help="an object on each line")
    parser.set_defaults(run=audit)


def audit(chosen: Namespace) -> None:
    """Run the command."""
    from app.cli.auditing import show  # noqa: PLC0415 - the other commands should not wait for a client of Redis

    asyncio.run(show(chosen))
