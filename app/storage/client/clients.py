"""The redis-py clients of one address: server, Unix socket, Sentinel or cluster."""

import asyncio
from typing import Any, Final

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection
from redis.backoff import NoBackoff

from app.storage.client.address import Address
from app.storage.client.cluster import ClusterClient
from app.storage.client.wire import CheckedConnection

AnyRedis = Redis | ClusterClient

HEALTH_CHECK_SECONDS: Final = 15
MOST_CONNECTIONS: Final = 512  # redis-py refuses a command that would need one more


class _TcpConnection(CheckedConnection, Connection):
    pass


class _TlsConnection(CheckedConnection, SSLConnection):
    pass


class _SocketConnection(CheckedConnection, UnixDomainSocketConnection):
    pass


class _PrimaryConnection(CheckedConnection, SentinelManagedConnection):
    pass


class _PrimaryTlsConnection(CheckedConnection, SentinelManagedSSLConnection):
    pass


class Clients:
    """Makes the clients of one address, and closes them."""

    def __init__(self, address: Address, timeout_seconds: float, longest_wait_seconds: float = 0.0) -> None:
        self.address = address
        self._timeout_seconds = timeout_seconds
        self._longest_wait_seconds = longest_wait_seconds
        self._sentinels: list[Sentinel] = []
        self._made: list[AnyRedis] = []

    def make(self, longest_wait_seconds: float = 0.0) -> AnyRedis:
        """Return a new client for commands that block on the server for up to this time."""
        timeout_seconds = max(longest_wait_seconds, self._longest_wait_seconds) + self._timeout_seconds
        options: dict[str, Any] = {
            "protocol": 2,  # with 3, redis-py does not notice that the server has closed a pooled connection
            "driver_info": None,
            "decode_responses": False,
            "socket_timeout": timeout_seconds,
            "socket_connect_timeout": self._timeout_seconds,
            "health_check_interval": HEALTH_CHECK_SECONDS,
            "max_connections": MOST_CONNECTIONS,
            "retry": Retry(NoBackoff(), 0),
        } | dict(self.address.options)
        client = self._client(options | {"socket_timeout": max(timeout_seconds, options["socket_timeout"])})
        self._made.append(client)
        return client

    async def aclose(self) -> None:
        """Close every client."""
        closing = [client.aclose() for client in self._made] + [sentinel.aclose() for sentinel in self._sentinels]
        await asyncio.gather(*closing, return_exceptions=True)  # the server may be gone

    def _client(self, options: dict[str, Any]) -> AnyRedis:
        match self.address.kind:
            case "socket":
                return Redis.from_pool(ConnectionPool(_SocketConnection, **options))
            case "server":
                host, port = self.address.nodes[0]
                kind = _TlsConnection if self.address.encrypted else _TcpConnection
                return Redis.from_pool(ConnectionPool(kind, host=host, port=port, **options))
            case "sentinel":
                return self._sentinel_client(options)
            case "cluster":
                nodes = [ClusterNode(host, port) for host, port in self.address.nodes]
                return ClusterClient(startup_nodes=nodes, ssl=self.address.encrypted, **options)

    def _sentinel_client(self, options: dict[str, Any]) -> Redis:
        encryption: dict[str, Any] = {"ssl": True} if self.address.encrypted else {}
        shared = {name: value for name, value in options.items() if name.startswith("ssl_")}
        timeouts = {"socket_timeout": self._timeout_seconds, "socket_connect_timeout": self._timeout_seconds}
        plain = {"protocol": 2, "driver_info": None, "retry": Retry(NoBackoff(), 0)}
        sentinel_options = encryption | shared | timeouts | plain | dict(self.address.sentinel_options)
        sentinel = Sentinel(self.address.nodes, sentinel_kwargs=sentinel_options)  # type: ignore[no-untyped-call]
        for each in sentinel.sentinels:
            each.connection_pool.connection_class = _TlsConnection if self.address.encrypted else _TcpConnection
        self._sentinels.append(sentinel)
        kind = _PrimaryTlsConnection if self.address.encrypted else _PrimaryConnection
        client: Redis = sentinel.master_for(self.address.primary, connection_class=kind, **options)
        return client
