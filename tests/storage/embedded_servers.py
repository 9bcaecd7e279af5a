"""An embedded Valkey for the length of a block, with functions to write and read a key."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from app.storage.embedded.valkey import EmbeddedValkey


@contextmanager
def running(data_dir: Path) -> Iterator[EmbeddedValkey]:
    valkey = EmbeddedValkey(data_dir)
    valkey.start()
    try:
        yield valkey
    finally:
        valkey.stop()


def write(url: str, key: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.set(key, "kept")


def read(url: str, key: str) -> object:
    with redis.Redis.from_url(url) as client:
        return client.get(key)
