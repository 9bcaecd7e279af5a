"""What a run measures, stored as JSON. A field with columns is shown in its struct's table, in this order."""

from collections.abc import Sequence
from enum import StrEnum
from statistics import median
from typing import Annotated, NamedTuple, get_args, get_type_hints

from msgspec import Struct

from load_tests.harness.report import table
from load_tests.harness.sizes import Sizes

BLOCK = 25  # predictions of a busy tenant that are written together
ONE_SERVER, CLUSTER = "one server", "a cluster of three"
KIB, MIB = float(1 << 10), float(1 << 20)


class Kind(StrEnum):
    """Kinds of requests and of writes, as the tables name them."""

    PREDICT = "/predict"
    NOT_KEPT = "/predict, keep=false"
    FEEDBACK = "/feedback"
    MIXED = "mixed day"
    POPULAR = "by Zipf's law"
    EVEN = "evenly"
    EVEN_NOT_KEPT = "evenly, keep=false"
    LABEL_WRITES = "labels"
    KEPT_WRITES = "kept predictions, one by one"
    BLOCK_WRITES = f"kept predictions, {BLOCK} together"


class Figure(Struct, frozen=True):
    """One quantity, a value for each round."""

    rounds: list[float]

    @property
    def median(self) -> float:
        return median(self.rounds)

    def text(self, places: int = 0) -> str:
        """Format as `7,671 (7,502..7,800)`; a single round has no spread."""
        middle, least, most = (f"{value:,.{places}f}" for value in (self.median, min(self.rounds), max(self.rounds)))
        return middle if len(self.rounds) == 1 else f"{middle} ({least}..{most})"


class Cost(Struct, frozen=True):
    """What one kind of request costs, sent as fast as answers come."""

    rate: Figure  # answers per second
    p50: Figure  # milliseconds
    p99: Figure
    worker: Figure  # microseconds of processor time for each request, all workers together
    store: Figure  # the same of the store
    client: Figure  # cores that the client uses


Costs = dict[Kind, Cost]


class Work(Struct, frozen=True):
    """Of workers and store: processor seconds, or cores that are busy."""

    workers: float
    store: float

    def since(self, before: "Work") -> "Work":
        return Work(self.workers - before.workers, self.store - before.store)


class Column(NamedTuple):
    """How a field is shown; a `Work` has up to two columns."""

    header: str
    form: str = ""
    unit: float | None = None


def struct_table(rows: Sequence[Struct]) -> str:
    hints = get_type_hints(type(rows[0]), include_extras=True)
    columns = {name: [each for each in get_args(hint) if isinstance(each, Column)] for name, hint in hints.items()}
    cells = ([_cell(row, name, *each) for name, some in columns.items() for each in enumerate(some)] for row in rows)
    return table([column.header for some in columns.values() for column in some], cells)


def _cell(row: Struct, name: str, place: int, column: Column) -> str:
    value = getattr(row, name)
    if isinstance(value, Figure):
        return value.text(2)
    if isinstance(value, Work):
        value = (value.workers, value.store)[place]
    return format(value / column.unit if column.unit else value, column.form)


class ModelFound(Struct, frozen=True):
    """A tenant with so many features, of which every example has 100."""

    features: Annotated[int, Column("features", ",")]
    resident_bytes: Annotated[int, Column("worker, MiB", ",.1f", MIB)]  # that loading it adds to the worker
    resident_bytes_each: Annotated[float, Column("bytes per feature", ",.0f")]
    store_bytes: Annotated[int, Column("store, MiB", ",.1f", MIB)]  # of its snapshot
    store_bytes_each: Annotated[float, Column("bytes per feature", ",.0f")]
    load_seconds: Annotated[float, Column("to load, s", ".2f")]
    costs: Costs


class ExampleFound(Struct, frozen=True):
    """Examples with so many features."""

    features: int
    body_bytes: int
    costs: Costs


