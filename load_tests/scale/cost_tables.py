"""What requests cost: a table for each quantity that was varied."""

from collections.abc import Iterable

from load_tests.harness.report import table
from load_tests.scale.figures import Asked
from load_tests.scale.results import Results

COSTS = ("worker, us", "store, us", "p50, ms", "p99, ms", "per second")


def workers_table(results: Results) -> str:
    """One worker beside two, each load by itself."""
    rows = [
        (load, found.workers, asked, asked.client.told(2))
        for load, some in {
            "/predict": [(found, found.predict) for found in results.workers],
            "mixed day": [(found, found.mixed) for found in results.workers],
        }.items()
        for found, asked in some
    ]
    header = ("load", "workers", *COSTS, "client, cores")
    return table(header, ((load, workers, *_costs(asked), client) for load, workers, asked, client in rows))


def two_beside_one(results: Results) -> str:
    """How much more two workers serve."""
    one, two = results.workers[0], results.workers[-1]
    predict, mixed = (
        more.rate.median / less.rate.median for more, less in ((two.predict, one.predict), (two.mixed, one.mixed))
    )
    return (
        f"Two workers serve {predict:.2f} times as many predictions as one, and {mixed:.2f} times as much of the mixed "
        "day. They share two cores with the store and the client."
    )


def models_table(results: Results) -> str:
    """By features in the model."""
    return _table(
        ("features", "route"),
        (
            (f"{found.features:,}", route, asked)
            for found in results.models
            for route, asked in (("/predict", found.predict), ("/feedback", found.feedback))
        ),
    )


def examples_table(results: Results) -> str:
    """By features of the example."""
    return _table(
        ("features", "bytes of the body", "route"),
        (
            (f"{found.features:,}", f"{found.body_bytes:,}", route, asked)
            for found in results.examples
            for route, asked in (
                ("/predict", found.predict),
                ("/predict, keep=false", found.not_kept),
                ("/feedback", found.feedback),
            )
        ),
    )


def tenants_table(results: Results) -> str:
    """By tenants in memory."""
    return _table(
        ("tenants", "/predict"),
        (
            (f"{found.tenants:,}", kind, asked)
            for found in results.tenants
            for kind, asked in (
                ("by Zipf's law", found.popular),
                ("evenly", found.evenly),
                ("evenly, keep=false", found.evenly_not_kept),
            )
        ),
    )


def stores_table(results: Results) -> str:
    """By the kind of store."""
    return _table(
        ("store", "route"),
        (
            (found.store, route, asked)
            for found in results.following
            for route, asked in (
                ("/predict", found.predict),
                ("/predict, keep=false", found.not_kept),
                ("/feedback", found.feedback),
            )
        ),
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[str | Asked, ...]]) -> str:
    """The last of each row is what was measured."""
    return table((*header, *COSTS), ((*row[:-1], *_costs(row[-1])) for row in rows))


def _costs(asked: object) -> tuple[str, ...]:
    assert isinstance(asked, Asked)
    latencies = (asked.p50.told(1), asked.p99.told(1))
    return (asked.worker.told(), asked.store.told(), *latencies, asked.rate.told())
