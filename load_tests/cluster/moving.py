"""Moving slots to another node, in the two ways there are; `labels go on meanwhile` is for others to see to."""

import time
from collections.abc import Sequence
from itertools import chain

from load_tests.cluster.nodes import Cluster
from tests.servers import Server

KEYS_AT_ONCE = 100
TIMEOUT_MILLISECONDS = 5000
PATIENCE_SECONDS = 60.0
OVER = {b"success", b"failed", b"cancelled"}


def move_at_once(source: Server, target: Server, slots: Sequence[int]) -> None:
    """CLUSTER MIGRATESLOTS (Valkey 9): the slots change hands in one moment, with everything in them."""
    ranges = chain.from_iterable((slot, slot) for slot in slots)
    source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *ranges, "NODE", _name(target))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (state := _newest_migration(source)) not in OVER:
        if time.monotonic() > deadline:
            raise TimeoutError("the slots do not move")
        time.sleep(0.02)
    if state != b"success":
        raise RuntimeError(f"the slots were not moved: {state.decode()}")


def move_key_by_key(cluster: Cluster, source: Server, target: Server, slots: Sequence[int]) -> None:
    """CLUSTER SETSLOT and MIGRATE (every version): slot after slot, and in each key after key."""
    giver, taker = _name(source), _name(target)
    for slot in slots:
        target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", giver)
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", taker)
        while keys := source.ask("CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE):
            source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, TIMEOUT_MILLISECONDS, "KEYS", *keys)
        others = [node for node in cluster.primaries() if node not in {source, target}]
        for node in (target, source, *others):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", taker)


def _newest_migration(node: Server) -> bytes:
    """The state of the one that was begun last."""
    found = node.ask("CLUSTER", "GETSLOTMIGRATIONS")
    fields = dict(zip(found[0][::2], found[0][1::2], strict=True))
    return bytes(fields[b"state"])


def _name(node: Server) -> bytes:
    return bytes(node.ask("CLUSTER", "MYID"))
