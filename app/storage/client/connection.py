"""Connecting to Redis or Valkey: one server, Sentinel or a cluster, all by SLUICE_REDIS_URL."""

import asyncio
import logging
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Protocol, Self

from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, ResponseError

from app.storage.client.address import Address, address_of
from app.storage.client.cluster import NoticingCluster
from app.storage.client.failures import store_error, store_errors
from app.storage.client.transport import (
    LeanPool,
    SentinelConnection,
    SentinelTlsConnection,
    SocketConnection,
    TcpConnection,
    TlsConnection,
)
from app.storage.errors import StoreUnusable

__all__ = ["AnyRedis", "Connection", "advice", "connect", "store_error", "store_errors"]

AnyRedis = Redis | NoticingCluster

LONGEST_WAIT_SECONDS: Final = 10.0
HEALTH_CHECK_SECONDS: Final = 15
MOST_CONNECTIONS: Final = 512  # redis-py refuses the command that would need one more
OLDEST: Final = {"redis": (6, 2), "valkey": (7, 2)}
WISHES: Final = (  # a server's setting, what it should be, and what happens otherwise
    ("appendonly", "yes", "a restart of the server loses acknowledged feedback"),
    ("appendfsync", "always", "a crash of the server can lose the last second of acknowledged feedback"),
    ("maxmemory-policy", "noeviction", "a full server throws away what it should keep"),
)

logger = logging.getLogger("sluice.storage")


class Observes(Protocol):
    """Whoever wants to know how commands went."""

    def __call__(self, command: str, seconds: float, *, failed: bool) -> None:
        """A command is over."""


def connect(url: str, *, timeout_seconds: float = 2.0, observe: Observes | None = None) -> "Connection":
    """A connection to what the URL names; nothing is sent before the first command. BadSetting for a wrong URL."""
    return Connection(address_of(url), timeout_seconds, observe)


class Connection:
    """Clients of one Redis. A command is sent once: after an error the caller decides whether it may be sent again."""

    def __init__(self, address: Address, timeout_seconds: float, observe: Observes | None = None) -> None:
        self.address = address
        self._observe = observe
        self._timeout_seconds = timeout_seconds
        self._sentinels: list[Sentinel] = []
        self._clients: list[AnyRedis] = []
        self._met = False
        self.redis: AnyRedis = self._client(timeout_seconds)

    @property
    def is_cluster(self) -> bool:
        """Whether keys lie on several nodes, so that one command can use those of one slot only."""
        return self.address.kind == "cluster"

    @property
    def shown(self) -> str:
        """What it is and where, for sentences; never with a password."""
        return f"Redis at {self.address.shown}"

    def timed(self, command: str) -> "Timed":
        """`with connection.timed("HGET") as timed:` whoever observes this connection is told how it went."""
        return Timed(command, self._observe)

    def blocking(self, longest_wait_seconds: float = LONGEST_WAIT_SECONDS) -> AnyRedis:
        """A client of its own for commands that wait up to so long on the server; closed with the connection."""
        return self._client(longest_wait_seconds + self._timeout_seconds)

    async def ping(self) -> None:
        """Return if Redis answers; the first time, make sure that it can be used, and log what is unwise about it."""
        with store_errors(self.shown):
            await self.redis.ping()
            if self._met:
                return
            await _check(self)
            for sentence in await advice(self):
                logger.warning("%s", sentence)
            self._met = True

    async def aclose(self) -> None:
        """Close every client of this connection."""
        closing = [client.aclose() for client in self._clients] + [sentinel.aclose() for sentinel in self._sentinels]
        await asyncio.gather(*closing, return_exceptions=True)  # a server that is gone needs no farewell

    def _client(self, timeout_seconds: float) -> AnyRedis:
        options: dict[str, Any] = {
            "protocol": 2,  # with 3, redis-py does not look whether the server has closed a pooled connection
            "driver_info": None,
            "decode_responses": False,
            "socket_timeout": timeout_seconds,
            "socket_connect_timeout": self._timeout_seconds,
            "health_check_interval": HEALTH_CHECK_SECONDS,
            "max_connections": MOST_CONNECTIONS,
            "retry": Retry(NoBackoff(), 0),
        } | dict(self.address.options)
        client = self._made(options | {"socket_timeout": max(timeout_seconds, options["socket_timeout"])})
        self._clients.append(client)
        return client

    def _made(self, options: dict[str, Any]) -> AnyRedis:
        match self.address.kind:
            case "socket":
                return Redis.from_pool(LeanPool(SocketConnection, **options))
            case "server":
                host, port = self.address.nodes[0]
                kind = TlsConnection if self.address.encrypted else TcpConnection
                return Redis.from_pool(LeanPool(kind, host=host, port=port, **options))
            case "sentinel":
                return self._made_by_sentinel(options)
            case "cluster":
                nodes = [ClusterNode(host, port) for host, port in self.address.nodes]
                return NoticingCluster(startup_nodes=nodes, ssl=self.address.encrypted, **options)

    def _made_by_sentinel(self, options: dict[str, Any]) -> Redis:
        encryption: dict[str, Any] = {"ssl": True} if self.address.encrypted else {}
        shared = {name: value for name, value in options.items() if name.startswith("ssl_")}
        own = {"socket_timeout": self._timeout_seconds, "socket_connect_timeout": self._timeout_seconds}
        plain = {"protocol": 2, "driver_info": None, "retry": Retry(NoBackoff(), 0)}
        asked = encryption | shared | own | plain | dict(self.address.sentinel_options)
        sentinel = Sentinel(self.address.nodes, sentinel_kwargs=asked)  # type: ignore[no-untyped-call]
        self._sentinels.append(sentinel)
        kind = SentinelTlsConnection if self.address.encrypted else SentinelConnection
        made: Redis = sentinel.master_for(self.address.primary, connection_class=kind, **encryption, **options)
        return made


