"""What things take: memory, loading, starts, and what a store can write."""

from load_tests.harness import traffic
from load_tests.harness.report import table
from load_tests.scale.costs import event_bytes
from load_tests.scale.results import Results
from load_tests.scale.stores import BLOCK

KIB, MIB = float(1 << 10), float(1 << 20)


def features_table(results: Results) -> str:
    """Of a model, by its features."""
    header = ("features", "worker, MiB", "bytes per feature", "store, MiB", "bytes per feature", "to load, s")
    rows = (
        (
            f"{found.features:,}",
            f"{found.resident_bytes / MIB:,.1f}",
            f"{found.resident_bytes / found.features:,.0f}",
            f"{found.store_bytes / MIB:,.1f}",
            f"{found.store_bytes / found.features:,.0f}",
            f"{found.load_seconds:.2f}",
        )
        for found in results.models
    )
    return table(header, rows)


def holding_table(results: Results) -> str:
    """Of a worker, by the tenants that it holds."""
    header = (
        "tenants",
        "start to ready, s",
        "/readyz, ms",
        "worker, MiB",
        "KiB per tenant",
        "to load each: worker, us",
        "worker idle, cores",
        "store idle, cores",
    )
    rows = (
        (
            f"{found.tenants:,}",
            f"{found.start_seconds:.1f}",
            f"{found.ready_milliseconds:.1f}",
            f"{found.resident_bytes / MIB:,.0f}",
            f"{(found.resident_bytes - found.empty_bytes) / found.tenants / KIB:,.0f}",
            f"{found.load_microseconds:,.0f}",
            f"{found.idle.workers:.3f}",
            f"{found.idle.store:.3f}",
        )
        for found in results.tenants
    )
    return table(header, rows)


def residents_table(results: Results) -> str:
    """Of a tenant, by its features."""
    header = (
        "features",
        "worker, KiB",
        "store, KiB",
        "to load: worker, us",
        "to load: store, us",
        "to load: p50, ms",
        "to load: p99, ms",
        "a snapshot: worker, us",
        "a snapshot: written, KiB",
    )
    rows = (
        (
            f"{found.features:,}",
            f"{found.resident_bytes / KIB:,.0f}",
            f"{found.store_bytes / KIB:,.0f}",
            f"{found.load_microseconds:,.0f}",
            f"{found.load_store_microseconds:,.0f}",
            f"{found.load_p50:.1f}",
            f"{found.load_p99:.1f}",
            f"{found.snapshot_microseconds:,.0f}",
            f"{found.snapshot_bytes / KIB:,.0f}",
        )
        for found in results.residents
    )
    return table(header, rows)


def restarts_table(results: Results) -> str:
    """Of a start, by the log behind the snapshot."""
    header = ("events behind the snapshot", "to ready, s", "to the tenant's first answer, s")
    rows = (
        (f"{found.events:,}", found.ready_seconds.told(2), found.first_answer_seconds.told(2))
        for found in results.tails
    )
    return table(header, rows)


def store_memory_table(results: Results) -> str:
    """Of what the store keeps."""
    kept, largest = results.kept, results.models[-1]
    rows = {
        f"an event of {traffic.FEATURES} features in a log": event_bytes(results),
        f"a kept prediction of {traffic.FEATURES} features, all of one tenant": kept.bytes_together,
        "the same, each of another tenant": kept.bytes_apart,
        "a tenant that has learnt nothing yet": kept.bytes_of_tenant,
        f"a feature of a snapshot of {largest.features:,}": largest.store_bytes / largest.features,
    }
    return table(("what", "bytes"), ((name, f"{value:,.0f}") for name, value in rows.items()))


def writes_table(results: Results) -> str:
    """Of one store that does nothing but write."""
    header = ("writes", "on their way at once", "per second", "store, us", "store, cores", "to disk, MB/s")
    store = results.store
    kinds = {
        "labels": store.labels,
        "kept predictions, one by one": store.kept,
        f"kept predictions, {BLOCK} together": store.blocks,
    }
    rows = (
        (
            kind,
            found.connections,
            f"{found.rate:,.0f}",
            f"{found.microseconds:.0f}",
            f"{found.cores:.2f}",
            f"{found.rate * found.disk_bytes / 1e6:.1f}",
        )
        for kind, some in kinds.items()
        for found in some
    )
    return table(header, rows)


def following_table(results: Results) -> str:
    """Of workers that nobody asks."""
    header = (
        "store",
        "store without a worker, cores",
        "worker idle, cores",
        "store idle, cores",
        "a second worker, cores",
        "the same while others are labelled, cores",
        "store then, with all its work, cores",
        "for each label, us",
    )
    rows = (
        (
            found.store,
            f"{found.alone:.3f}",
            f"{found.idle.workers:.3f}",
            f"{found.idle.store:.3f}",
            f"{found.quiet.workers:.3f}",
            f"{found.follower.workers:.3f}",
            f"{found.follower.store:.3f}",
            f"{found.heard_microseconds:.0f}",
        )
        for found in results.following
    )
    return table(header, rows)
