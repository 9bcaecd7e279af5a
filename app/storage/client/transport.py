"""redis-py's connections, made to send at once, and commands that need nothing of redis-py but these.

redis-py lets another task write a command, so that it can be timed, and waits for it: three rounds of the event loop
before the command has left. Where each round serves some dozen requests, a label would spend most of its time so.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import hiredis
from redis._parsers.hiredis import NOT_ENOUGH_DATA
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection
from redis.exceptions import ConnectionError, ResponseError, TimeoutError  # noqa: A004 - its names

Argument = str | bytes | int | memoryview


def packed(command: Sequence[Argument]) -> bytes:
    """A command as Redis reads it."""
    return bytes(hiredis.pack_command(tuple(command)))  # type: ignore[arg-type]  # of any length


async def exchange(client: Redis, commands: bytes, count: int) -> list[Any]:
    """Send so many commands, and return their answers as they are; an error of the server stands in its place."""
    pool, answers = client.connection_pool, list[Any]()
    connection = await pool.get_connection()  # type: ignore[no-untyped-call]
    try:
        await connection.send_packed_command(commands)
        await read_answers(connection, count, answers)
    finally:
        await pool.release(connection)
    return answers


async def read_answers(connection: AbstractConnection, count: int, answers: list[Any]) -> None:
    """Append so many answers; an error of the server is one, too.

    What has arrived already is taken without redis-py, which sets up a time limit for every answer.
    """
    for _ in range(count):
        answer = connection._parser._reader.gets()  # type: ignore[attr-defined]  # noqa: SLF001 - hiredis', always there
        if answer is NOT_ENOUGH_DATA:
            answer = await _awaited(connection)
        elif isinstance(answer, ConnectionError):  # as redis-py does: what says so serves nobody now
            await connection.disconnect(nowait=True)
            raise answer
        answers.append(answer)


async def _awaited(connection: AbstractConnection) -> Any:  # noqa: ANN401 - as Redis answers
    try:
        return await connection.read_response()
    except ResponseError as error:
        return error


class LeanPool(ConnectionPool):
    """Connections of one server. redis-py also counts them on their way, which takes a third of a command's time."""

    async def get_connection(self, command_name: str | None = None, *keys: Any, **options: Any) -> AbstractConnection:  # noqa: ANN401, ARG002 - its signature
        """A connection that is fit to be used."""
        connection = self.get_available_connection()  # type: ignore[no-untyped-call]
        try:
            await self.ensure_connection(connection)
        except BaseException:
            await self.release(connection)
            raise
        return connection  # type: ignore[no-any-return]

    async def release(self, connection: AbstractConnection) -> None:
        """Keep it for whoever comes next."""
        self._in_use_connections.remove(connection)
        if connection.should_reconnect():  # type: ignore[no-untyped-call]
            await connection.disconnect()
        self._available_connections.append(connection)


class _SendsAtOnce(AbstractConnection):
    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - its signature
        """Write in this very task, unless so much is under way already that it has to wait."""
        if not self.is_connected:
            await self.connect_check_health(check_health=False)
        if check_health:
            await self.check_health()  # type: ignore[no-untyped-call]
        whole = command.encode() if isinstance(command, str) else command
        try:
            async with asyncio.timeout(self.socket_timeout):
                await self._send_packed_command([whole] if isinstance(whole, bytes) else whole)
        except OSError as error:
            await self._give_up()
            if isinstance(error, asyncio.TimeoutError):
                raise TimeoutError("Timeout writing to socket") from None
            raise ConnectionError(f"Error while writing to socket. {error}.") from error
        except BaseException:
            await self._give_up()
            raise

    async def _give_up(self) -> None:
        """Nobody knows how much was written. The rest must not follow when the caller has been told that it failed."""
        if self._writer is not None:
            self._writer.transport.abort()
        await self.disconnect(nowait=True)


class TcpConnection(_SendsAtOnce, Connection):
    """To a host and a port."""


class TlsConnection(_SendsAtOnce, SSLConnection):
    """The same, encrypted."""


class SocketConnection(_SendsAtOnce, UnixDomainSocketConnection):
    """To a Unix socket."""


class SentinelConnection(_SendsAtOnce, SentinelManagedConnection):
    """To the primary that a Sentinel names."""


class SentinelTlsConnection(_SendsAtOnce, SentinelManagedSSLConnection):
    """The same, encrypted."""
