"""Commands to Redis, alone or several in one journey; errors of the store come as ours."""

import asyncio
from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisClusterException, RedisError

from app.storage.clustering import NoticingCluster
from app.storage.connecting import Connection, store_errors
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.sending import Argument, exchange, packed


async def ask(connection: Connection, *command: Argument) -> Any:  # noqa: ANN401 - each command has an answer of its own
    """Send one command."""
    client = connection.redis
    with store_errors(connection.shown), connection.timed(str(command[0])):
        if not isinstance(client, Redis):
            return await client.execute_command(*command)
        (answer,) = await exchange(client, packed(command), 1)
        if isinstance(answer, Exception):
            raise answer
        formed = client.response_callbacks.get(str(command[0]))  # as redis-py gives it
        return formed(answer) if formed else answer


async def ask_all(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """Send several commands together; the first error is raised."""
    with store_errors(connection.shown), connection.timed(_name(commands)):
        async with connection.redis.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return list(await pipeline.execute())


async def ask_each(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """Send several commands together, for answers as Redis gives them; StoreDamaged where that is what is wrong."""
    with store_errors(connection.shown), connection.timed(_name(commands)):
        answers = await _answers(connection, commands)
        return [_told(answer, connection) if isinstance(answer, Exception) else answer for answer in answers]


async def _answers(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    if isinstance(connection.redis, Redis):
        return await exchange(connection.redis, b"".join([packed(command) for command in commands]), len(commands))
    async with connection.redis.pipeline(transaction=False) as pipeline:
        for command in commands:
            pipeline.execute_command(*command)
        return list(await pipeline.execute(raise_on_error=False))


async def ask_nodes(connection: Connection, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """Send commands to the nodes of a cluster, each to its key's; StoreUnavailable stands where a node does not answer.

    The key is what follows the name of a command.
    """
    client = connection.redis
    assert isinstance(client, NoticingCluster)
    answers: list[Any] = [None] * len(commands)
    with store_errors(connection.shown), connection.timed(_name(commands)) as timed:
        groups = await client.by_node([command[1] for command in commands])
        found = await asyncio.gather(*(_ask_node(client, [commands[place] for place in places]) for places in groups))
        for places, some in zip(groups, found, strict=True):
            for place, answer in zip(places, some, strict=True):
                answers[place] = _missing(answer, connection) if isinstance(answer, Exception) else answer
        timed.failed = any(isinstance(answer, StoreUnavailable) for answer in answers)
    return answers


async def _ask_node(client: NoticingCluster, commands: Sequence[Sequence[Argument]]) -> list[Any]:
    """By a pipeline of its own: redis-py gives up a whole one if one of its nodes cannot be connected to."""
    try:
        async with client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return list(await pipeline.execute(raise_on_error=False))
    except (RedisError, RedisClusterException, OSError) as error:
        return [error] * len(commands)


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
