"""Bytes to and from Redis: a command is written in the task that sends it, and a broken connection is always noticed.

redis-py writes each command in another task, so that it can apply a timeout, and waits for that task: three rounds of
the event loop before the command has left. A busy worker serves some dozen requests in each round, so a label would
spend most of its time there.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import hiredis
from redis._parsers.hiredis import NOT_ENOUGH_DATA
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import (
    ConnectionError,  # noqa: A004 - its names
    RedisError,
    ResponseError,
    TimeoutError,  # noqa: A004 - its names
)

Argument = str | bytes | int | memoryview
Command = Sequence[Argument]


class CheckedConnection(AbstractConnection):
    """A connection of redis-py that is never used, and never fails in another way, after the other side has closed it.

    redis-py notices a connection that was closed properly, but takes one that was reset for an open one. A write to it
    is then a RuntimeError of uvloop, which looks like an error of the program.
    """

    made: ClassVar[int] = 0  # connections of this process so far: after a new one, the server may be another

    async def _connect(self) -> None:
        await super()._connect()  # type: ignore[no-untyped-call,safe-super]
        CheckedConnection.made += 1

    async def can_read(self) -> bool:
        """Whether an idle connection must be replaced: it is closed or was reset, or an answer is left in it."""
        return self._writer is None or self._writer.transport.is_closing() or await super().can_read()

    async def _send_packed_command(self, command: Iterable[bytes]) -> None:
        writer = self._writer
        if writer is None:  # redis-py has disconnected it meanwhile
            raise ConnectionResetError("the connection is closed")
        try:
            writer.writelines(command)
        except RuntimeError as error:
            if not writer.transport.is_closing():
                raise
            raise ConnectionResetError("the connection was reset") from error
        await writer.drain()


def pack(command: Command) -> bytes:
    """Return a command in the protocol of Redis."""
    return bytes(hiredis.pack_command(tuple(command)))  # type: ignore[arg-type]  # of any length


async def exchange(client: Redis, data: bytes, count: int) -> list[Any]:
    """Send packed commands, and return their raw answers; an error of the server takes the place of an answer.

    The pool's own methods also count connections for metrics, which takes a third of a command's time.
    """
    pool, answers = client.connection_pool, list[Any]()
    connection = pool.get_available_connection()  # type: ignore[no-untyped-call]
    try:
        await pool.ensure_connection(connection)
        await send(connection, data)
        await read_answers(connection, count, answers)
    finally:
        pool._in_use_connections.remove(connection)  # noqa: SLF001
        if connection.should_reconnect():
            await connection.disconnect()
        pool._available_connections.append(connection)  # noqa: SLF001
    return answers


async def send(connection: AbstractConnection, data: bytes) -> None:
    """Write data in this task; it only waits if the socket's buffer is full."""
    if not connection.is_connected:
        await connection.connect_check_health(check_health=False)
    await connection.check_health()  # type: ignore[no-untyped-call]
    try:
        async with asyncio.timeout(connection.socket_timeout):
            await connection._send_packed_command([data])  # noqa: SLF001 - without redis-py's task
    except OSError as error:
        await _abort(connection)
        if isinstance(error, asyncio.TimeoutError):
            raise TimeoutError("Timeout writing to socket") from None
        raise ConnectionError(f"Error while writing to socket. {error}.") from error
    except BaseException:
        await _abort(connection)
        raise


async def read_answers(connection: AbstractConnection, count: int, answers: list[Any]) -> None:
    """Append the next answers to a list; an error of the server is one of them.

    Answers that have arrived are parsed without redis-py, which sets up a timeout for each of them.
    """
    for _ in range(count):
        try:
            answer = connection._parser._reader.gets()  # type: ignore[attr-defined]  # noqa: SLF001 - always hiredis
        except RedisError:  # not the protocol of Redis: nothing that follows can be trusted
            await connection.disconnect(nowait=True)
            raise
        if answer is NOT_ENOUGH_DATA:
            try:
                answer = await connection.read_response()
            except ResponseError as error:
                answer = error.with_traceback(None)  # whose frames hold these answers: a cycle
        elif isinstance(answer, ConnectionError):  # as redis-py does: the server cannot serve this connection
            await connection.disconnect(nowait=True)
            raise answer
        answers.append(answer)


async def _abort(connection: AbstractConnection) -> None:
    """Drop what is not sent yet: it must not reach the server after the caller was given an error."""
    if connection._writer is not None:  # noqa: SLF001
        connection._writer.transport.abort()  # noqa: SLF001
    await connection.disconnect(nowait=True)
