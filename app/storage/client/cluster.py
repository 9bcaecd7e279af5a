"""redis-py's cluster client, made to notice by itself that a node has gone or moved, and to send at once."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, Final

from redis._parsers import AsyncCommandsParser
from redis.asyncio.cluster import ClusterNode, NodesManager, RedisCluster
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

from app.storage.client.transport import Argument, TcpConnection, TlsConnection, packed, read_answers

ELSEWHERE: Final = (AskError, TryAgainError)  # a MovedError is an AskError
HOPS: Final = 16
MOVING_SECONDS: Final = 0.05  # until keys that belong together have all moved


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

    def get_node(self, host: str | None = None, port: int | None = None, node_name: str | None = None) -> ClusterNode:
        """The node of this name. redis-py asks where a slot is moving to, which may be a new node that has none yet."""
        known = super().get_node(host, port, node_name)
        if known is not None:
            return known
        there, _, number = (node_name or f"{host}:{port}").rpartition(":")
        new = ClusterNode(there, int(number), PRIMARY, **self.connection_kwargs)
        self.nodes_manager.set_nodes(self.nodes_manager.nodes_cache, {new.name: new})
        return new

    async def exchange(self, keys: Sequence[Argument], commands: Sequence[Sequence[Argument]]) -> list[Any]:
        """Send commands to the nodes that have their keys, those of a node together, and return answers as they are.

        An error stands in place of an answer. What a node has not taken, since it has the key no more, goes on to the
        one that has it.
        """
        await self.initialize()
        answers: list[Any] = [None] * len(commands)
        groups = self._by_node(keys)
        asking = [self._exchange_with(node, [commands[place] for place in places]) for node, places in groups]
        for (_, places), some in zip(groups, await _together(asking), strict=True):
            for place, answer in zip(places, some, strict=True):
                answers[place] = answer
        elsewhere = [place for place, answer in enumerate(answers) if isinstance(answer, ELSEWHERE)]
        following = [self._follow(answers[place], keys[place], commands[place]) for place in elsewhere]
        for place, answer in zip(elsewhere, await _together(following), strict=True):
            answers[place] = answer
        return answers

    def _by_node(self, keys: Sequence[Argument]) -> list[tuple[ClusterNode | None, list[int]]]:
        """The places of those keys that lie on one node, for each node; None has those that no node is known for."""
        slots = self.nodes_manager.slots_cache
        groups: dict[str, tuple[ClusterNode | None, list[int]]] = {}
        for place, key in enumerate(keys):
            nodes = slots.get(self.keyslot(key))
            node = nodes[0] if nodes else None
            groups.setdefault(node.name if node else "", (node, []))[1].append(place)
        return list(groups.values())

    async def _exchange_with(self, node: ClusterNode | None, commands: Sequence[Sequence[Argument]]) -> list[Any]:
        """The answers of one node; where it gave none, why."""
        if node is None:
            self.look_again()
            return [SlotNotCoveredError("no node has this slot")] * len(commands)
        answers: list[Any] = []
        try:
            connection = node.acquire_connection()
            try:
                await node.disconnect_if_needed(connection)
                await connection.send_packed_command(b"".join(map(packed, commands)))
                await read_answers(connection, len(commands), answers)  # what came before a failure counts
            finally:
                node.release(connection)
        except (RedisError, OSError) as error:
            if not isinstance(error, MaxConnectionsError):
                await self._lost(node)
            answers += [error] * (len(commands) - len(answers))
        if any(isinstance(answer, ClusterDownError) for answer in answers):
            self.look_again()
        return answers

    async def _lost(self, node: ClusterNode) -> None:
        """A node did not answer: trust none of its connections, and ask another one where everything is."""
        node.update_active_connections_for_reconnect()
        await node.disconnect_free_connections()
        self.nodes_manager.move_node_to_end_of_cached_nodes(node.name)
        self.look_again()

    async def _follow(self, answer: Any, key: Argument, command: Sequence[Argument]) -> Any:  # noqa: ANN401 - as Redis answers
        """Send a command, which a node has not taken, to where it belongs: its slot has moved, or is just moving."""
        for _ in range(HOPS):
            if not isinstance(answer, ELSEWHERE):
                return answer
            if isinstance(answer, AskError) and not isinstance(answer, MovedError):
                there = self.get_node(answer.host, answer.port)
                _, answer = await self._exchange_with(there, [("ASKING",), command])
                continue
            if isinstance(answer, MovedError):
                self.nodes_manager.slots_cache.setdefault(answer.slot_id, [])
                await self.nodes_manager.move_slot(answer)
            else:
                await asyncio.sleep(MOVING_SECONDS)
            ((node, _),) = self._by_node([key])
            (answer,) = await self._exchange_with(node, [command])
        return ClusterError("one node sends to another, in circles") if isinstance(answer, AskError) else answer

    def look_again(self) -> None:
        """Ask for the nodes anew before the next command."""
        self._initialize = True

    async def aclose(self) -> None:
        """Close all connections, also those of a client that was about to look for its nodes again."""
        self._initialize = False  # otherwise redis-py takes the client for one without connections
        await super().aclose()


async def _together(asking: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """All results. Of one alone no task is made: that would take two rounds of the event loop."""
    return [await asking[0]] if len(asking) == 1 else list(await asyncio.gather(*asking))


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


class _NoticingConnection(TcpConnection):
    """Connects again when the server has hung up meanwhile; for a single server redis-py's pool does that."""

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:  # noqa: FBT001, FBT002 - its signature
        if check_health and self._reader is not None and self._reader.at_eof():
            await self.disconnect(nowait=True)
        await super().send_packed_command(command, check_health)


class _NoticingTlsConnection(_NoticingConnection, TlsConnection):
    pass