class Timed:
    """A command under way."""

    __slots__ = ("_begin", "_command", "_observe", "failed")

    def __init__(self, command: str, observe: Observes | None) -> None:
        self._command = command
        self._observe = observe
        self._begin = time.perf_counter()
        self.failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: object, __: TracebackType | None) -> None:
        if self._observe is not None:
            failed = self.failed or (kind is not None and issubclass(kind, Exception))
            self._observe(self._command, time.perf_counter() - self._begin, failed=failed)


async def advice(connection: Connection) -> list[str]:
    """What the operator should change on the server, a sentence each."""
    sentences: list[str] = []
    for name, wanted, otherwise in WISHES:
        try:
            found = await _settings(connection, name)
        except ResponseError as error:
            if store_error(error) is not None:
                raise
            return [f"{connection.shown} does not show its settings: whether it keeps acknowledged feedback is unknown"]
        sentences += [
            f"{connection.shown} has {name} {value}, not {wanted}: {otherwise}"
            for value in sorted(found - {wanted})
            if name != "appendfsync" or not any("appendonly" in sentence for sentence in sentences)
        ]
    return sentences


async def _settings(connection: Connection, name: str) -> set[str]:
    """The values that a setting has, on all primaries."""
    client = connection.redis
    if isinstance(client, NoticingCluster):
        await client.initialize()
        answers = [await client.config_get(name, target_nodes=node) for node in client.get_primaries()]
    else:
        answers = [await client.config_get(name)]
    return {str(answer[name]) for answer in answers if name in answer}


async def _check(connection: Connection) -> None:
    """StoreUnusable for a server that is too old, or of another kind than the URL says."""
    try:
        facts = await _facts(connection.redis)
    except NoPermissionError:  # the user may not ask; the commands that follow will tell
        return
    mode = facts.get("server_mode") or facts.get("redis_mode")
    if mode == "cluster" and not connection.is_cluster:
        raise StoreUnusable(f"{connection.shown} runs in cluster mode; write redis+cluster:// in SLUICE_REDIS_URL")
    if mode == "sentinel":
        raise StoreUnusable(
            f"{connection.shown} is a Sentinel; write redis+sentinel://host:port/name-of-primary in SLUICE_REDIS_URL"
        )
    name = "valkey" if "valkey_version" in facts else "redis"
    version = str(facts.get(f"{name}_version", ""))
    if version and tuple(int(part) for part in version.split(".")[:2]) < OLDEST[name]:
        needed = " or ".join(f"{kind} {major}.{minor}" for kind, (major, minor) in OLDEST.items())
        raise StoreUnusable(f"{connection.shown} is {name} {version}; Sluice needs at least {needed}")


async def _facts(client: AnyRedis) -> Mapping[str, Any]:
    if isinstance(client, NoticingCluster):
        await client.initialize()
        facts = await client.info("server", target_nodes=client.get_default_node())
    else:
        facts = await client.info("server")
    return dict(facts)
