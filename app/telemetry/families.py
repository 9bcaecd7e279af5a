"""The metrics of one worker as prometheus-client families. docs/metrics.md explains each of them."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from app.telemetry.counters import Histogram, Telemetry, TenantSeries
from app.telemetry.readings import Rates, TenantReading, WorkerReading

CLASSES = ("normal", "anomaly")
CELLS = [(label, predicted) for label in CLASSES for predicted in CLASSES]
PLAIN_GAUGES: tuple[tuple[str, str, Callable[[TenantReading], float | None]], ...] = (
    ("sluice_tenant_version", "Events of the log that were applied.", lambda one: one.version),
    ("sluice_tenant_features", "Features in the model.", lambda one: one.features),
    ("sluice_tenant_nonzero_weights", "Features with a weight.", lambda one: one.nonzero_weights),
    ("sluice_tenant_sparsity_ratio", "Share of features without a weight.", lambda one: one.sparsity),
    ("sluice_tenant_memory_bytes", "Memory of the model and its names.", lambda one: one.memory_bytes),
    ("sluice_tenant_threshold", "Scores above it are anomalies.", lambda one: one.threshold),
    ("sluice_tenant_poor", "Whether verdicts are no better than chance.", lambda one: one.is_poor),
    (
        "sluice_tenant_rebuilding_ratio",
        "Share done of a rebuild without retracted labels.",
        lambda one: one.rebuilding,
    ),
    ("sluice_log_lag_events", "Events known to be in the log and not applied yet.", lambda one: one.log_lag_events),
    ("sluice_log_lag_seconds", "For how long there have been such events.", lambda one: one.log_lag_seconds),
    ("sluice_snapshot_lag_events", "Events since the newest snapshot.", lambda one: one.snapshot_lag_events),
    ("sluice_snapshot_age_seconds", "Time since the newest snapshot.", lambda one: one.snapshot_age_seconds),
    ("sluice_pending_predictions", "Predictions kept for feedback.", lambda one: one.pending_predictions),
    ("sluice_review_waiting", "Items that wait for a reviewer.", lambda one: one.review_waiting),
    ("sluice_review_leased", "Items that a reviewer has.", lambda one: one.review_leased),
    (
        "sluice_review_oldest_age_seconds",
        "Time since the oldest prediction in the review queue.",
        lambda one: one.review_oldest_age_seconds,
    ),
)
RATES: tuple[tuple[str, str, Callable[[Rates], float | None]], ...] = (
    (
        "sluice_balanced_accuracy_ratio",
        "Mean of sensitivity and specificity.",
        lambda rates: rates.balanced_accuracy,
    ),
    ("sluice_sensitivity_ratio", "Share of anomalies that were found.", lambda rates: rates.sensitivity),
    ("sluice_specificity_ratio", "Share of normal examples left alone.", lambda rates: rates.specificity),
)


def families(telemetry: Telemetry, reading: WorkerReading) -> Iterator[Metric]:
    """Yield all metrics, in the order of docs/metrics.md."""
    series = dict(telemetry.tenants.series())
    yield from _of_labels(series)
    yield from _of_states(reading.tenants)
    yield from _of_requests(telemetry)
    yield from _of_store(telemetry, reading)
    yield from _of_worker(telemetry, reading)
    build = GaugeMetricFamily("sluice_build_info", "What is running.", labels=("version", "python", "numba"))
    build.add_metric([version("sluice"), platform.python_version(), version("numba")], 1)
    yield build


def _of_labels(tenants: Mapping[str, TenantSeries]) -> Iterator[Metric]:
    given = CounterMetricFamily(
        "sluice_labels",
        "Labels, by the verdict just before learning.",
        labels=("tenant", "label", "predicted"),
    )
    served = CounterMetricFamily(
        "sluice_served_labels", "Labels, by the verdict that had been served.", labels=("tenant", "label", "predicted")
    )
    predictions = CounterMetricFamily("sluice_predictions", "Predictions made.", labels=("tenant", "predicted"))
    reviews = CounterMetricFamily("sluice_review_items", "What happened to items.", labels=("tenant", "event"))
    for name, series in tenants.items():
        for event, number in series.review.items():
            reviews.add_metric([name, event], number)
        for cell, (label, predicted) in enumerate(CELLS):
            given.add_metric([name, label, predicted], series.labels[cell])
            served.add_metric([name, label, predicted], series.served[cell])
        for predicted, count in zip(CLASSES, series.predictions, strict=True):
            predictions.add_metric([name, predicted], count)
    yield from (given, served, predictions, reviews)
    scores = [((name,), series.scores) for name, series in tenants.items()]
    yield _histogram("sluice_prediction_score", "Scores of predictions.", ("tenant",), scores)
    delays = [((name,), series.delays) for name, series in tenants.items()]
    yield _histogram("sluice_label_delay_seconds", "From a prediction to its label.", ("tenant",), delays)


def _of_states(tenants: Iterable[TenantReading]) -> Iterator[Metric]:
    tenants = list(tenants)
    for name, text, rate_of in RATES:
        samples = [((one.name, rates.verdict, rates.window), rate_of(rates)) for one in tenants for rates in one.rates]
        yield _gauge(name, text, ("tenant", "verdict", "window"), samples)
    for name, text, value_of in PLAIN_GAUGES:
        yield _gauge(name, text, ("tenant",), [((one.name,), value_of(one)) for one in tenants])
    yield from _of_chosen(tenants)
    yield from _of_drift(tenants)


def _of_chosen(tenants: Iterable[TenantReading]) -> Iterator[Metric]:
    """Yield the rates of all items, from the labels of those that the review policy chose, and the targets."""
    found = [((one.name, each.rate, each.window), each) for one in tenants for each in one.honest]
    labels = ("tenant", "rate", "window")
    yield _gauge("sluice_honest_ratio", "Rate as if all items had labels.", labels, [(at, e.value) for at, e in found])
    ends = [((*at, "low"), each.low) for at, each in found] + [((*at, "high"), each.high) for at, each in found]
    yield _gauge("sluice_honest_interval_ratio", "Ends of its 95% interval.", (*labels, "end"), ends)
    yield _gauge("sluice_honest_labels", "Effective number of its labels.", labels, [(at, e.labels) for at, e in found])
    targets = [((one.name, one.target.name), one.target) for one in tenants if one.target is not None]
    names = ("tenant", "target")
    yield _gauge("sluice_target_value", "What the threshold follows.", names, [(at, e.value) for at, e in targets])
    yield _gauge("sluice_target_realised", "What it was lately.", names, [(at, e.realised) for at, e in targets])


def _of_drift(tenants: Iterable[TenantReading]) -> Iterator[Metric]:
    drifts = [((one.name, drift.label), drift) for one in tenants for drift in one.drifts]
    changes = [((*labels_of, "worse"), drift.worse) for labels_of, drift in drifts]
    changes += [((*labels_of, "better"), drift.better) for labels_of, drift in drifts]
    yield _gauge("sluice_drift_changes", "Changes of the error rate found.", ("tenant", "label", "direction"), changes)
    errors = [(labels_of, drift.error) for labels_of, drift in drifts]
    yield _gauge("sluice_drift_error_ratio", "Error rate since the last change.", ("tenant", "label"), errors)
    labels = [(labels_of, drift.labels) for labels_of, drift in drifts]
    yield _gauge("sluice_drift_window_labels", "Labels since the last change.", ("tenant", "label"), labels)


def _of_requests(telemetry: Telemetry) -> Iterator[Metric]:
    requests = telemetry.requests
    answered = CounterMetricFamily("sluice_http_requests", "Requests answered.", labels=("method", "route", "status"))
    for (method, route, status), count in requests.answered.items():
        answered.add_metric([method, route, str(status)], count)
    yield answered
    yield _histogram(
        "sluice_http_request_duration_seconds", "Time to answer.", ("method", "route"), requests.durations.items()
    )
    yield GaugeMetricFamily("sluice_http_requests_in_progress", "Requests under way.", value=requests.in_progress)
    yield GaugeMetricFamily("sluice_event_streams", "Open event streams.", value=telemetry.requests.event_streams)
    shed = CounterMetricFamily("sluice_requests_shed", "Requests refused by a limit.", labels=("reason",))
    for reason, count in requests.shed.items():
        shed.add_metric([reason], count)
    yield shed
    kernels = SummaryMetricFamily("sluice_kernel_seconds", "Time in compiled code.", labels=("operation",))
    for operation, timing in (("score", telemetry.tenants.scoring), ("learn", telemetry.tenants.learning)):
        kernels.add_metric([operation], timing.count, timing.seconds)
    yield kernels


def _of_store(telemetry: Telemetry, reading: WorkerReading) -> Iterator[Metric]:
    commands = telemetry.commands
    durations = [((name,), durations) for name, durations in commands.durations.items()]
    yield _histogram("sluice_store_command_duration_seconds", "Time until the store answered.", ("command",), durations)
    errors = CounterMetricFamily("sluice_store_errors", "Commands that failed.", labels=("command",))
    for name, count in commands.errors.items():
        errors.add_metric([name], count)
    yield errors
    yield GaugeMetricFamily("sluice_store_up", "Whether the store answered last time.", reading.store_up)
    yield GaugeMetricFamily(
        "sluice_store_contact_age_seconds", "Time since the store last answered.", reading.store_contact_age_seconds
    )
    yield GaugeMetricFamily(
        "sluice_store_unsafe", "Whether the store's settings keep labels from being acknowledged.", reading.store_unsafe
    )
    yield GaugeMetricFamily(
        "sluice_store_write_refused", "Whether the store refuses writes.", reading.store_write_refused
    )
    used, limit = reading.store_memory_bytes, reading.store_memory_limit_bytes
    yield _gauge("sluice_store_memory_bytes", "Memory in use by the fullest node of the store.", (), [((), used)])
    yield _gauge("sluice_store_memory_limit_bytes", "The maxmemory of that node.", (), [((), limit)])


def _of_worker(telemetry: Telemetry, reading: WorkerReading) -> Iterator[Metric]:
    yield GaugeMetricFamily("sluice_tenants_held", "Tenants in memory.", reading.tenants_held)
    yield GaugeMetricFamily("sluice_tenants_memory_bytes", "Memory of tenants.", reading.tenants_memory_bytes)
    yield GaugeMetricFamily("sluice_tenants_damaged", "Tenants that cannot be loaded.", reading.tenants_damaged)
    yield CounterMetricFamily("sluice_tenant_loads", "Tenants loaded.", telemetry.loads)
    yield CounterMetricFamily("sluice_tenant_evictions", "Tenants evicted to free memory.", telemetry.evictions)
    yield CounterMetricFamily("sluice_log_repairs", "Logs repaired.", telemetry.repairs)
    yield CounterMetricFamily(
        "sluice_keys_restored", "API keys and revocations put back into the store.", telemetry.keys_restored
    )
    yield CounterMetricFamily(
        "sluice_outcome_replays", "Replays of a log for the answer to a retry.", telemetry.outcome_replays
    )
    yield CounterMetricFamily("sluice_labels_retracted", "Labels taken back.", telemetry.labels_retracted)
    snapshots = CounterMetricFamily("sluice_snapshots", "Snapshots.", labels=("result",))
    snapshots.add_metric(["taken"], telemetry.snapshots_taken)
    snapshots.add_metric(["failed"], telemetry.snapshots_failed)
    yield snapshots
    yield CounterMetricFamily("sluice_snapshot_written_bytes", "Written for snapshots.", telemetry.snapshot_bytes)
    yield GaugeMetricFamily(
        "sluice_pending_waiting_bytes", "Kept predictions that are not written yet.", reading.pending_waiting_bytes
    )
    yield GaugeMetricFamily("sluice_pending_bytes", "Kept predictions of all tenants.", reading.pending_bytes)
    yield GaugeMetricFamily("sluice_pending_limit_bytes", "How much may be kept.", reading.pending_limit_bytes)
    yield CounterMetricFamily("sluice_predictions_not_kept", "Predictions that were not kept.", telemetry.not_kept)
    yield CounterMetricFamily("sluice_inputs_kept", "Raw inputs that were kept.", telemetry.inputs_kept)
    yield CounterMetricFamily("sluice_inputs_not_kept", "Raw inputs without room.", telemetry.inputs_not_kept)


def _gauge(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[tuple[tuple[str, ...], float | None]]
) -> GaugeMetricFamily:
    """Add a sample for each defined value."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(values, value)
    return family


def _histogram(
    name: str, text: str, labels: tuple[str, ...], samples: Iterable[tuple[tuple[str, ...], Histogram]]
) -> HistogramMetricFamily:
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, histogram in samples:
        family.add_metric(values, histogram.cumulative(), histogram.total)
    return family
