"""What one store takes: labels and kept predictions per second, by the service's own scripts, without a service.

Workers would be busy long before the store is. So the commands are made beforehand, and sent over plain connections,
each of which waits for its answer: as many writes are on their way at once as there are connections.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import cast

import hiredis
import uvloop

from app.learning.example import example_of_json
from app.storage.client import scripts
from app.storage.event_codec import FeedbackRecord, encode, packed_values
from app.storage.redis_keys import keys_of
from load_tests.harness import traffic
from load_tests.harness.processes import processor_seconds
from load_tests.scale.requests import body, predict
from load_tests.scale.results import StoreFound, WritesFound
from load_tests.scale.sizes import Sizes
from tests.servers import Server, valkey_server

CONNECTIONS = (1, 16, 256)
TENANTS = 200
EXAMPLES = 1000
BLOCK = 25  # predictions of a busy tenant that are written together
BORN = "0" * 32
WEEK_MILLISECONDS, DAY_MILLISECONDS = 7 * 86_400_000, 86_400_000
KEPT_AT_MOST = 10_000
NOT_ANEW = (
    "--auto-aof-rewrite-percentage",
    "0",
)  # a file that is written anew shrinks: what was written could not be told

Commands = Callable[[], Iterator[bytes]]


def measure(folder: Path, sizes: Sizes) -> StoreFound:
    """All kinds of writes, with few and with many on their way."""
    with valkey_server(folder, *NOT_ANEW) as store:
        store.ask("SCRIPT", "LOAD", scripts.APPEND.text)
        store.ask("SCRIPT", "LOAD", scripts.KEEP.text)
        for tenant in _tenants():
            store.ask("EVAL", scripts.CREATE.text, 1, keys_of(tenant).meta, BORN)
        kinds: list[Commands] = [_labels, _kept, partial(_kept, BLOCK)]
        found = [[_writes(store, kind, some, sizes.store_seconds) for some in CONNECTIONS] for kind in kinds]
    return StoreFound(*found)


def _writes(store: Server, commands: Commands, connections: int, seconds: float) -> WritesFound:
    disk, worked = _disk_bytes(store), processor_seconds(store.pid)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        writes, taken = runner.run(_write(store.port, commands(), connections, seconds))
    worked, disk = processor_seconds(store.pid) - worked, _disk_bytes(store) - disk
    return WritesFound(connections, writes / taken, worked / taken, disk / writes)


class Writing(asyncio.Protocol):
    """One connection: writes, waits, and writes again until the time is over."""

    def __init__(self, commands: Iterator[bytes], until: float) -> None:
        self._commands = commands
        self._until = until
        self.writes = 0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Write for the first time."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are none by name
        self._transport.write(next(self._commands))

    def data_received(self, data: bytes) -> None:
        """The answers are short: each comes in one piece."""
        if data.startswith(b"-") or not data.endswith(b"\r\n"):
            self.over.set_exception(RuntimeError(f"the store answered {data[:200]!r}"))
            self._transport.close()
            return
        self.writes += 1
        if time.perf_counter() < self._until:
            self._transport.write(next(self._commands))
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Good at the end only."""
        if not self.over.done():
            if exc is None and time.perf_counter() >= self._until:
                self.over.set_result(None)
            else:
                self.over.set_exception(exc or ConnectionError("the store closed a connection"))


async def _write(port: int, commands: Iterator[bytes], connections: int, seconds: float) -> tuple[int, float]:
    """How many were written, and in how many seconds."""
    loop, start = asyncio.get_running_loop(), time.perf_counter()
    writing = [Writing(commands, start + seconds) for _ in range(connections)]
    for each in writing:
        await loop.create_connection(lambda each=each: each, "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*(each.over for each in writing))
    return sum(each.writes for each in writing), time.perf_counter() - start


def _labels() -> Iterator[bytes]:
    """The same over and over: whoever says that he has applied nothing may always append."""
    commands = []
    for tenant, features in zip(cycle(_tenants()), traffic.examples(EXAMPLES), strict=False):
        keys, example = keys_of(tenant), example_of_json(features)
        event = encode(FeedbackRecord(0, 1, example.keys.tobytes(), packed_values(example.values)))
        names = [keys.meta, keys.log, keys.changes, keys.meta]
        commands.append(_packed(scripts.APPEND, names, [tenant, BORN, 0, "", WEEK_MILLISECONDS, "", event]))
    return cycle(commands)


def _kept(size: int = 1) -> Iterator[bytes]:
    """Blocks of so many predictions, each under a name of its own."""
    bodies = [body(predict("kept", features)) for features in traffic.examples(EXAMPLES)]
    blocks = [b"".join(bodies[start : start + size]) for start in range(0, EXAMPLES, size)]
    for number, tenant in enumerate(cycle(_tenants())):
        keys, name = keys_of(tenant), f"block-{size}-{number}"
        names = [keys.pending, keys.pending_count, f"{keys.pending}:{name}"]
        block = blocks[number % len(blocks)]
        yield _packed(scripts.KEEP, names, [name, size, block, DAY_MILLISECONDS, KEPT_AT_MOST])


def _packed(script: scripts.Script, names: list[str], arguments: list[str | bytes | int]) -> bytes:
    command = scripts.Call(script, names, arguments).command("EVALSHA")
    return bytes(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub knows tuples of one only


def _tenants() -> list[str]:
    return [f"written-{number}" for number in range(TENANTS)]


def _disk_bytes(store: Server) -> int:
    with store.client() as client:
        return int(client.info("persistence")["aof_current_size"])
