"""Stored tenants that a test can damage and put back: real values of a real store."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.storage.client import connect
from app.storage.event_log import EventLog
from app.storage.redis_keys import keys_of
from app.storage.snapshots import SnapshotStore
from app.storage.stored_tenant import TenantStore
from app.tenants.damage.repair import TenantRepair
from tests.servers import Server

Fields = dict[bytes, bytes]
Fault = Callable[[np.random.Generator, Server, str], str]  # damages a tenant; returns what it did


@dataclass
class Saved:
    """All keys of a store, to be put back as often as needed."""

    dumps: dict[bytes, tuple[int, bytes]]

    @classmethod
    def of(cls, store: Server) -> "Saved":
        with store.client() as client:
            return cls({key: (max(client.pttl(key), 0), client.dump(key)) for key in client.keys("*")})

    def put_back(self, store: Server) -> None:
        with store.client() as client, client.pipeline(transaction=False) as pipeline:
            pipeline.flushall()
            for key, (ttl, value) in self.dumps.items():
                pipeline.restore(key, ttl, value)
            pipeline.execute()


def repair_of(url: str) -> tuple[Any, TenantRepair]:
    """Return a connection, and the repair on it."""
    connection = connect(url)
    return connection, TenantRepair(TenantStore(connection, EventLog(connection, 600), 600), SnapshotStore(connection))


def entries(store: Server, tenant: str) -> list[tuple[bytes, Fields]]:
    return list(store.ask("XRANGE", keys_of(tenant).log, "-", "+"))


def rewrite(store: Server, tenant: str, changed: list[tuple[bytes, Fields]]) -> None:
    """Write another log in the place of the stored one."""
    key = keys_of(tenant).log
    with store.client() as client, client.pipeline(transaction=False) as pipeline:
        pipeline.delete(key)
        for name, fields in changed:
            pipeline.xadd(key, fields, name)
        pipeline.execute()


def flipped(rng: np.random.Generator, data: bytes) -> bytes:
    """Change one bit."""
    at, bit = int(rng.integers(len(data))), int(rng.integers(8))
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]


def flip_field(rng: np.random.Generator, store: Server, tenant: str, field: bytes, index: int | None = None) -> int:
    """Change one bit of a field of an entry; return the version of the entry."""
    found = entries(store, tenant)
    index = int(rng.integers(len(found))) if index is None else index
    name, fields = found[index]
    found[index] = (name, fields | {field: flipped(rng, fields[field])})
    rewrite(store, tenant, found)
    return int(name[2:])


def payload(rng: np.random.Generator, store: Server, tenant: str) -> str:
    return f"payload of {flip_field(rng, store, tenant, b'p')}"


def last_payload(rng: np.random.Generator, store: Server, tenant: str) -> str:
    return f"payload of {flip_field(rng, store, tenant, b'p', -1)}"


def chain(rng: np.random.Generator, store: Server, tenant: str) -> str:
    return f"chain of {flip_field(rng, store, tenant, b'c')}"


def last_chain(rng: np.random.Generator, store: Server, tenant: str) -> str:
    return f"chain of {flip_field(rng, store, tenant, b'c', -1)}"


def both(rng: np.random.Generator, store: Server, tenant: str) -> str:
    index = int(rng.integers(len(entries(store, tenant))))
    flip_field(rng, store, tenant, b"c", index)
    return f"payload and chain of {flip_field(rng, store, tenant, b'p', index)}"


def several(rng: np.random.Generator, store: Server, tenant: str) -> str:
    """Damage three entries that are not neighbours: one entry of each pair can be judged by the next one."""
    found = entries(store, tenant)
    for index in (0, len(found) // 2, len(found) - 3):
        name, fields = found[index]
        field = (b"p", b"c")[int(rng.integers(2))]
        found[index] = (name, fields | {field: flipped(rng, fields[field])})
    del found[-6 if rng.random() < 0.5 else -1]
    rewrite(store, tenant, found)
    return "three entries, and one is missing"


def gap(rng: np.random.Generator, store: Server, tenant: str) -> str:
    found = entries(store, tenant)
    name, _ = found[int(rng.integers(len(found)))]
    store.ask("XDEL", keys_of(tenant).log, name)
    return f"no entry {name.decode()}"


def meta_field(name: bytes) -> Fault:
    def damage(rng: np.random.Generator, store: Server, tenant: str) -> str:
        key = keys_of(tenant).meta
        store.ask("HSET", key, name, flipped(rng, store.ask("HGET", key, name)))
        return f"{name.decode()} of the metadata"

    return damage


def snapshot_part(kind: str) -> Fault:
    def damage(rng: np.random.Generator, store: Server, tenant: str) -> str:
        key = getattr(keys_of(tenant), kind)
        if names := store.ask("HKEYS", key):
            name = names[int(rng.integers(len(names)))]
            store.ask("HSET", key, name, flipped(rng, store.ask("HGET", key, name)))
        return f"one of the {kind}"

    return damage


def without(kind: str) -> Fault:
    def damage(_: np.random.Generator, store: Server, tenant: str) -> str:
        store.ask("DEL", getattr(keys_of(tenant), kind))
        return f"no {kind}"

    return damage


def wrong_type(kind: str) -> Fault:
    def damage(_: np.random.Generator, store: Server, tenant: str) -> str:
        key = getattr(keys_of(tenant), kind)
        store.ask("DEL", key)
        store.ask("SET", key, "x")
        return f"type of {kind}"

    return damage


KINDS = ("meta", "log", "headers", "chunks")
FAULTS: dict[str, Fault] = {
    "payload": payload,
    "last-payload": last_payload,
    "chain": chain,
    "last-chain": last_chain,
    "both": both,
    "several": several,
    "gap": gap,
    "born": meta_field(b"born"),
    "version": meta_field(b"version"),
    "meta-chain": meta_field(b"chain"),
    "header": snapshot_part("headers"),
    "chunk": snapshot_part("chunks"),
    **{f"no-{kind}": without(kind) for kind in KINDS},
    **{f"type-of-{kind}": wrong_type(kind) for kind in KINDS},
}
