"""What stores take: memory of tenants, kept predictions and long logs, and writes per second."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice, starmap
from pathlib import Path

import hiredis
import msgspec
import uvloop

from app.learning.example import example_of_json
from app.storage.client import connect, scripts
from app.storage.client.connection import Call
from app.storage.client.wire import Argument
from app.storage.event_codec import FeedbackRecord, encode, packed_values
from app.storage.predictions import Block, PredictionStore
from app.storage.redis_keys import keys_of
from load_tests.harness.jobs import Request
from load_tests.harness.processes import processor_seconds, resident_bytes
from load_tests.harness.sizes import CONNECTIONS, Sizes
from load_tests.harness.traffic import FEATURES, NOT_KEPT, examples, feedback, feedback_batches, predict
from load_tests.scale.load import EXAMPLES, SHORT, Copies, Measured
from load_tests.scale.results import BLOCK, Figure, KeptFound, Kind, ResidentsFound, TailFound, WritesFound
from tests.servers import Server, valkey_server

SNAPSHOTS = 200  # tenants that learn one label each
WRITTEN_SECONDS = 1.0  # predictions are written after the answers
TAIL_TENANT, TAIL_FEATURES = "restarted", 100_000
TAIL_EXAMPLES = 2500  # each comes with either label
BATCH = 500

UNDER_WAY = (1, 16, 256)
TENANTS = [f"written-{number}" for number in range(200)]
INCARNATION = "0" * 32
WEEK_MILLISECONDS, DAY_SECONDS = 7 * 86_400_000, 86_400
KEPT_AT_MOST = 10_000
NO_REWRITE = ("--auto-aof-rewrite-percentage", "0")  # a file that is rewritten shrinks: its growth says nothing then

Commands = Callable[[], Iterator[bytes]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def measure_residents(folder: Path, sizes: Sizes) -> list[ResidentsFound]:
    """Tenants of every size, each size in a service of its own."""
    found = []
    for features, tenants in sizes.residents:
        with Measured(folder / str(features), auto_create_tenants=False).running() as service:
            before, copies = service.store_bytes(), Copies(service, features)
            copies.make(range(tenants))
            stored = service.store_bytes() - before
            service.restart()  # what the import took is no memory of the tenants
            empty, start = resident_bytes(service.pid), service.work()
            latencies = copies.load(tenants, connections=1)
            used, resident = service.work().since(start), resident_bytes(service.pid) - empty
            snapshot_seconds, written = _snapshots(copies, min(tenants, SNAPSHOTS))
        found.append(
            ResidentsFound(
                features=features,
                resident_bytes=resident / tenants,
                store_bytes=stored / tenants,
                load_microseconds=1e6 * used.workers / tenants,
                load_store_microseconds=1e6 * used.store / tenants,
                load_p50=latencies.p50,
                load_p99=latencies.p99,
                snapshot_microseconds=1e6 * snapshot_seconds,
                snapshot_bytes=written,
            )
        )
    return found


def _snapshots(copies: Copies, tenants: int) -> tuple[float, float]:
    service, names = copies.service, [copies.name(number) for number in range(tenants)]
    for name, features in zip(names, examples(tenants, max(copies.features, FEATURES)), strict=True):
        service.call("POST", "/feedback", Request(feedback(features, name, 1)).body)
    before = service.work()
    answers = [service.call("POST", f"/tenants/{name}/snapshot") for name in names]
    seconds = service.work().since(before).workers
    return seconds / tenants, sum(msgspec.json.decode(answer)["bytes"] for answer in answers) / tenants


def measure_kept(folder: Path, sizes: Sizes) -> KeptFound:
    together, apart = ["together"] * sizes.kept, [f"apart-{number}" for number in range(sizes.kept)]
    with Measured(folder).running() as service:
        _bytes_of_each(service, together[:1], NOT_KEPT)
        tenant = _bytes_of_each(service, apart, NOT_KEPT)
        each_together, each_apart = _bytes_of_each(service, together), _bytes_of_each(service, apart)
        requests = [predict(features, together[0]) for features in examples(EXAMPLES)]
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(requests[0])
            answer = len(connection.recv(1 << 16))  # so short that it comes in one piece
    return KeptFound(sum(map(len, requests)) // EXAMPLES, answer, each_together, each_apart, tenant)


def _bytes_of_each(service: Measured, tenants: list[str], more: bytes = b"") -> float:
    """Send each tenant a prediction; what the store then uses more for each."""
    before, some = service.store_bytes(), examples(EXAMPLES)
    requests = [predict(some[k % EXAMPLES], tenant, more) for k, tenant in enumerate(tenants)]
    service.send(requests, min(CONNECTIONS, len(tenants)))
    time.sleep(WRITTEN_SECONDS)
    return (service.store_bytes() - before) / len(tenants)


def measure_tails(folder: Path, sizes: Sizes) -> list[TailFound]:
    """Restarts of one tenant whose log grows, with no snapshot but that of the import."""
    some = feedback_batches(examples(TAIL_EXAMPLES, TAIL_FEATURES), TAIL_TENANT, BATCH)
    batches = cycle([request.body for request in some])
    first, found = Request(predict(SHORT, TAIL_TENANT)).body, []
    with Measured(folder).running() as service:
        service.import_model(TAIL_TENANT, TAIL_FEATURES)
        for before, events in zip((0, *sizes.tails), sizes.tails, strict=False):
            for batch in islice(batches, (events - before) // BATCH):
                service.call("POST", "/feedback/batch", batch)
            used, ready, answered = service.store_bytes(), [], []
            for _ in range(sizes.repeats):
                ready.append(service.restart())
                answered.append(ready[-1] + service.seconds("POST", "/predict", first))
            found.append(TailFound(events, Figure(ready), Figure(answered), used))
    return found


def measure_writes(folder: Path, sizes: Sizes) -> list[WritesFound]:
    """Writes per second by the service's own scripts, made beforehand: workers would be busy long before the store."""
    kinds: dict[str, Commands] = {
        Kind.LABEL_WRITES: _labels,
        Kind.KEPT_WRITES: _kept,
        Kind.BLOCK_WRITES: partial(_kept, BLOCK),
    }
    with valkey_server(folder, *NO_REWRITE) as store:
        store.ask("SCRIPT", "LOAD", scripts.APPEND.text)
        store.ask("SCRIPT", "LOAD", scripts.KEEP.text)
        for tenant in TENANTS:
            keys = keys_of(tenant)
            store.ask("EVAL", scripts.CREATE.text, 2, keys.meta, keys.log, INCARNATION, "", "")
        return [
            _writes(store, kind, commands(), connections, sizes.store_seconds)
            for kind, commands in kinds.items()
            for connections in UNDER_WAY
        ]


