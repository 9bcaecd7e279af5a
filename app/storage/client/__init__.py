"""The client of Redis and Valkey: one server, Sentinel or a cluster, as SLUICE_REDIS_URL says."""

from app.storage.client.address import address_of
from app.storage.client.clients import Clients
from app.storage.client.connection import CommandObserver, Connection
from app.storage.client.durability import Durability
from app.storage.client.monitor import look

__all__ = ["Connection", "Durability", "connect"]


def connect(
    url: str,
    *,
    timeout_seconds: float = 2.0,
    observe: CommandObserver | None = None,
    durability: Durability | None = None,
) -> Connection:
    """Return a connection to what the URL names; it sends nothing yet. Raise BadSetting for an invalid URL."""
    durability = durability or Durability()
    clients = Clients(address_of(url), timeout_seconds, longest_wait_seconds=durability.wait_seconds)
    return Connection(clients, look, observe, durability)
