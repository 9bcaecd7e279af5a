"""What a plan assumes: the demand, the operator's choices, prices; and the unit costs, taken from the measurements."""

from dataclasses import dataclass

from load_tests.scale.results import BLOCK, CLUSTER, Cost, Kind, Results, Work

DAY_SECONDS = 86_400.0
GIB = float(1 << 30)
FEATURES = 1000  # of a tenant


@dataclass(frozen=True, slots=True)
class Demand:
    """What the installation has to serve."""

    predictions_per_day: float = 1e9
    tenants: int = 1_000_000
    labelled: float = 0.01  # of the predictions
    peak: float = 3.0  # the busiest hours beside the mean

    @property
    def predictions(self) -> float:
        """Per second, at the peak."""
        return self.peak * self.predictions_per_day / DAY_SECONDS

    @property
    def labels(self) -> float:
        """Per second, at the peak."""
        return self.labelled * self.predictions

    @property
    def labels_per_day(self) -> float:
        """In the mean."""
        return self.labelled * self.predictions_per_day


@dataclass(frozen=True, slots=True)
class Choices:
    """What an operator decides."""

    used: float = 0.5  # of a processor, a disk or a memory at the peak; the rest is headroom
    keep: bool = True  # predictions, for feedback by id; otherwise feedback brings its features
    kept_seconds: float = 3600.0
    kept_of_each: int = 10_000
    held: float = 1.0  # share of the tenants that the workers' memory has room for
    retained_events: int = 100
    log_days: float = 365.0
    snapshot_seconds: float = 300.0
    shard_bytes: float = 64 * GIB  # memory of a store's machine
    copies: int = 2  # of every shard: the primary and a replica
    balance: float = 1.5  # the fullest worker beside the mean, which a balancer with bounded loads guarantees


@dataclass(frozen=True, slots=True)
class Prices:
    """An example in dollars, of the order of cloud prices, without traffic and people."""

    core_hour: float = 0.03
    gib_hour: float = 0.004
    disk_gib_month: float = 0.10
    store_cores: int = 2  # of a shard's machine: one serves, one rewrites files


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """For requests of 100 features, tenants of 1,000, and a cluster as the store. `Work` is of a worker and the store.

    A prediction costs what was measured in a cluster, times what the most tenants that were measured cost beside as
    many as the cluster had: with many tenants, each has its own place in memory, and its own block.
    """

    predict: Work  # processor seconds
    not_kept: Work
    label: Work
    load: Work
    snapshot: Work
    following: Work  # cores for each worker, without labels
    follow_seconds: float  # for each label, of every worker
    tenant_bytes: Work
    worker_bytes: float  # without tenants
    event_bytes: float  # in the store, as the next
    kept_bytes: float
    label_write_seconds: float  # of the clock, on a store that does nothing but write
    block_write_seconds: float  # of kept predictions, whatever is in it
    kept_write_seconds: float  # for each prediction in it
    label_disk_bytes: float
    kept_disk_bytes: float
    snapshot_disk_bytes: float
    request_bytes: float
    answer_bytes: float


def unit_costs(results: Results) -> UnitCosts:
    """Take them from the measurements."""
    following = next(found for found in results.following if found.store == CLUSTER)
    residents = next(found for found in results.residents if found.features == FEATURES)
    labels, alone, together = (
        max((found for found in results.store if found.kind == kind), key=lambda found: found.rate)
        for kind in (Kind.LABEL_WRITES, Kind.KEPT_WRITES, Kind.BLOCK_WRITES)
    )
    kept_write = max((1.0 / together.rate - 1.0 / alone.rate) / (BLOCK - 1), 0.0)
    tenants = [found for found in results.tenants if found.tenants <= results.sizes.followed_tenants]
    some, many = (found.costs[Kind.POPULAR] for found in (tenants[-1], results.tenants[-1]))
    ratio = Work(
        max(many.worker.median / some.worker.median, 1.0), max(many.store.median / max(some.store.median, 1.0), 1.0)
    )
    return UnitCosts(
        predict=_seconds(following.costs[Kind.PREDICT], ratio),
        not_kept=_seconds(following.costs[Kind.NOT_KEPT], ratio),
        label=_seconds(following.costs[Kind.FEEDBACK], Work(1.0, 1.0)),
        load=Work(residents.load_microseconds / 1e6, residents.load_store_microseconds / 1e6),
        snapshot=Work(residents.snapshot_microseconds / 1e6, 0.0),
        following=Work(following.idle.workers, max(following.idle.store - following.alone, 0.0)),
        follow_seconds=following.label_microseconds / 1e6,
        tenant_bytes=Work(residents.resident_bytes, residents.store_bytes),
        worker_bytes=results.tenants[-1].empty_bytes,
        event_bytes=event_bytes(results),
        kept_bytes=results.kept.bytes_apart,
        label_write_seconds=1.0 / labels.rate,
        block_write_seconds=1.0 / alone.rate - kept_write,
        kept_write_seconds=kept_write,
        label_disk_bytes=labels.disk_bytes,
        kept_disk_bytes=alone.disk_bytes,
        snapshot_disk_bytes=residents.snapshot_bytes,
        request_bytes=results.kept.request_bytes,
        answer_bytes=results.kept.answer_bytes,
    )


def _seconds(cost: Cost, ratio: Work) -> Work:
    return Work(ratio.workers * cost.worker.median / 1e6, ratio.store * cost.store.median / 1e6)


def event_bytes(results: Results) -> float:
    """Of an event in the store's memory: between the two longest logs, where other things matter least."""
    before, last = results.tails[-2:]
    return (last.store_bytes - before.store_bytes) / (last.events - before.events)