def _writes(store: Server, kind: str, commands: Iterator[bytes], connections: int, seconds: float) -> WritesFound:
    def used() -> tuple[float, ...]:
        disk = store.ask("INFO", "persistence")["aof_current_size"]
        return time.perf_counter(), processor_seconds(store.pid), int(disk)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        streams = runner.run(_connect(store.port, connections))  # before the clock starts
        before = used()
        writes = runner.run(_write(streams, commands, before[0] + seconds))
        taken, worked, disk = (late - early for early, late in zip(before, used(), strict=True))
    each = 1e6 * worked / writes
    return WritesFound(kind, connections, writes / taken, each, worked / taken, disk / taken, disk / writes)


async def _connect(port: int, connections: int) -> list[Streams]:
    return await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(connections)))


async def _write(streams: list[Streams], commands: Iterator[bytes], until: float) -> int:
    async def write(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        writes = 0
        try:
            while not writes or time.perf_counter() < until:
                writes += 1
                writer.write(next(commands))
                answer = await reader.read(1 << 12)  # so short that it comes in one piece
                if answer.startswith(b"-") or not answer.endswith(b"\r\n"):
                    raise RuntimeError(f"the store answered {answer[:200]!r}")
        finally:
            writer.close()  # uvloop's loop does not close while a connection is open
        return writes

    return sum(await asyncio.gather(*(write(*each) for each in streams)))


def _labels() -> Iterator[bytes]:
    """The same labels again and again: a writer that has applied nothing may always append."""
    commands = []
    for tenant, features in zip(cycle(TENANTS), examples(EXAMPLES), strict=False):
        keys, example = keys_of(tenant), example_of_json(features)
        event = encode(FeedbackRecord(0, 1, example.keys.tobytes(), packed_values(example.values)))
        names = [keys.meta, keys.log, keys.changes, keys.meta]
        arguments: list[Argument] = [tenant, INCARNATION, 0, "", WEEK_MILLISECONDS, "", event, ""]
        commands.append(_packed(Call(scripts.APPEND, names, arguments)))
    return cycle(commands)


def _kept(size: int = 1) -> Iterator[bytes]:
    """Blocks of so many predictions, each under a name of its own."""
    bodies = [Request(predict(features, "kept")).body for features in examples(EXAMPLES)]
    blocks = [b"".join(bodies[start : start + size]) for start in range(0, EXAMPLES, size)]
    store = PredictionStore(connect("redis://127.0.0.1"), DAY_SECONDS, KEPT_AT_MOST)  # only writes commands down

    def command(number: int, tenant: str) -> bytes:
        name, block = f"block-{size}-{number}", blocks[number % len(blocks)]
        return _packed(store.keep_call(Block(tenant, name, [block], size)))

    return starmap(command, enumerate(cycle(TENANTS)))  # not a generator, which would make the blocks under load


def _packed(call: Call) -> bytes:
    return bytes(hiredis.pack_command(call.command("EVALSHA")))  # type: ignore[arg-type]  # its stub knows tuples of one only
