"""redis-py's cluster client, made to notice by itself that a node has gone or moved."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from redis._parsers import AsyncCommandsParser
from redis.asyncio.cluster import ClusterNode, ClusterPipeline, NodesManager, RedisCluster
from redis.cluster import PRIMARY
from redis.exceptions import ClusterDownError, ConnectionError, SlotNotCoveredError, TimeoutError  # noqa: A004 - its names

from app.storage.sending import TcpConnection, TlsConnection

SIGNS_OF_CHANGE: Final = (ConnectionError, TimeoutError, ClusterDownError, SlotNotCoveredError)


class NoticingCluster(RedisCluster):
    """A cluster client that sends nothing twice, and still recovers with the next call."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - redis-py's options
        # An answer that a slot has moved puts it right. Every fifth, redis-py would close all connections, too, whoever
        # waits for an answer on one: such a label is refused, though it may be in the log.
        super().__init__(reinitialize_steps=0, **options)
        self.commands_parser = _Commands(self.nodes_manager)
        # All nodes, those found later too, are made with these arguments.
        kind = _NoticingTlsConnection if options.get("ssl") else _NoticingConnection
        self.connection_kwargs["connection_class"] = kind
        for node in self.nodes_manager.startup_nodes.values():
            node.connection_class = kind

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - its signature
        """Send a command once it is known where to; redis-py chooses any node before it looks for them."""
        await self.initialize()
        return await super().execute_command(*args, **kwargs)

    def pipeline(self, transaction: bool | None = None, shard_hint: str | None = None) -> ClusterPipeline:  # noqa: ARG002, FBT001 - its signature
        """A pipeline that makes the client look for the nodes anew after a failure; redis-py's own does not."""
        return _NoticingPipeline(self, transaction)  # type: ignore[abstract]  # redis-py's own is no other

    def get_node(self, host: str | None = None, port: int | None = None, node_name: str | None = None) -> ClusterNode:
        """The node of this name. redis-py asks where a slot is moving to, which may be a new node that has none yet."""
        known = super().get_node(host, port, node_name)
        if known is not None:
            return known
        there, _, number = (node_name or f"{host}:{port}").rpartition(":")
        new = ClusterNode(there, int(number), PRIMARY, **self.connection_kwargs)
        self.nodes_manager.set_nodes(self.nodes_manager.nodes_cache, {new.name: new})
        return new

    async def by_node(self, keys: Sequence[str | bytes | int | memoryview]) -> list[list[int]]:
        """The places of those keys that lie on one node, for each node, as far as is known."""
        await self.initialize()
        slots = self.nodes_manager.slots_cache
        places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            nodes = slots.get(self.keyslot(key))
            places.setdefault(nodes[0].name if nodes else "", []).append(place)
        return list(places.values())

    def look_again(self) -> None:
        """Ask for the nodes anew before the next command."""
        self._initialize = True

    async def aclose(self) -> None:
        """Close all connections, also those of a client that was about to look for its nodes again."""
        self._initialize = False  # otherwise redis-py takes the client for one without connections
        await super().aclose()


class _Commands(AsyncCommandsParser):
    """Where the keys of each command stand: asked once, of any node.

    redis-py asks the first primary, and anew with each look for the nodes: while that one is away, none is reached.
    """

    def __init__(self, nodes: NodesManager) -> None:
        super().__init__()
        self._nodes = nodes

    async def initialize(self, node: ClusterNode | None = None) -> None:
        """Ask; with a node, only if that was not done yet."""
        if node is None:
            await super().initialize()
        elif self.commands:
            self.node = node
        else:
            await self._ask([node, *(other for other in self._nodes.nodes_cache.values() if other != node)])

    async def _ask(self, nodes: Sequence[ClusterNode]) -> None:
        """Ask one after the other, until one answers."""
        for node in nodes:
            try:
                await super().initialize(node)
            except (ConnectionError, TimeoutError):
                if node is nodes[-1]:
                    raise
            else:
                self._nodes.default_node = node
                return


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


class _NoticingConnection(TcpConnection):
    """Connects again when the server has hung up meanwhile; for a single server redis-py's pool does that."""

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - its signature
        if check_health and self._reader is not None and self._reader.at_eof():
            await self.disconnect(nowait=True)
        await super().send_packed_command(command, check_health)


class _NoticingTlsConnection(_NoticingConnection, TlsConnection):
    pass
