"""How much memory the store uses, and how much it may use."""

from dataclasses import dataclass

from redis.exceptions import NoPermissionError

from app.storage.client.cluster import ClusterClient
from app.storage.client.connection import Connection
from app.storage.client.failures import store_errors


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """The memory of one server, in bytes; its limit is 0 if it has none."""

    used: int
    limit: int

    @property
    def share(self) -> float:
        """How much of the limit is used."""
        return self.used / self.limit if self.limit else 0.0


async def read_memory(connection: Connection) -> list[NodeMemory]:
    """Return the memory of every primary; nothing if the user may not ask for it."""
    client = connection.redis
    with store_errors(connection.shown):
        try:
            if isinstance(client, ClusterClient):
                await client.initialize()
                answers = [await client.info("memory", target_nodes=node) for node in client.get_primaries()]
            else:
                answers = [await client.info("memory")]
        except NoPermissionError:
            return []
    return [
        NodeMemory(
            # As the server itself decides whether it is full.
            int(answer["used_memory"]) - int(answer.get("mem_not_counted_for_evict", 0)),
            int(answer["maxmemory"]),
        )
        for answer in answers
    ]
