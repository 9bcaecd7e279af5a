"""What a run measures. It is stored as JSON, so that the tables and the plan can be made from it again."""

from enum import StrEnum
from statistics import median

from msgspec import Struct

from load_tests.harness.sizes import Sizes

BLOCK = 25  # predictions of a busy tenant that are written together
ONE_SERVER, CLUSTER = "one server", "a cluster of three"


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
        """The typical value."""
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
        """What was added."""
        return Work(self.workers - before.workers, self.store - before.store)


class WorkersFound(Struct, frozen=True):
    """One service with so many workers."""

    workers: int
    costs: Costs


class ModelFound(Struct, frozen=True):
    """A tenant with so many features, of which every example has 100."""

    features: int
    resident_bytes: int  # that loading it adds to the worker
    store_bytes: int  # of its snapshot
    load_seconds: float
    costs: Costs


class ExampleFound(Struct, frozen=True):
    """Examples with so many features."""

    features: int
    body_bytes: int
    costs: Costs


class TenantsFound(Struct, frozen=True):
    """So many tenants, all in the memory of one worker."""

    tenants: int
    start_seconds: float  # to ready, with all tenants in the store and none in memory
    ready_milliseconds: float  # of /readyz, with all tenants in memory
    resident_bytes: int
    empty_bytes: int  # of the same process before it loads any
    store_bytes: int  # of all tenants together
    load_microseconds: float  # of processor time, the request included
    idle: Work
    costs: Costs

    @property
    def bytes_each(self) -> float:
        """Memory of a tenant in the worker."""
        return (self.resident_bytes - self.empty_bytes) / self.tenants


class ResidentsFound(Struct, frozen=True):
    """Tenants of one size: what each takes."""

    features: int
    tenants: int
    resident_bytes: float
    store_bytes: float
    load_microseconds: float  # of the worker's processor time, the request included
    load_store_microseconds: float
    load_p50: float  # milliseconds to the first answer, without other requests
    load_p99: float
    snapshot_microseconds: float  # of the worker's processor time, for a snapshot after one label
    snapshot_bytes: float


class TailFound(Struct, frozen=True):
    """A restart with so many events behind the snapshot."""

    events: int
    ready_seconds: Figure
    first_answer_seconds: Figure  # from the start of the process, too
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

    kind: str
    connections: int
    rate: float
    cores: float  # of the store
    disk_bytes: float  # of the append-only file, for each write


class FollowingFound(Struct, frozen=True):
    """What following every change costs a worker, on a store of one kind."""

    store: str
    alone: float  # cores of the store without a worker
    idle: Work  # one worker without requests
    quiet: Work  # a second worker that holds none of the tenants, while there are no labels
    follower: Work  # the same, while there are; the store's cores are of all work
    label_microseconds: float  # that each label adds
    costs: Costs


class Results(Struct, frozen=True):
    """Everything that was measured."""

    sizes: Sizes
    machine: list[str]
    load_averages: tuple[float, float]
    minutes: float
    resumed: list[str]  # steps taken over from an interrupted run
    workers: list[WorkersFound]
    models: list[ModelFound]
    examples: list[ExampleFound]
    tenants: list[TenantsFound]
    residents: list[ResidentsFound]
    tails: list[TailFound]
    kept: KeptFound
    store: list[WritesFound]
    following: list[FollowingFound]
