"""`sluice export` and `sluice import`: a tenant's model out of a running service and into one, as one file."""

import json
import sys
import urllib.error
import urllib.request
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tqdm import tqdm

from app.cli.saving import refuse_missing_folder, written_aside
from app.cli.sending import key_headers
from app.learning.errors import SluiceError

PORTION = 1 << 20
TIMEOUT_SECONDS = 120


class ServiceRefused(SluiceError):
    """What a service answered instead."""


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add both commands."""
    exporting = commands.add_parser(
        "export", help="save a tenant's model from a running service", description="Save a tenant's model to a file."
    )
    _add_common(exporting)
    exporting.add_argument("--out", type=Path, required=True, metavar="MODEL", help="where the model is written")
    exporting.set_defaults(run=export_tenant)
    importing = commands.add_parser(
        "import", help="bring a model into a running service", description="Let a model file be a tenant from now on."
    )
    _add_common(importing)
    importing.add_argument("model", type=Path, metavar="MODEL")
    importing.add_argument("--replace", action="store_true", help="put it in the place of a tenant that is there")
    importing.set_defaults(run=import_tenant)


def _add_common(parser: ArgumentParser) -> None:
    parser.add_argument("tenant", metavar="TENANT")
    parser.add_argument("--url", default="http://127.0.0.1:8000", help="the service (default: %(default)s)")


def export_tenant(chosen: Namespace) -> None:
    """Run `sluice export`."""
    refuse_missing_folder(chosen.out)
    request = urllib.request.Request(_address(chosen, "export"), headers=key_headers())  # noqa: S310 - the user names the service
    with _answer(request) as answer, written_aside(chosen.out) as file:
        size = int(answer.headers.get("content-length") or 0) or None
        with tqdm(total=size, unit="B", unit_scale=True, file=sys.stderr, disable=None, leave=False) as bar:
            while portion := answer.read(PORTION):
                file.write(portion)
                bar.update(len(portion))
    print(f"{chosen.out}: tenant {chosen.tenant}, {chosen.out.stat().st_size:,} bytes")


def import_tenant(chosen: Namespace) -> None:
    """Run `sluice import`."""
    size = chosen.model.stat().st_size
    head = {"Content-Type": "application/octet-stream", "Content-Length": str(size)} | key_headers()
    address = _address(chosen, "import") + ("?replace=true" if chosen.replace else "")
    with chosen.model.open("rb") as file, tqdm.wrapattr(
        file, "read", total=size, file=sys.stderr, disable=None, leave=False
    ) as body:  # fmt: skip
        request = urllib.request.Request(address, body, head, method="POST")  # noqa: S310 - the user names the service
        with _answer(request) as answer:
            told = json.load(answer)
    print(f"tenant {told['tenant']}: version {told['version']:,}, digest {told['digest']}")


def _address(chosen: Namespace, what: str) -> str:
    if not chosen.url.startswith(("http://", "https://")):
        raise ServiceRefused(f"{chosen.url!r} is no address of a service: write http://host:port")
    return f"{chosen.url.rstrip('/')}/tenants/{quote(chosen.tenant, safe='')}/{what}"


@contextmanager
def _answer(request: urllib.request.Request) -> Iterator[HTTPResponse]:
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - the user names it
            yield answer
    except urllib.error.HTTPError as error:
        raise ServiceRefused(_detail(error)) from None
    except urllib.error.URLError as error:
        raise ServiceRefused(f"no service answers at {request.full_url}: {error.reason}") from None


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{error.url} answered {error.code} {error.reason}"
