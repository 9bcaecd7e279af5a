"""`sluice keys`: create, list, rotate and revoke keys in the store itself, which also works for the first key."""

import asyncio
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from app.auth.audit import Audit
from app.auth.authenticator import Authenticator
from app.auth.key_file import KeyFile
from app.auth.keyring import Keyring
from app.auth.keys import ROLES, Key, now_milliseconds
from app.cli.argument_types import duration, names
from app.cli.output import print_table, warn
from app.cli.store import audit_of, store
from app.settings import Settings
from app.storage.access.api_keys import ApiKeyStore


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser.description = (
        "The store (SLUICE_REDIS_URL, or the embedded Valkey in SLUICE_DATA_DIR) holds keys as hashes. A running "
        "service applies a change within a second."
    )
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="create a key and print its secret, once")
    create.add_argument("--roles", required=True, type=names, help=f"some of {', '.join(ROLES)}, separated by commas")
    create.add_argument("--tenants", required=True, type=names, help="acme, acme-* or '*', separated by commas")
    create.add_argument("--name", default="", help="what the key is for")
    create.add_argument("--expires", type=duration, metavar="90d", help="how long it is valid (default: forever)")
    create.add_argument("--moderator", metavar="NAME", help="whose labels are given with it; other names are refused")
    create.add_argument("--speaks-for-others", action="store_true", help="with --moderator: allow other names as well")
    create.set_defaults(run=_in_store(_create))
    actions.add_parser("list", help="list the keys, without their secrets").set_defaults(run=_in_store(_list))
    rotate = actions.add_parser("rotate", help="create a key that replaces another one after a while")
    rotate.add_argument("key", metavar="ID")
    rotate.add_argument("--overlap", type=duration, default=86_400, metavar="1d", help="how long both are valid")
    rotate.set_defaults(run=_in_store(_rotate))
    revoke = actions.add_parser("revoke", help="revoke a key at once, and the keys made with it")
    revoke.add_argument("key", metavar="ID")
    revoke.set_defaults(run=_in_store(_revoke))


def _in_store(action: Callable[[Namespace, Authenticator, Audit], Awaitable[None]]) -> Callable[[Namespace], None]:
    async def connect_and_run(chosen: Namespace) -> None:
        settings = Settings.from_environment(os.environ)
        async with store() as connection:
            audit = Audit(audit_of(connection))
            # The data directory of an embedded store has a copy of its keys. For another store it may belong to
            # anything, such as a service on a third store: keys of one must not come into the other.
            copy = KeyFile(settings.data_dir) if settings.redis_url is None else None
            await action(chosen, Authenticator(Keyring(ApiKeyStore(connection), copy, audit)), audit)

    return lambda chosen: asyncio.run(connect_and_run(chosen))


async def _create(chosen: Namespace, guard: Authenticator, audit: Audit) -> None:
    expires_at = None if chosen.expires is None else now_milliseconds() + 1000 * chosen.expires
    await audit.note("create_key", detail="by the command line")
    made = await guard.create(
        chosen.name,
        chosen.roles,
        chosen.tenants,
        expires_at,
        None,
        moderator=chosen.moderator,
        speaks_for_others=chosen.speaks_for_others,
    )
    _print_new(*made)


async def _list(_: Namespace, guard: Authenticator, __: Audit) -> None:
    keys = await guard.listed(None)
    if not keys:
        print("There are no keys. Create one with `sluice keys create`.")
        return
    rows = [
        (
            key.id,
            key.name or "-",
            ",".join(key.roles),
            ",".join(key.tenants),
            _moderator(key),
            _expiry(key),
            key.made_by or "-",
        )
        for key in keys
    ]
    print_table(("id", "name", "roles", "tenants", "moderator", "expires", "made by"), rows, text_columns=7)


async def _rotate(chosen: Namespace, guard: Authenticator, audit: Audit) -> None:
    await audit.note("rotate_key", detail=f"{chosen.key}, by the command line")
    _print_new(*await guard.rotate(chosen.key, chosen.overlap, None))


async def _revoke(chosen: Namespace, guard: Authenticator, audit: Audit) -> None:
    await audit.note("revoke_key", detail=f"{chosen.key}, by the command line")
    key, *made = await guard.revoke(chosen.key, None)
    print(f"key {key.id} is revoked; services refuse it within a second")
    if made:
        print(f"so are the keys made with it: {', '.join(each.id for each in made)}")


def _print_new(key: Key, token: str) -> None:
    """Print only the secret on standard output, so that a script can pipe it to where it is kept."""
    moderator = f", moderator {_moderator(key)}" if key.moderator is not None else ""
    warn(f"key {key.id}: {', '.join(key.roles)} for {', '.join(key.tenants)}{moderator}, expires {_expiry(key)}")
    warn("The secret, which is not shown again:")
    print(token)


def _moderator(key: Key) -> str:
    return f"{key.moderator or '-'}{' and others' if key.speaks_for_others else ''}"


def _expiry(key: Key) -> str:
    if key.expires_at is None:
        return "never"
    time_of_expiry = datetime.fromtimestamp(key.expires_at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return time_of_expiry if key.is_valid(now_milliseconds()) else f"{time_of_expiry} (expired)"
