"""redis-py's cluster client, made to notice by itself that a node has gone or moved."""

from collections.abc import Iterable
from typing import Any, Final

from redis.asyncio.cluster import ClusterPipeline, RedisCluster
from redis.asyncio.connection import Connection, SSLConnection
from redis.exceptions import ClusterDownError, ConnectionError, SlotNotCoveredError, TimeoutError  # noqa: A004 - its names

SIGNS_OF_CHANGE: Final = (ConnectionError, TimeoutError, ClusterDownError, SlotNotCoveredError)


class NoticingCluster(RedisCluster):
    """A cluster client that sends nothing twice, and still recovers with the next call."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - redis-py's options
        super().__init__(**options)
        # All nodes, those found later too, are made with these arguments.
        kind = _NoticingSSLConnection if options.get("ssl") else _NoticingConnection
        self.connection_kwargs["connection_class"] = kind
        for node in self.nodes_manager.startup_nodes.values():
            node.connection_class = kind

    def pipeline(self, transaction: bool | None = None, shard_hint: str | None = None) -> ClusterPipeline:  # noqa: ARG002, FBT001 - its signature
        """A pipeline that makes the client look for the nodes anew after a failure; redis-py's own does not."""
        return _NoticingPipeline(self, transaction)  # type: ignore[abstract]  # redis-py's own is no other

    def look_again(self) -> None:
        """Ask for the nodes anew before the next command."""
        self._initialize = True

    async def aclose(self) -> None:
        """Close all connections, also those of a client that was about to look for its nodes again."""
        self._initialize = False  # otherwise redis-py takes the client for one without connections
        await super().aclose()


class _NoticingPipeline(ClusterPipeline):
    async def execute(self, raise_on_error: bool = True, allow_redirections: bool = True) -> list[Any]:  # noqa: FBT001, FBT002 - its signature
        client = self.cluster_client
        assert isinstance(client, NoticingCluster)
        try:
            answers = await super().execute(raise_on_error, allow_redirections)
        except SIGNS_OF_CHANGE:
            client.look_again()
            raise
        if any(isinstance(answer, SIGNS_OF_CHANGE) for answer in answers):
            client.look_again()
        return answers


class _NoticingConnection(Connection):
    """Connects again when the server has hung up meanwhile; for a single server redis-py's pool does that."""

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - its signature
        if check_health and self._reader is not None and self._reader.at_eof():
            await self.disconnect(nowait=True)
        await super().send_packed_command(command, check_health)


class _NoticingSSLConnection(SSLConnection, _NoticingConnection):
    pass
