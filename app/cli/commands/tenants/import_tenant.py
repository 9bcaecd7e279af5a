"""`sluice import`: load a model file into a running service."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from app.cli.client import Client
from app.cli.commands.tenants.export_tenant import PIECE_BYTES, TIMEOUT_SECONDS, add_service
from app.cli.progress import progress_bar
from app.datasets.source import Observer


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Load a model file into a running service as a tenant."
    add_service(parser)
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("--replace", action="store_true", help="replace the tenant if it exists")
    parser.set_defaults(run=import_tenant)


def import_tenant(chosen: Namespace) -> None:
    """Run the command."""
    path = f"/tenants/{quote(chosen.tenant, safe='')}/import" + ("?replace=true" if chosen.replace else "")
    size = chosen.model.stat().st_size
    headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
    with (
        chosen.model.open("rb") as file,
        progress_bar() as bar,
        Client(chosen.url, timeout_seconds=TIMEOUT_SECONDS) as client,
        client.stream("POST", path, headers=headers, content=_pieces(file, size, bar)) as answer,
    ):
        answer.read()
        imported = answer.json()
    print(f"tenant {imported['tenant']}: version {imported['version']:,}, digest {imported['digest']}")


def _pieces(file: BinaryIO, size: int, bar: Observer) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
        bar.progress(file.tell(), size)
