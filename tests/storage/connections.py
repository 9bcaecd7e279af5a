"""A connection for the length of a block, and commands to send with it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.storage.client import Connection, Durability, connect
from app.storage.errors import StoreUnavailable


@asynccontextmanager
async def connected(
    url: str, timeout_seconds: float = 2.0, durability: Durability | None = None
) -> AsyncIterator[Connection]:
    connection = connect(url, timeout_seconds=timeout_seconds, durability=durability)
    try:
        yield connection
    finally:
        await connection.aclose()


async def add(connection: Connection, key: str = "count") -> object:
    return await connection.ask("INCR", key)


async def add_together(connection: Connection) -> list[object]:
    return await connection.ask_all([("INCR", f"count:{k}") for k in range(6)])


async def eventually_add(connection: Connection) -> object:
    """Retry until the command succeeds."""
    async with asyncio.timeout(10):
        while True:
            try:
                return await add(connection)
            except StoreUnavailable:
                await asyncio.sleep(0.05)
