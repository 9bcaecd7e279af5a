"""Commands to Redis, alone or several in one journey; errors of the store come as ours."""

from collections.abc import Sequence
from typing import Any

from app.storage.connecting import Connection, store_errors
from app.storage.errors import StoreDamaged

Argument = str | bytes | int | memoryview


async def ask(connection: Connection, *command: Argument) -> Any:  # noqa: ANN401 - each command has an answer of its own
    """Send one command."""
    with store_errors(connection.shown), connection.timed(str(command[0])):
        return await connection.redis.execute_command(*command)


async def ask_all(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """Send several commands together; the first error is raised."""
    with store_errors(connection.shown), connection.timed(_name(commands)):
        async with connection.redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return list(await pipeline.execute())


async def ask_each(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """Send several commands together; in place of an answer stands StoreDamaged where that is what is wrong."""
    with store_errors(connection.shown), connection.timed(_name(commands)):
        async with connection.redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            answers = await pipeline.execute(raise_on_error=False)
        return [_told(answer, connection) if isinstance(answer, Exception) else answer for answer in answers]


def _name(commands: Sequence[Sequence[Argument]]) -> str:
    """Commands that travel together are of one kind."""
    return str(commands[0][0]) if commands else "none"


def _told(error: Exception, connection: Connection) -> StoreDamaged:
    try:
        with store_errors(connection.shown):
            raise error
    except StoreDamaged as damaged:
        return damaged
