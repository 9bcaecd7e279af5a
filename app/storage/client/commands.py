"""Commands to Redis, alone or several in one journey; errors of the store come as ours.

The key of a command is what follows its name.
"""

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from app.storage.client.connection import Connection, store_errors
from app.storage.client.transport import Argument, exchange, packed
from app.storage.errors import StoreDamaged, StoreUnavailable


async def ask(connection: Connection, *command: Argument) -> Any:  # noqa: ANN401 - each command has an answer of its own
    """Send one command, for its answer as redis-py gives it."""
    with store_errors(connection.shown), connection.timed(str(command[0])):
        (answer,) = await exchanged(connection, [command[1]], [command])
        if isinstance(answer, Exception):
            raise answer
        formed = connection.redis.response_callbacks.get(str(command[0]))
        return formed(answer) if formed else answer


async def ask_all(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """Send several commands together, for answers as Redis gives them; the first error is raised."""
    with store_errors(connection.shown), connection.timed(_name(commands)):
        answers = await _answers(connection, commands)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


async def ask_each(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """The same; StoreDamaged stands where that is what is wrong."""
    with store_errors(connection.shown), connection.timed(_name(commands)):
        answers = await _answers(connection, commands)
        return [_told(answer, connection) if isinstance(answer, Exception) else answer for answer in answers]


async def ask_nodes(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """The same; StoreUnavailable stands where a node of a cluster does not answer."""
    with store_errors(connection.shown), connection.timed(_name(commands)) as timed:
        answers = await _answers(connection, commands)
        told = [_missing(answer, connection) if isinstance(answer, Exception) else answer for answer in answers]
        timed.failed = any(isinstance(answer, StoreUnavailable) for answer in told)
        return told


async def exchanged(
    connection: Connection, keys: Sequence[Argument], commands: Sequence[Sequence[Argument]]
) -> list[Any]:
    """Send commands together, each to where its key is, for answers as Redis gives them; an error is one, too."""
    client = connection.redis
    if not commands:
        return []
    if isinstance(client, Redis):
        return await exchange(client, b"".join([packed(command) for command in commands]), len(commands))
    return await client.exchange(keys, commands)


async def _answers(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    return await exchanged(connection, [command[1] for command in commands], commands)


def _name(commands: Sequence[Sequence[Argument]]) -> str:
    """Commands that travel together are of one kind."""
    return str(commands[0][0]) if commands else "none"


def _told(error: Exception, connection: Connection) -> StoreDamaged:
    try:
        with store_errors(connection.shown):
            raise error
    except StoreDamaged as damaged:
        return damaged


def _missing(error: Exception, connection: Connection) -> StoreUnavailable:
    try:
        with store_errors(connection.shown):
            raise error
    except StoreUnavailable as unavailable:
        return unavailable