class TenantsFound(Struct, frozen=True):
    """So many tenants, all in the memory of one worker."""

    tenants: Annotated[int, Column("tenants", ",")]
    start_seconds: Annotated[float, Column("start to ready, s", ".1f")]  # with none of them in memory
    ready_milliseconds: Annotated[float, Column("/readyz, ms", ".1f")]  # with all of them in memory
    resident_bytes: Annotated[int, Column("worker, MiB", ",.0f", MIB)]
    resident_bytes_each: Annotated[float, Column("KiB per tenant", ",.0f", KIB)]
    load_microseconds: Annotated[float, Column("to load each: worker, us", ",.0f")]  # the request included
    idle: Annotated[Work, Column("worker idle, cores", ".3f"), Column("store idle, cores", ".3f")]
    empty_bytes: int  # of the same process before it loads any
    store_bytes: int  # of all tenants together
    costs: Costs


class ResidentsFound(Struct, frozen=True):
    """Tenants of one size: what each takes."""

    features: Annotated[int, Column("features", ",")]
    resident_bytes: Annotated[float, Column("worker, KiB", ",.0f", KIB)]
    store_bytes: Annotated[float, Column("store, KiB", ",.0f", KIB)]
    load_microseconds: Annotated[float, Column("to load: worker, us", ",.0f")]  # the request included
    load_store_microseconds: Annotated[float, Column("to load: store, us", ",.0f")]
    load_p50: Annotated[float, Column("to load: p50, ms", ".1f")]  # to the first answer, without other requests
    load_p99: Annotated[float, Column("to load: p99, ms", ".1f")]
    snapshot_microseconds: Annotated[float, Column("a snapshot: worker, us", ",.0f")]  # after one label
    snapshot_bytes: Annotated[float, Column("a snapshot: written, KiB", ",.0f", KIB)]


class TailFound(Struct, frozen=True):
    """A restart with so many events behind the snapshot."""

    events: Annotated[int, Column("events behind the snapshot", ",")]
    ready_seconds: Annotated[Figure, Column("to ready, s")]
    first_answer_seconds: Annotated[Figure, Column("to the tenant's first answer, s")]  # from the start, too
    store_bytes: int  # used in all


class KeptFound(Struct, frozen=True):
    """Kept predictions in the store."""

    request_bytes: int  # on the wire, the head included
    answer_bytes: int
    bytes_together: float  # of each, all of one tenant
    bytes_apart: float  # of each, all of different tenants
    bytes_of_tenant: float  # of a tenant without labels


class WritesFound(Struct, frozen=True):
    """One kind of write to one store, over connections that each wait for the answer."""

    kind: Annotated[str, Column("writes")]
    connections: Annotated[int, Column("on their way at once")]
    rate: Annotated[float, Column("per second", ",.0f")]
    store_microseconds: Annotated[float, Column("store, us", ".0f")]
    cores: Annotated[float, Column("store, cores", ".2f")]
    disk_rate: Annotated[float, Column("to disk, MB/s", ".1f", 1e6)]
    disk_bytes: float  # of the append-only file, for each write


class FollowingFound(Struct, frozen=True):
    """What following every change costs a worker; the second one holds no tenants, and gets no requests."""

    store: Annotated[str, Column("store")]
    alone: Annotated[float, Column("store without a worker, cores", ".3f")]
    idle: Annotated[Work, Column("worker idle, cores", ".3f"), Column("store idle, cores", ".3f")]
    quiet: Annotated[Work, Column("a second worker, cores", ".3f")]
    follower: Annotated[
        Work,
        Column("the same while others are labelled, cores", ".3f"),
        Column("store then, with all its work, cores", ".3f"),
    ]
    label_microseconds: Annotated[float, Column("for each label, us", ".0f")]
    costs: Costs


class Results(Struct, frozen=True):
    """Everything that was measured."""

    sizes: Sizes
    machine: list[str]
    minutes: float
    workers: dict[int, Costs]  # by the number of workers
    models: list[ModelFound]
    examples: list[ExampleFound]
    tenants: list[TenantsFound]
    residents: list[ResidentsFound]
    tails: list[TailFound]
    kept: KeptFound
    store: list[WritesFound]
    following: list[FollowingFound]
