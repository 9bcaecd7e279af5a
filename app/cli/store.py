"""The store itself, for commands that need neither a key nor a running service."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import quote

import redis

from app.settings import Settings
from app.storage.access.audit_log import AuditLog
from app.storage.client import Connection, connect
from app.storage.embedded.orphans import client_of, socket_path
from app.storage.embedded.valkey import EmbeddedValkey


def audit_of(connection: Connection) -> AuditLog:
    """The audit log, with the length that the services keep: a shorter one would trim theirs."""
    return AuditLog(connection, Settings.from_environment(os.environ).audit_max_entries)


@asynccontextmanager
async def store() -> AsyncIterator[Connection]:
    """Connect to SLUICE_REDIS_URL, or to the embedded Valkey in SLUICE_DATA_DIR; start that if no service runs it."""
    settings = Settings.from_environment(os.environ)
    embedded = None
    if settings.redis_url is not None:
        url = settings.redis_url.get_secret_value()
    else:
        url = _running_valkey(settings) or ""
        if not url:
            embedded = EmbeddedValkey(settings.data_dir)
            url = embedded.start()
    connection = connect(url, durability=settings.required_durability)
    try:
        await connection.ping()
        yield connection
    finally:
        await connection.aclose()
        if embedded is not None:
            embedded.stop()


def _running_valkey(settings: Settings) -> str | None:
    """The URL of the embedded Valkey of a running service, if there is one."""
    path = socket_path(settings.data_dir.resolve())
    with suppress(redis.RedisError, OSError):
        client = client_of(path)
        try:
            client.ping()
            return "unix://" + quote(str(path))
        finally:
            client.close()
    return None
