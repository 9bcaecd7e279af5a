"""Commands and scripts to Redis, one or several in a round trip; errors of the store are raised as ours.

redis-py writes each command in another task, so that it can apply a timeout, and waits for that task: three rounds of
the event loop before the command has left. A busy worker serves some dozen requests in each round, so a label would
spend most of its time there. Here a command is written in the task that sends it, and everything on the path of a
label is in this module.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import hiredis
import msgspec
from redis._parsers.hiredis import NOT_ENOUGH_DATA
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError, NoScriptError, ResponseError, TimeoutError  # noqa: A004 - its names

from app.storage.client.failures import REDIS_ERRORS, store_error
from app.storage.errors import StoreDamaged, StoreUnavailable

if TYPE_CHECKING:
    from app.storage.client.clients import AnyRedis, Clients

Argument = str | bytes | int | memoryview
Command = Sequence[Argument]

LONGEST_WAIT_SECONDS = 10.0


class CommandObserver(Protocol):
    """Receives the duration of every round trip."""

    def __call__(self, command: str, seconds: float, *, failed: bool) -> None:
        """Record a round trip that is over."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, and the hash under which Redis caches it."""

    name: str
    text: str
    sha: str


class Call(msgspec.Struct, frozen=True):
    """One call of a script."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[Argument]

    def command(self, how: str) -> tuple[Argument, ...]:
        """Return the EVALSHA command, or EVAL for a server that has not cached the script."""
        source = self.script.sha if how == "EVALSHA" else self.script.text
        return (how, source, len(self.keys), *self.keys, *self.arguments)


class Connection:
    """A connection to one Redis. It sends a command once: after an error, the caller decides whether to retry.

    The key of a command is the argument behind its name. Commands of one round trip have the same name.
    """

    def __init__(
        self,
        clients: "Clients",
        check: Callable[["Connection"], Awaitable[None]],
        observe: CommandObserver | None = None,
    ) -> None:
        self._clients = clients
        self._check = check
        self._observe = observe
        self._is_checked = False
        self.redis: AnyRedis = clients.make()

    @property
    def is_cluster(self) -> bool:
        """Whether keys are on several nodes, so that a command can only use keys of one slot."""
        return self._clients.address.kind == "cluster"

    @property
    def shown(self) -> str:
        """The kind and address for messages, without a password."""
        return f"Redis at {self._clients.address.shown}"

    def blocking(self, longest_wait_seconds: float = LONGEST_WAIT_SECONDS) -> "AnyRedis":
        """Return a separate client for commands that block on the server; it is closed with the connection."""
        return self._clients.make(longest_wait_seconds)

    async def ping(self) -> None:
        """Return if Redis answers. The first time, also check that the server can be used."""
        with self._round_trip("PING", is_observed=False):
            await self.redis.ping()
            if not self._is_checked:
                await self._check(self)
                self._is_checked = True

    async def aclose(self) -> None:
        """Close every client of this connection."""
        await self._clients.aclose()

    async def ask(self, *command: Argument) -> Any:  # noqa: ANN401 - depends on the command
        """Send one command, and return its answer as redis-py parses it."""
        name = str(command[0])
        with self._round_trip(name):
            (answer,) = await self._exchange([command[1]], [command])
            if isinstance(answer, Exception):
                raise answer
        parse = self.redis.response_callbacks.get(name)
        return parse(answer) if parse else answer

    async def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands together, and return their raw answers; the first error is raised."""
        with self._round_trip(_name(commands)):
            answers = await self._exchange([command[1] for command in commands], commands)
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            return answers

    async def ask_each(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands together; an answer that is damaged is a StoreDamaged in the list."""
        with self._round_trip(_name(commands)):
            answers = await self._exchange([command[1] for command in commands], commands)
            return [self._error_or_raise(each, StoreDamaged) for each in answers]

    async def ask_nodes(self, commands: Sequence[Command]) -> list[Any]:
        """Send commands together; the answer of a cluster node that is down is a StoreUnavailable in the list."""
        with self._round_trip(_name(commands)) as trip:
            answers = await self._exchange([command[1] for command in commands], commands)
            found = [self._error_or_raise(each, StoreUnavailable) for each in answers]
            trip.failed = any(isinstance(each, StoreUnavailable) for each in found)
            return found

    async def run(self, call: Call) -> Any:  # noqa: ANN401 - depends on the script
        """Call one script."""
        (answer,) = await self.run_all([call])
        if isinstance(answer, BaseException):
            raise store_error(answer, self.shown) or answer
        return answer

    async def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Call scripts together; an exception takes the place of an answer that failed."""
        with self._round_trip(calls[0].script.name if calls else "none") as trip:
            keys = [call.keys[0] for call in calls]
            answers = await self._exchange(keys, [call.command("EVALSHA") for call in calls])
            unknown = [index for index, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:  # the server is new, and has executed none of these calls
                commands = [calls[index].command("EVAL") for index in unknown]
                retried = await self._exchange([keys[index] for index in unknown], commands)
                for index, answer in zip(unknown, retried, strict=True):
                    answers[index] = answer
            trip.failed = any(isinstance(answer, BaseException) for answer in answers)
            return answers

    async def _exchange(self, keys: Sequence[Argument], commands: Sequence[Command]) -> list[Any]:
        client = self.redis
        if not commands:
            return []
        if isinstance(client, Redis):
            return await exchange(client, b"".join(map(pack, commands)), len(commands))
        return await client.exchange(keys, commands)

    def _round_trip(self, command: str, *, is_observed: bool = True) -> "_RoundTrip":
        return _RoundTrip(self, command, self._observe if is_observed else None)

    def _error_or_raise(self, answer: Any, expected: type[Exception]) -> Any:  # noqa: ANN401 - as Redis answers
        """Return the answer, or its error if that is an expected one; raise any other error."""
        if not isinstance(answer, Exception):
            return answer
        error = store_error(answer, self.shown)
        if isinstance(error, expected):
            return error
        raise error or answer


class _RoundTrip:
    """Reports the duration of a round trip, and raises errors of the store as ours."""

    __slots__ = ("_begin", "_command", "_connection", "_observe", "failed")

    def __init__(self, connection: Connection, command: str, observe: CommandObserver | None) -> None:
        self._connection = connection
        self._command = command
        self._observe = observe
        self._begin = time.perf_counter()
        self.failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        if self._observe is not None:
            failed = self.failed or isinstance(error, Exception)
            self._observe(self._command, time.perf_counter() - self._begin, failed=failed)
        if isinstance(error, REDIS_ERRORS) and (ours := store_error(error, self._connection.shown)) is not None:
            raise ours from error


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
        answer = connection._parser._reader.gets()  # type: ignore[attr-defined]  # noqa: SLF001 - always hiredis
        if answer is NOT_ENOUGH_DATA:
            try:
                answer = await connection.read_response()
            except ResponseError as error:
                answer = error
        elif isinstance(answer, ConnectionError):  # as redis-py does: the server cannot serve this connection
            await connection.disconnect(nowait=True)
            raise answer
        answers.append(answer)


async def _abort(connection: AbstractConnection) -> None:
    """Drop what is not sent yet: it must not reach the server after the caller was given an error."""
    if connection._writer is not None:  # noqa: SLF001
        connection._writer.transport.abort()  # noqa: SLF001
    await connection.disconnect(nowait=True)


def _name(commands: Sequence[Command]) -> str:
    return str(commands[0][0]) if commands else "none"
