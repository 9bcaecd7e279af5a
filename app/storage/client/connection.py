"""Commands and scripts to Redis, one or several in a round trip; errors of the store are raised as ours."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec
from redis.asyncio import Redis
from redis.exceptions import NoScriptError, ResponseError

from app.storage.client.durability import Durability, StoreStatus, proven
from app.storage.client.failures import REDIS_ERRORS, refuses_writes, store_error
from app.storage.client.wire import Argument, Command, exchange, pack
from app.storage.errors import StoreDamaged, StoreUnavailable
from app.storage.redis_keys import synced_of

if TYPE_CHECKING:
    from app.storage.client.clients import AnyRedis, Clients

LONGEST_WAIT_SECONDS = 10.0


class CommandObserver(Protocol):
    """Receives the duration of every round trip."""

    def __call__(self, command: str, seconds: float, *, failed: bool) -> None:
        """Record a round trip that is over."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, and the hash under which Redis caches it. What a durable one writes is acknowledged to callers."""

    name: str
    text: str
    sha: str
    is_durable: bool = False


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
        durability: Durability | None = None,
    ) -> None:
        self._clients = clients
        self._check = check
        self._observe = observe
        self._is_checked = False
        self.durability = durability or Durability()
        self.status = StoreStatus(self.shown, self.is_cluster)
        self.warnings: list[str] = []  # about the settings of the server, when they were last read
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
        if not self._is_checked and self.status.refusal is None:
            self.status.refusal = f"the settings of {self.shown} are not known yet"
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

    async def write(self, *command: Argument) -> None:
        """Send one command whose effect is acknowledged to a caller."""
        self._raise_if_refused()
        with self._round_trip(str(command[0])):
            (answer,) = await self._exchange([command[1]], [command], is_durable=True)
            if isinstance(answer, Exception):
                raise answer

    async def confirm(self, key: str) -> None:
        """Return when all that was written on the node of a key is as durable as an acknowledgement promises."""
        self._raise_if_refused()
        if self.durability.replicated:
            await self.write("SET", synced_of(key), "")

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
        """Send commands together; an answer that is damaged is an error in the list, and so is that of a lost node."""
        with self._round_trip(_name(commands)) as trip:
            answers = await self._exchange([command[1] for command in commands], commands)
            found = [self._error_or_raise(each, (StoreUnavailable, StoreDamaged)) for each in answers]
            trip.failed = any(isinstance(each, StoreUnavailable) for each in found)
            return found

    async def run(self, call: Call) -> Any:  # noqa: ANN401 - depends on the script
        """Call one script."""
        (answer,) = await self.run_all([call])
        if isinstance(answer, BaseException):
            raise store_error(answer, self.shown) or answer
        return answer

    async def run_all(self, calls: Sequence[Call]) -> list[Any]:
        """Call one script several times together; an exception takes the place of an answer that failed."""
        is_durable = bool(calls) and calls[0].script.is_durable
        if is_durable and self.status.refusal is not None:
            self._raise_if_refused()
        with self._round_trip(calls[0].script.name if calls else "none") as trip:
            keys = [call.keys[0] for call in calls]
            answers = await self._exchange(keys, [call.command("EVALSHA") for call in calls], is_durable=is_durable)
            unknown = [index for index, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:  # the server is new, and has executed none of these calls
                commands = [calls[index].command("EVAL") for index in unknown]
                retried = await self._exchange([keys[index] for index in unknown], commands, is_durable=is_durable)
                for index, answer in zip(unknown, retried, strict=True):
                    answers[index] = answer
            trip.failed = any(isinstance(answer, BaseException) for answer in answers)
            if trip.failed:
                for answer in answers:
                    self.note_failure(answer)
            return answers

    def note_failure(self, answer: object) -> None:
        """Note that the server refuses writes, if this answer says so; the monitor of the store notes the end."""
        if isinstance(answer, ResponseError) and refuses_writes(answer):
            self.status.note_write_failure(str(store_error(answer, self.shown)))

    def _raise_if_refused(self) -> None:
        if self.status.refusal is not None:
            raise StoreUnavailable(self.status.refusal)

    async def _exchange(
        self, keys: Sequence[Argument], commands: Sequence[Command], *, is_durable: bool = False
    ) -> list[Any]:
        client = self.redis
        if not commands:
            return []
        durability = self.durability if is_durable and self.durability.replicated else None
        if not isinstance(client, Redis):
            return await client.exchange(keys, commands, durability)
        if durability is None:
            return await exchange(client, b"".join(map(pack, commands)), len(commands))
        sent = [*commands, *durability.proof(keys[0])]
        return proven(await exchange(client, b"".join(map(pack, sent)), len(sent)), len(commands))

    def _round_trip(self, command: str, *, is_observed: bool = True) -> "_RoundTrip":
        return _RoundTrip(self, command, self._observe if is_observed else None)

    def _error_or_raise(self, answer: Any, expected: type[Exception] | tuple[type[Exception], ...]) -> Any:  # noqa: ANN401
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
            self._connection.note_failure(error)
            raise ours from error


def _name(commands: Sequence[Command]) -> str:
    return str(commands[0][0]) if commands else "none"
