"""redis-py's cluster client, changed to recover by itself when a node fails or moves, and to send in the same task."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final

from redis._parsers import AsyncCommandsParser
from redis.asyncio.cluster import ClusterNode, NodesManager, RedisCluster
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection
from redis.cluster import PRIMARY
from redis.exceptions import (
    AskError,
    ClusterDownError,
    ClusterError,
    ConnectionError,  # noqa: A004 - its names
    MaxConnectionsError,
    MovedError,
    RedisError,
    SlotNotCoveredError,
    TimeoutError,  # noqa: A004 - its names
    TryAgainError,
)

from app.storage.client.durability import Durability, proven
from app.storage.client.wire import Argument, CheckedConnection, Command, pack, read_answers, send

REDIRECTS: Final = (AskError, TryAgainError)  # a MovedError is an AskError
MOST_REDIRECTS: Final = 16
MOVING_SECONDS: Final = 0.05  # until all keys of a slot that is moving are on the same node


class ClusterClient(RedisCluster):
    """A cluster client that never sends a command twice, and recovers with the next call."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - redis-py's options
        # A MOVED answer corrects the slot table. After every fifth one, redis-py would also close all connections,
        # including those on which a label waits for its answer: it would be refused, though it may be in the log.
        super().__init__(reinitialize_steps=0, **options)
        self.commands_parser = _CommandsParser(self.nodes_manager)
        # redis-py also makes the nodes that it finds later with these arguments.
        kind = _ReconnectingTlsConnection if options.get("ssl") else _ReconnectingConnection
        self.connection_kwargs["connection_class"] = kind
        for node in self.nodes_manager.startup_nodes.values():
            node.connection_class = kind

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - its signature
        """Send a command after discovery of the nodes; redis-py chooses a node before it knows them."""
        await self.initialize()
        return await super().execute_command(*args, **kwargs)

    def get_node(self, host: str | None = None, port: int | None = None, node_name: str | None = None) -> ClusterNode:
        """Return the node of this name. A slot may move to a new node that is not in the table yet."""
        known = super().get_node(host, port, node_name)
        if known is not None:
            return known
        new_host, _, new_port = (node_name or f"{host}:{port}").rpartition(":")
        new = ClusterNode(new_host, int(new_port), PRIMARY, **self.connection_kwargs)
        self.nodes_manager.set_nodes(self.nodes_manager.nodes_cache, {new.name: new})
        return new

    async def exchange(
        self, keys: Sequence[Argument], commands: Sequence[Command], durability: Durability | None = None
    ) -> list[Any]:
        """Send commands to the nodes of their keys, one batch per node, and return the raw answers.

        An error takes the place of an answer. A command that a node redirects is sent on to the node that has its key.
        With a durability, each node proves that it has stored what was sent to it.
        """
        await self.initialize()
        answers: list[Any] = [None] * len(commands)
        groups = self._by_node(keys)
        batches = [
            self._exchange_with(
                node,
                [commands[index] for index in indexes],
                durability.proof(keys[indexes[0]]) if durability else (),
            )
            for node, indexes in groups
        ]
        for (_, indexes), batch in zip(groups, await _gather(batches), strict=True):
            for index, answer in zip(indexes, batch, strict=True):
                answers[index] = answer
        redirected = [index for index, answer in enumerate(answers) if isinstance(answer, REDIRECTS)]
        following = [
            self._follow(
                answers[index], keys[index], commands[index], durability.proof(keys[index]) if durability else ()
            )
            for index in redirected
        ]
        for index, answer in zip(redirected, await _gather(following), strict=True):
            answers[index] = answer
        return answers

    def _by_node(self, keys: Sequence[Argument]) -> list[tuple[ClusterNode | None, list[int]]]:
        """Group the indexes of keys by node; None stands for keys without a known node."""
        slots = self.nodes_manager.slots_cache
        groups: dict[str, tuple[ClusterNode | None, list[int]]] = {}
        for index, key in enumerate(keys):
            nodes = slots.get(self.keyslot(key))
            node = nodes[0] if nodes else None
            groups.setdefault(node.name if node else "", (node, []))[1].append(index)
        return list(groups.values())

    async def _exchange_with(
        self, node: ClusterNode | None, commands: Sequence[Command], proof: Sequence[Command] = ()
    ) -> list[Any]:
        """Return the answers of one node, with the error where it gave none."""
        answers = await self._raw_answers(node, [*commands, *proof])
        return proven(answers, len(commands)) if proof else answers

    async def _raw_answers(self, node: ClusterNode | None, commands: Sequence[Command]) -> list[Any]:
        if node is None:
            self.discover_again()
            return [SlotNotCoveredError("no node has this slot")] * len(commands)
        answers: list[Any] = []
        try:
            connection = node.acquire_connection()
            try:
                await node.disconnect_if_needed(connection)
                await _disconnect_if_unusable(connection)
                await send(connection, b"".join(map(pack, commands)))
                await read_answers(connection, len(commands), answers)  # answers before a failure count
            finally:
                node.release(connection)
        except (RedisError, OSError) as error:
            if not isinstance(error, MaxConnectionsError):
                await self._node_failed(node)
            answers += [error] * (len(commands) - len(answers))
        if any(isinstance(answer, ClusterDownError) for answer in answers):
            self.discover_again()
        return answers

    async def _node_failed(self, node: ClusterNode) -> None:
        """Stop using the connections of a node that did not answer, and discover the nodes from another one."""
        node.update_active_connections_for_reconnect()
        # Without waiting, unlike redis-py's own method: meanwhile another command could take one of them into use.
        for connection in tuple(node._free):  # noqa: SLF001
            await connection.disconnect(nowait=True)
        self.nodes_manager.move_node_to_end_of_cached_nodes(node.name)
        self.discover_again()

    async def _follow(self, answer: Any, key: Argument, command: Command, proof: Sequence[Command]) -> Any:  # noqa: ANN401
        """Send a redirected command to the node that has its slot now, or is just importing it."""
        for _ in range(MOST_REDIRECTS):
            if not isinstance(answer, REDIRECTS):
                return answer
            if isinstance(answer, AskError) and not isinstance(answer, MovedError):
                target = self.get_node(answer.host, answer.port)
                asked = [("ASKING",), *proof] if proof else proof
                _, answer = await self._exchange_with(target, [("ASKING",), command], asked)
                continue
            if isinstance(answer, MovedError):
                self.nodes_manager.slots_cache.setdefault(answer.slot_id, [])
                await self.nodes_manager.move_slot(answer)
            else:
                await asyncio.sleep(MOVING_SECONDS)
            ((node, _),) = self._by_node([key])
            (answer,) = await self._exchange_with(node, [command], proof)
        return ClusterError("the nodes redirect in a circle") if isinstance(answer, AskError) else answer

    def discover_again(self) -> None:
        """Discover the nodes again before the next command."""
        self._initialize = True

    async def aclose(self) -> None:
        """Close all connections, also those of a client that was about to discover its nodes."""
        self._initialize = False  # otherwise redis-py assumes that there are no connections
        await super().aclose()


