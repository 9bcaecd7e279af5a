"""What one store takes: labels and kept predictions per second, by the service's own scripts, without a service.

Workers are busy long before the store is. So the commands are made beforehand, and sent over plain connections, each of
which waits for its answer: as many writes are under way at once as there are connections.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import hiredis
import uvloop

from app.learning.example import example_of_json
from app.storage.client import scripts
from app.storage.event_codec import FeedbackRecord, encode, packed_values
from app.storage.redis_keys import keys_of
from load_tests.harness.processes import processor_seconds
from load_tests.harness.sizes import Sizes
from load_tests.harness.traffic import examples, predict
from load_tests.scale.load import EXAMPLES, body
from load_tests.scale.results import BLOCK, Kind, WritesFound
from tests.servers import Server, valkey_server

CONNECTIONS = (1, 16, 256)
TENANTS = [f"written-{number}" for number in range(200)]
INCARNATION = "0" * 32
WEEK_MILLISECONDS, DAY_MILLISECONDS = 7 * 86_400_000, 86_400_000
KEPT_AT_MOST = 10_000
NO_REWRITE = ("--auto-aof-rewrite-percentage", "0")  # a file that is rewritten shrinks: its growth says nothing then

Commands = Callable[[], Iterator[bytes]]


def measure(folder: Path, sizes: Sizes) -> list[WritesFound]:
    """All kinds of writes, with few and with many under way."""
    kinds: dict[str, Commands] = {
        Kind.LABEL_WRITES: _labels,
        Kind.KEPT_WRITES: _kept,
        Kind.BLOCK_WRITES: partial(_kept, BLOCK),
    }
    with valkey_server(folder, *NO_REWRITE) as store:
        store.ask("SCRIPT", "LOAD", scripts.APPEND.text)
        store.ask("SCRIPT", "LOAD", scripts.KEEP.text)
        for tenant in TENANTS:
            store.ask("EVAL", scripts.CREATE.text, 1, keys_of(tenant).meta, INCARNATION)
        return [
            _writes(store, kind, commands(), connections, sizes.store_seconds)
            for kind, commands in kinds.items()
            for connections in CONNECTIONS
        ]


def _writes(store: Server, kind: str, commands: Iterator[bytes], connections: int, seconds: float) -> WritesFound:
    disk, worked, start = _disk_bytes(store), processor_seconds(store.pid), time.perf_counter()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        writes = runner.run(_write(store.port, commands, connections, start + seconds))
    taken, worked, disk = time.perf_counter() - start, processor_seconds(store.pid) - worked, _disk_bytes(store) - disk
    return WritesFound(kind, connections, writes / taken, worked / taken, disk / writes)


async def _write(port: int, commands: Iterator[bytes], connections: int, until: float) -> int:
    """Write until the time is over; return how often."""

    async def write() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writes = 0
        while time.perf_counter() < until:
            writes += 1
            writer.write(next(commands))
            answer = await reader.read(1 << 12)  # so short that it comes in one piece
            if answer.startswith(b"-") or not answer.endswith(b"\r\n"):
                raise RuntimeError(f"the store answered {answer[:200]!r}")
        writer.close()
        return writes

    return sum(await asyncio.gather(*(write() for _ in range(connections))))


def _labels() -> Iterator[bytes]:
    """The same labels again and again: a writer that has applied nothing may always append."""
    commands = []
    for tenant, features in zip(cycle(TENANTS), examples(EXAMPLES), strict=False):
        keys, example = keys_of(tenant), example_of_json(features)
        event = encode(FeedbackRecord(0, 1, example.keys.tobytes(), packed_values(example.values)))
        names = [keys.meta, keys.log, keys.changes, keys.meta]
        commands.append(_packed(scripts.APPEND, names, [tenant, INCARNATION, 0, "", WEEK_MILLISECONDS, "", event]))
    return cycle(commands)


def _kept(size: int = 1) -> Iterator[bytes]:
    """Blocks of so many predictions, each under a name of its own."""
    bodies = [body(predict(features, "kept")) for features in examples(EXAMPLES)]
    blocks = [b"".join(bodies[start : start + size]) for start in range(0, EXAMPLES, size)]
    for number, tenant in enumerate(cycle(TENANTS)):
        keys, name = keys_of(tenant), f"block-{size}-{number}"
        names = [keys.pending, keys.pending_count, f"{keys.pending}:{name}"]
        block = blocks[number % len(blocks)]
        yield _packed(scripts.KEEP, names, [name, size, block, DAY_MILLISECONDS, KEPT_AT_MOST])


def _packed(script: scripts.Script, names: list[str], arguments: list[str | bytes | int]) -> bytes:
    command = scripts.Call(script, names, arguments).command("EVALSHA")
    return bytes(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub knows tuples of one only


def _disk_bytes(store: Server) -> int:
    with store.client() as client:
        return int(client.info("persistence")["aof_current_size"])
