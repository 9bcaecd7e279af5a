"""The text that Prometheus scrapes."""

import re
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from app.telemetry.counters import Telemetry
from app.telemetry.exposition import Runtime, merged, text_of
from app.telemetry.families import families
from app.telemetry.readings import DriftReading, HonestReading, Rates, TargetReading, TenantReading, WorkerReading

MANUAL = (Path(__file__).parent.parent.parent / "docs" / "metrics.md").read_text(encoding="utf-8")
OF_THE_SERVICE = {"sluice_workers", "sluice_workers_answering"}


def reading(**changes: object) -> TenantReading:
    plain: dict[str, object] = {
        "name": "acme",
        "rates": [Rates("model", "lifetime", 0.75, 0.5, 1.0)],
        "drifts": [DriftReading("anomaly", 1, 2, 30, 0.25), DriftReading("normal", 0, 0, 0, None)],
        "honest": [HonestReading("balanced_accuracy", "lately", 0.8, 0.7, 0.9, 55.0)],
        "target": TargetReading("precision", 0.5, 0.48), "threshold": 0.1,
        "is_poor": False, "rebuilding": 0.5,
        "version": 7, "features": 10, "nonzero_weights": 4, "memory_bytes": 1000, "log_lag_events": 0,
        "log_lag_seconds": 0.0, "snapshot_lag_events": 7, "snapshot_age_seconds": 1.5, "pending_predictions": 3,
    }  # fmt: skip
    return TenantReading(**(plain | changes))  # type: ignore[arg-type]


def page(*tenants: TenantReading) -> bytes:
    telemetry = Telemetry()
    telemetry.tenants.of("acme").scored(0.001, -0.3, -1)
    telemetry.requests.count("POST", "/predict", 200, 0.002)
    telemetry.commands.count("append", 0.001, failed=True)
    worker = WorkerReading(True, 0.5, False, False, 1, 1000, 0, 0, 0, 1 << 30, None, None, tenants)
    return text_of([*families(telemetry, worker), *Runtime().families()], worker="0")


def samples(text: bytes) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.values()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_every_sample_has_its_worker() -> None:
    for family in text_string_to_metric_families(page(reading()).decode()):
        assert {sample.labels["worker"] for sample in family.samples} <= {"0"}


def test_undefined_values_have_no_sample() -> None:
    found = samples(page(reading(rates=[Rates("model", "lifetime", None, None, 1.0)], nonzero_weights=None)))
    names = {name for name, _ in found}
    assert "sluice_specificity_ratio" in names
    assert not names & {
        "sluice_balanced_accuracy_ratio",
        "sluice_sensitivity_ratio",
        "sluice_tenant_nonzero_weights",
        "sluice_tenant_sparsity_ratio",
    }
    assert ("sluice_drift_error_ratio", ("0", "acme", "normal")) not in found


def test_honest_rates_come_with_their_interval_and_targets_with_what_was_realised() -> None:
    found = samples(page(reading()))
    at = ("0", "acme", "balanced_accuracy", "lately")
    assert found["sluice_honest_ratio", at] == 0.8
    assert found["sluice_honest_interval_ratio", tuple(sorted((*at, "low")))] == 0.7
    assert found["sluice_honest_interval_ratio", tuple(sorted((*at, "high")))] == 0.9
    assert found["sluice_honest_labels", at] == 55.0
    assert found["sluice_target_value", ("0", "acme", "precision")] == 0.5
    assert found["sluice_target_realised", ("0", "acme", "precision")] == 0.48
    without = {name for name, _ in samples(page(reading(honest=[], target=None)))}
    assert not without & {"sluice_honest_ratio", "sluice_target_value", "sluice_target_realised"}


def test_sparsity_is_the_share_of_features_without_a_weight() -> None:
    assert samples(page(reading()))["sluice_tenant_sparsity_ratio", ("0", "acme")] == 0.6


def test_labels_begin_at_zero_so_that_the_first_one_is_an_increase() -> None:
    found = samples(page())
    assert found["sluice_labels_total", ("0", "acme", "anomaly", "anomaly")] == 0.0


def test_unknown_methods_are_counted_together() -> None:
    telemetry = Telemetry()
    for method in ("BREW", "WHEN"):
        telemetry.requests.count(method, "unknown", 405, 0.001)
    assert telemetry.requests.answered == {("other", "unknown", 405): 2}


def test_pages_are_merged_metric_by_metric() -> None:
    def one(worker: str, value: float) -> bytes:
        return text_of([CounterMetricFamily("a", "An a.", value), GaugeMetricFamily("b", "A b.", value)], worker=worker)

    assert merged([one("0", 1), one("1", 2), b""]).decode().splitlines() == [
        "# HELP a_total An a.",
        "# TYPE a_total counter",
        'a_total{worker="0"} 1.0',
        'a_total{worker="1"} 2.0',
        "# HELP b A b.",
        "# TYPE b gauge",
        'b{worker="0"} 1.0',
        'b{worker="1"} 2.0',
    ]


def test_the_manual_lists_exactly_the_metrics_that_exist() -> None:
    text = page(reading()).decode()
    ours = {name for name in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE) if name.startswith("sluice_")}
    documented = set(re.findall(r"^\| `(sluice_\w+)` \|", MANUAL, re.MULTILINE))
    assert documented == ours | OF_THE_SERVICE


def test_the_manual_names_every_label() -> None:
    for family in text_string_to_metric_families(page(reading()).decode()):
        for sample in family.samples:
            for label in sample.labels.keys() - {"le", "worker", "generation"}:
                assert f"`{label}`" in MANUAL, sample.name