async def _gather(work: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Return all results. A single coroutine is awaited directly: a task would take two rounds of the event loop."""
    return [await work[0]] if len(work) == 1 else list(await asyncio.gather(*work))


class _CommandsParser(AsyncCommandsParser):
    """Knows the positions of keys in commands; asks for them once, from any node.

    redis-py asks the first primary again at each discovery: while that one is down, no node is reached.
    """

    def __init__(self, nodes: NodesManager) -> None:
        super().__init__()
        self._nodes = nodes

    async def initialize(self, node: ClusterNode | None = None) -> None:
        """Ask a node, unless that was done before."""
        if node is None:
            await super().initialize()
        elif self.commands:
            self.node = node
        else:
            await self._ask([node, *(other for other in self._nodes.nodes_cache.values() if other != node)])

    async def _ask(self, nodes: Sequence[ClusterNode]) -> None:
        """Ask one node after the other until one answers."""
        for node in nodes:
            try:
                await super().initialize(node)
            except (ConnectionError, TimeoutError):
                if node is nodes[-1]:
                    raise
            else:
                self._nodes.default_node = node
                return


async def _disconnect_if_unusable(connection: AbstractConnection) -> None:
    """Disconnect if the server has closed the connection; for a single server, redis-py's pool does that."""
    if connection.is_connected and await connection.can_read():
        await connection.disconnect(nowait=True)


class _ReconnectingConnection(CheckedConnection, Connection):
    """Connects again if the server has closed the connection: for redis-py's own commands."""

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - its signature
        if check_health:
            await _disconnect_if_unusable(self)
        await super().send_packed_command(command, check_health)


class _ReconnectingTlsConnection(_ReconnectingConnection, SSLConnection):
    pass
