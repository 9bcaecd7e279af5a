"""`sluice keys`: make, list, rotate and revoke keys, in the store itself. So the first key can be made, too."""

import asyncio
import re
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.auth.keys import ROLES, Key
from app.cli.showing import table

if TYPE_CHECKING:
    from app.auth.audit import Audit
    from app.auth.authenticator import Authenticator

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION = re.compile(r"(\d{1,9})([smhd])")


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser = commands.add_parser(
        "keys",
        help="make, list, rotate and revoke the keys of a service",
        description="Keys are kept in the store (SLUICE_REDIS_URL, or the embedded one in SLUICE_DATA_DIR), as hashes. "
        "A running service follows within a second.",
    )
    chosen = parser.add_subparsers(title="what to do", required=True, metavar="ACTION")
    _add_create(chosen.add_parser("create", help="make a key; its secret is printed this once"))
    chosen.add_parser("list", help="list the keys, without their secrets").set_defaults(run=_running(_list))
    rotating = chosen.add_parser("rotate", help="make a key in the place of one that ends after a while")
    rotating.add_argument("key", metavar="ID")
    rotating.add_argument("--overlap", type=duration, default=86_400, metavar="1d", help="how long both are good")
    rotating.set_defaults(run=_running(_rotate))
    revoking = chosen.add_parser("revoke", help="end a key at once")
    revoking.add_argument("key", metavar="ID")
    revoking.set_defaults(run=_running(_revoke))


def _add_create(parser: ArgumentParser) -> None:
    parser.add_argument("--roles", required=True, type=_names, help=f"some of {', '.join(ROLES)}, joined by commas")
    parser.add_argument("--tenants", required=True, type=_names, help="acme, acme-* or '*', joined by commas")
    parser.add_argument("--name", default="", help="what it is for")
    parser.add_argument("--expires", type=duration, metavar="90d", help="how long it is good (default: for ever)")
    parser.set_defaults(run=_running(_create))


def duration(text: str) -> int:
    """Seconds, from 30s, 15m, 12h or 90d."""
    match = DURATION.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is no duration: write 30s, 15m, 12h or 90d")
    return int(match[1]) * UNITS[match[2]]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _running(action: "Callable[[Namespace, Authenticator, Audit], Awaitable[None]]") -> Callable[[Namespace], None]:
    async def work(chosen: Namespace) -> None:
        from app.auth.audit import Audit  # noqa: PLC0415 - the other commands should not wait for a client of Redis
        from app.auth.authenticator import Authenticator  # noqa: PLC0415
        from app.cli.storing import audit_of, store  # noqa: PLC0415
        from app.storage.api_keys import Keyring  # noqa: PLC0415

        async with store() as connection:
            await action(chosen, Authenticator(Keyring(connection)), Audit(audit_of(connection)))

    return lambda chosen: asyncio.run(work(chosen))


async def _create(chosen: Namespace, authenticator: "Authenticator", audit: "Audit") -> None:
    expires_at = None if chosen.expires is None else _now() + 1000 * chosen.expires
    await audit.note("create_key", detail="by the command line")
    _print_new(*await authenticator.create(chosen.name, chosen.roles, chosen.tenants, expires_at, None))


async def _list(_: Namespace, authenticator: "Authenticator", __: "Audit") -> None:
    keys = await authenticator.listed(None)
    if not keys:
        print("There is no key yet: sluice keys create makes one.")
        return
    lines = [[key.id, key.name or "-", ",".join(key.roles), ",".join(key.tenants), _ends(key)] for key in keys]
    print(table(["id", "name", "roles", "tenants", "expires"], lines))


async def _rotate(chosen: Namespace, authenticator: "Authenticator", audit: "Audit") -> None:
    await audit.note("rotate_key", detail=f"{chosen.key}, by the command line")
    _print_new(*await authenticator.rotate(chosen.key, chosen.overlap, None))


async def _revoke(chosen: Namespace, authenticator: "Authenticator", audit: "Audit") -> None:
    await audit.note("revoke_key", detail=f"{chosen.key}, by the command line")
    key = await authenticator.revoke(chosen.key, None)
    print(f"key {key.id} is revoked; services refuse it within a second")


def _print_new(key: Key, token: str) -> None:
    """The secret alone on standard output, so that it can be piped to where it is kept."""
    told = f"key {key.id}: {', '.join(key.roles)} for {', '.join(key.tenants)}, expires {_ends(key)}"
    print(f"{told}\nThis is its secret, which is shown this once:", file=sys.stderr)
    print(token)


def _ends(key: Key) -> str:
    if key.expires_at is None:
        return "never"
    told = datetime.fromtimestamp(key.expires_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return told if key.is_valid(_now()) else f"{told} (over)"


def _now() -> int:
    return time.time_ns() // 1_000_000
