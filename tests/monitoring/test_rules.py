"""Checks of the rules and alerts that need no Prometheus: names, texts, runbooks, cases."""

import re

import pytest

from tests.monitoring.files import (
    CASES,
    FOLDER,
    ROOT,
    Query,
    alerts,
    cases,
    known_metrics,
    read_yaml,
    recordings,
    rule_queries,
    selectors,
    unknown_metrics,
)

ALERTS = {rule["alert"]: rule for rule in alerts()}
each_alert = pytest.mark.parametrize("name", ALERTS)


@pytest.mark.parametrize("query", rule_queries(), ids=lambda query: query.source)
def test_a_rule_uses_only_documented_metrics(query: Query) -> None:
    assert list(selectors(query.expression))
    assert unknown_metrics(query.expression) == []


def test_a_name_that_is_not_in_the_manual_is_detected() -> None:
    assert unknown_metrics('sum by (tenant) (rate(sluice_labels_total{tenant="a"}[5m])) or sluice_labels') == [
        "sluice_labels"
    ]
    assert "sluice_prediction_score_bucket" in known_metrics()
    assert "sluice_prediction_score" not in known_metrics()


def test_recorded_names_follow_the_convention_level_metric_operation() -> None:
    for rule in recordings():
        assert re.fullmatch(r"(job|tenant(_label_predicted)?):sluice_\w+:(ratio|increase)_\d+[mhd]", rule["record"])


def test_every_name_is_defined_once() -> None:
    names = [rule["record"] for rule in recordings()] + [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)


@each_alert
def test_an_alert_has_a_severity_and_names_its_source(name: str) -> None:
    alert = ALERTS[name]
    assert alert["labels"]["severity"] in {"page", "ticket", "info"}
    for text in ("summary", "description"):
        assert re.search(r"\{\{ \$labels\.(tenant|instance|job) \}\}", alert["annotations"][text]), text


@each_alert
def test_an_alert_points_at_its_own_runbook(name: str) -> None:
    assert ALERTS[name]["annotations"]["runbook_url"] == f"docs/operations.md#{name.lower()}"


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    manual = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", manual[manual.index("\n## Alerts\n") + 1 :], maxsplit=2, flags=re.MULTILINE)[1]
    runbooks = re.split(r"^### ", section, flags=re.MULTILINE)[1:]
    assert sorted(runbook.partition("\n")[0] for runbook in runbooks) == sorted(ALERTS)
    for runbook in runbooks:
        title, _, text = runbook.partition("\n")
        assert text.startswith(f"**{ALERTS[title]['labels']['severity'].capitalize()}.**")
        assert "*Confirm" in text, title


@each_alert
def test_an_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(name: str) -> None:
    own = [case for case in cases("alert_rule_test") if case["alertname"] == name]
    assert {bool(case["exp_alerts"]) for case in own} == {True, False}


def test_every_recorded_rate_has_a_case_with_its_value() -> None:
    expressions = [case["expr"] for case in cases("promql_expr_test") if case["exp_samples"]]
    selected = {name for expression in expressions for name, _ in selectors(expression)}
    assert {rule["record"] for rule in recordings()} - selected == set()


def test_cases_name_rules_that_exist() -> None:
    for path in CASES:
        assert all((path.parent / rules).is_file() for rules in read_yaml(path)["rule_files"]), path


def test_prometheus_reads_the_rules_and_the_targets_that_are_there() -> None:
    configuration = read_yaml(FOLDER / "prometheus.yml")
    assert configuration["rule_files"] == ["rules/*.yml"]
    [sluice] = [job for job in configuration["scrape_configs"] if job["job_name"] == "sluice"]
    [discovery] = sluice["file_sd_configs"]
    assert [read_yaml(FOLDER / file) for file in discovery["files"]] == [[{"targets": ["sluice:8000"]}]]
