"""Which service is a tenant's home: rendezvous hashing, as a load balancer may do it.

Every service draws a number for the tenant; the highest is its home, and the next one stands in when that is away. Who
joins takes a part from each of the others, who leaves gives its part to all of them, and no other tenant moves.
"""

import hashlib
from collections.abc import Iterable


def order(tenant: str, services: Iterable[str]) -> list[str]:
    """The services in the order in which they are to be asked for a tenant: its home first."""
    return sorted(services, key=lambda service: _draw(tenant, service), reverse=True)


def home(tenant: str, services: Iterable[str]) -> str:
    """The first of them."""
    return max(services, key=lambda service: _draw(tenant, service))


def _draw(tenant: str, service: str) -> bytes:
    return hashlib.blake2b(f"{service}\0{tenant}".encode(), digest_size=8).digest()
