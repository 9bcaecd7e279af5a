"""What a plan needs to know, picked out of the measurements."""

from dataclasses import dataclass
from typing import NamedTuple

from load_tests.scale.following import CLUSTER
from load_tests.scale.results import FollowingFound, ResidentsFound, Results, WritesFound
from load_tests.scale.stores import BLOCK

FEATURES = 1000  # of a tenant


@dataclass(frozen=True, slots=True)
class Costs:
    """For requests of 100 features, tenants of 1,000, and a cluster as the store. Times are of processors.

    A prediction costs what it was measured to in a cluster, times what the most tenants that were measured cost beside
    as many as there were in the cluster: where they are many, each has another place in memory, and its own block.
    """

    predict_seconds: float  # in a worker
    not_kept_seconds: float
    label_seconds: float
    load_seconds: float
    snapshot_seconds: float
    following_cores: float  # of every worker, whoever is labelled
    heard_seconds: float  # for each label, of every worker
    worker_bytes: float  # without tenants
    tenant_bytes: float
    store_predict_seconds: float
    store_label_seconds: float
    store_load_seconds: float
    store_following_cores: float  # for each worker
    store_tenant_bytes: float  # its snapshot
    store_event_bytes: float
    store_kept_bytes: float
    label_writing_seconds: float  # of the clock, on a store that does nothing but write
    block_writing_seconds: float  # of kept predictions, whatever is in it
    kept_writing_seconds: float  # for each prediction in it
    label_disk_bytes: float
    kept_disk_bytes: float
    snapshot_disk_bytes: float
    request_bytes: float
    answer_bytes: float


def costs_of(results: Results) -> Costs:
    """All of them."""
    following, residents, kept = _cluster(results), _residents(results), results.kept
    labels, alone, together = map(_fastest, (results.store.labels, results.store.kept, results.store.blocks))
    kept_writing = max((1.0 / together.rate - 1.0 / alone.rate) / (BLOCK - 1), 0.0)
    idle, crowd = following.idle, _crowd(results)
    return Costs(
        predict_seconds=crowd.worker * following.predict.worker.median / 1e6,
        not_kept_seconds=crowd.worker * following.not_kept.worker.median / 1e6,
        label_seconds=following.feedback.worker.median / 1e6,
        load_seconds=residents.load_microseconds / 1e6,
        snapshot_seconds=residents.snapshot_microseconds / 1e6,
        following_cores=idle.workers,
        heard_seconds=following.heard_microseconds / 1e6,
        worker_bytes=results.tenants[-1].empty_bytes,
        tenant_bytes=residents.resident_bytes,
        store_predict_seconds=crowd.store * following.predict.store.median / 1e6,
        store_label_seconds=following.feedback.store.median / 1e6,
        store_load_seconds=residents.load_store_microseconds / 1e6,
        store_following_cores=max(idle.store - following.alone, 0.0),
        store_tenant_bytes=residents.store_bytes,
        store_event_bytes=event_bytes(results),
        store_kept_bytes=kept.bytes_apart,
        label_writing_seconds=1.0 / labels.rate,
        block_writing_seconds=1.0 / alone.rate - kept_writing,
        kept_writing_seconds=kept_writing,
        label_disk_bytes=labels.disk_bytes,
        kept_disk_bytes=alone.disk_bytes,
        snapshot_disk_bytes=residents.snapshot_bytes,
        request_bytes=kept.request_bytes,
        answer_bytes=kept.answer_bytes,
    )


class Crowd(NamedTuple):
    """What predictions for many tenants cost, as a multiple of what they cost for some."""

    worker: float
    store: float


def _crowd(results: Results) -> Crowd:
    some = [found for found in results.tenants if found.tenants <= results.sizes.followed_tenants][-1].popular
    many = results.tenants[-1].popular
    return Crowd(
        max(many.worker.median / some.worker.median, 1.0),
        max(many.store.median / max(some.store.median, 1.0), 1.0),
    )


def event_bytes(results: Results) -> float:
    """Of an event in the store's memory: between the two longest logs, where other things matter least."""
    before, last = results.tails[-2:]
    return (last.store_bytes - before.store_bytes) / (last.events - before.events)


def _cluster(results: Results) -> FollowingFound:
    return next(found for found in results.following if found.store == CLUSTER)


def _residents(results: Results) -> ResidentsFound:
    return next(found for found in results.residents if found.features == FEATURES)


def _fastest(found: list[WritesFound]) -> WritesFound:
    return max(found, key=lambda each: each.rate)
