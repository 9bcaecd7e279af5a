"""`sluice export`: save a tenant's model from a running service to a file."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from app.cli.atomic_file import atomic_file, require_folder_of
from app.cli.client import Client
from app.cli.progress import progress_bar

PIECE_BYTES: Final = 1 << 20
TIMEOUT_SECONDS: Final = 120.0


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Save a tenant's model from a running service to a file."
    add_service(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="MODEL", help="the file to write")
    parser.add_argument("--log", action="store_true", help="with the log: who labelled what, and labels to take back")
    parser.set_defaults(run=export_tenant)


def add_service(parser: ArgumentParser) -> None:
    """Add the tenant, and the service that holds it."""
    parser.add_argument("tenant", metavar="TENANT")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the service (default: %(default)s)")


def export_tenant(chosen: Namespace) -> None:
    """Run the command."""
    require_folder_of(chosen.out)
    path = f"/tenants/{quote(chosen.tenant, safe='')}/export" + ("?log=true" if chosen.log else "")
    with (
        Client(chosen.url, timeout_seconds=TIMEOUT_SECONDS) as client,
        client.stream("GET", path, headers={"Accept-Encoding": "identity"}) as answer,
        atomic_file(chosen.out) as file,
        progress_bar() as bar,
    ):
        size = int(answer.headers.get("content-length") or 0) or None
        for piece in answer.iter_bytes(PIECE_BYTES):
            file.write(piece)
            bar.progress(answer.num_bytes_downloaded, size)
    print(f"{chosen.out}: tenant {chosen.tenant}, {chosen.out.stat().st_size:,} bytes")
