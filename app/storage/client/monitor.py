"""The state of the server over time: its settings are read again, and a small write tells whether it can write."""

import asyncio
import logging
import time
from typing import Final

from app.storage.client.connection import Connection
from app.storage.client.failures import store_errors
from app.storage.client.server_check import NoReplica, check_server
from app.storage.client.wire import CheckedConnection
from app.storage.errors import StoreUnavailable, StoreUnusable
from app.storage.redis_keys import SHARDS, probe_of

LOOK_SECONDS: Final = 60.0  # between two looks at a server without trouble
POLL_SECONDS: Final = 1.0  # and with trouble, or after a new connection

logger = logging.getLogger("sluice.storage")


class StoreMonitor:
    """Looks at the server every minute, soon after each new connection, and every second while there is trouble."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._looked_at = time.monotonic()
        self._connections_made = CheckedConnection.made
        self._is_known = not connection.status.refusal

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self.is_due():
                await self.look()

    def is_due(self) -> bool:
        """Whether it is time to look."""
        return (
            not self._is_known
            or self._connection.status.refusal is not None
            or self._connection.status.write_failure is not None
            or self._connections_made != CheckedConnection.made
            or time.monotonic() - self._looked_at >= LOOK_SECONDS
        )

    async def look(self) -> None:
        """Look once; the status then has what was found."""
        made = CheckedConnection.made
        self._is_known = False
        try:
            await look(self._connection)
            self._is_known = True
        except (StoreUnavailable, StoreUnusable):
            return  # the status has the reason, or the follower of the logs reports it
        except Exception:
            logger.exception("the settings of the store cannot be read")
        finally:
            self._connections_made = max(made, self._connections_made)
            self._looked_at = time.monotonic()


async def look(connection: Connection) -> None:
    """Check the server, and note in the status whether it can be used and can write.

    Raise StoreUnusable or StoreUnavailable if nothing may be acknowledged.
    """
    status = connection.status
    try:
        with store_errors(connection.shown):
            warnings = await check_server(connection)
    except (StoreUnusable, NoReplica) as error:
        if status.refusal != str(error):
            logger.error("%s; predictions continue, feedback is refused meanwhile", error)  # noqa: TRY400 - the message has it all
        status.refusal = str(error)
        raise
    if status.refusal is not None:
        logger.info("the store can be used: its settings are safe")
    status.refusal = None
    for sentence in warnings:
        if sentence not in connection.warnings:
            logger.warning("%s", sentence)
    connection.warnings = warnings
    await _probe(connection)


async def _probe(connection: Connection) -> None:
    """Write, and note whether the server refuses that."""
    shards = SHARDS if connection.is_cluster else SHARDS[:1]
    try:
        await connection.ask_all([("SET", probe_of(shard), "", "PX", 1000) for shard in shards])
    except StoreUnavailable:
        return  # a refusal is in the status now
    if connection.status.write_failure is not None:
        logger.info("the store can write")
    connection.status.write_failure = None
