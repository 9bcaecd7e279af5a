"""What one run found. It is written as JSON, too, so that the page and the plan can be made again from it."""

from dataclasses import dataclass

from load_tests.scale.figures import Asked, Figure, Idle
from load_tests.scale.sizes import Sizes


@dataclass(frozen=True, slots=True)
class WorkersFound:
    """So many workers of one service."""

    workers: int
    predict: Asked
    mixed: Asked


@dataclass(frozen=True, slots=True)
class ModelFound:
    """A tenant with so many features, of which every example has 100."""

    features: int
    predict: Asked
    feedback: Asked
    resident_bytes: int  # that its worker has more, once it is loaded
    store_bytes: int  # of its snapshot
    load_seconds: float


@dataclass(frozen=True, slots=True)
class ExampleFound:
    """Examples with so many features."""

    features: int
    body_bytes: int
    predict: Asked
    not_kept: Asked
    feedback: Asked


@dataclass(frozen=True, slots=True)
class TenantsFound:
    """So many tenants, all in the memory of one worker."""

    tenants: int
    start_seconds: float  # to ready, with so many in the store and none in memory
    ready_milliseconds: float  # that /readyz takes, with all of them in memory
    resident_bytes: int
    empty_bytes: int  # of the same process before it had any
    store_bytes: int  # of all of them together
    load_microseconds: float  # of processor time, the request included
    idle: Idle
    popular: Asked  # /predict, tenants as popular as Zipf's law says
    evenly: Asked
    evenly_not_kept: Asked


@dataclass(frozen=True, slots=True)
class ResidentsFound:
    """Tenants of one size: what each takes."""

    features: int
    tenants: int
    resident_bytes: float
    store_bytes: float
    load_microseconds: float  # of the worker's processor time, the request included
    load_store_microseconds: float
    load_p50: float  # milliseconds to the first answer, nobody else asking
    load_p99: float
    snapshot_microseconds: float  # of the worker's processor time, for a snapshot after one label
    snapshot_bytes: float  # that it wrote


@dataclass(frozen=True, slots=True)
class TailFound:
    """A restart with so many events behind the snapshot."""

    events: int
    ready_seconds: Figure
    first_answer_seconds: Figure  # from the start of the process, as the other
    store_bytes: int  # used in all


@dataclass(frozen=True, slots=True)
class KeptFound:
    """Kept predictions in the store."""

    request_bytes: int  # on the wire, the head included
    answer_bytes: int
    bytes_together: float  # each, if one tenant is asked all the time
    bytes_apart: float  # each, if every one is of another tenant
    bytes_of_tenant: float  # of a tenant that has learnt nothing yet


@dataclass(frozen=True, slots=True)
class WritesFound:
    """One kind of write on one store, from so many connections, each with one on its way."""

    connections: int
    rate: float
    cores: float  # of the store
    disk_bytes: float  # of the append-only file, for each

    @property
    def microseconds(self) -> float:
        """Of the store's processor time."""
        return 1e6 * self.cores / self.rate


@dataclass(frozen=True, slots=True)
class StoreFound:
    """What one store takes."""

    labels: list[WritesFound]
    kept: list[WritesFound]  # predictions, each a block of its own, as where tenants are many
    blocks: list[WritesFound]  # of predictions


@dataclass(frozen=True, slots=True)
class FollowingFound:
    """A worker on a store of one kind: what it costs that every worker follows every change."""

    store: str
    alone: float  # cores that are busy in the store without a worker
    idle: Idle  # one worker that nobody asks
    labels_per_second: float  # given through another worker
    quiet: Idle  # a second worker that holds none of the tenants, while there are no labels
    follower: Idle  # the same, while there are; the store's cores are of all work
    heard_microseconds: float  # what each label adds
    predict: Asked
    not_kept: Asked
    feedback: Asked


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that was measured."""

    sizes: Sizes
    machine: list[str]
    load_averages: tuple[float, float]
    minutes: float
    resumed: list[str]  # steps that were taken over from a run that broke off
    workers: list[WorkersFound]
    models: list[ModelFound]
    examples: list[ExampleFound]
    tenants: list[TenantsFound]
    residents: list[ResidentsFound]
    tails: list[TailFound]
    kept: KeptFound
    store: StoreFound
    following: list[FollowingFound]
