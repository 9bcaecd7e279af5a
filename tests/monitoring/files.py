"""The files of monitoring/ and the metrics in docs/metrics.md: rules, alerts, cases, dashboards."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "monitoring"
CASES = sorted((FOLDER / "rules" / "tests").glob("*.yml"))
DASHBOARDS = sorted((FOLDER / "grafana" / "dashboards").glob("*.json"))

STANDARD_METRICS = re.compile(r"up|process_\w+|python_gc_\w+")  # Prometheus' own, and prometheus-client's
PARTS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
WORDS = frozenset({"and", "or", "unless", "offset", "bool", "sum", "max", "min", "avg", "count", "topk"})
TOKEN = re.compile(
    r'"[^"]*"'
    r"|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)"
    r"|(?<![\w.$:])(?P<name>[a-zA-Z_:][\w:]*)(?P<matchers>\{[^}]*\})?(?P<call>\s*\()?"
)


class Query(NamedTuple):
    """An expression, and the rule or panel that it belongs to."""

    source: str
    expression: str


def read_yaml(path: Path) -> Any:  # noqa: ANN401 - any YAML
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@cache
def read_dashboard(path: Path) -> dict[str, Any]:
    dashboard: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return dashboard


@cache
def rules() -> list[dict[str, Any]]:
    files = sorted((FOLDER / "rules").glob("*.yml"))
    return [rule for path in files for group in read_yaml(path)["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


def recordings() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "record" in rule]


def cases(kind: str) -> list[dict[str, Any]]:
    """All of promtool's cases of one kind."""
    return [case for path in CASES for test in read_yaml(path)["tests"] for case in test.get(kind, ())]


def panels(dashboard: dict[str, Any]) -> list[dict[str, Any]]:
    """All panels except rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def panel_queries() -> list[Query]:
    return [
        Query(f"{path.stem}: {panel['title']}, {target['refId']}", target["expr"])
        for path in DASHBOARDS
        for panel in panels(read_dashboard(path))
        for target in panel["targets"]
    ]


def annotation_queries() -> list[Query]:
    return [
        Query(f"{path.stem}: {annotation['name']}", annotation["expr"])
        for path in DASHBOARDS
        for annotation in read_dashboard(path)["annotations"]["list"]
        if "expr" in annotation
    ]


def rule_queries() -> list[Query]:
    return [Query(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]


def selectors(expression: str) -> Iterator[tuple[str, str]]:
    """The metrics that an expression selects, each with its matchers."""
    for token in TOKEN.finditer(expression):
        if token["name"] and token["name"] not in WORDS and not token["call"]:
            yield token["name"], token["matchers"] or ""


@cache
def known_metrics() -> frozenset[str]:
    """The names of all samples according to docs/metrics.md, and of all recording rules."""
    rows = re.findall(r"^\| `(\w+)` \| (\w*)", (ROOT / "docs" / "metrics.md").read_text(), re.MULTILINE)
    names = {name + part for name, kind in rows for part in PARTS.get(kind, ("",))}
    return frozenset(names | {rule["record"] for rule in recordings()})


@cache
def tenant_gauges() -> frozenset[str]:
    manual = (ROOT / "docs" / "metrics.md").read_text()
    section = manual[manual.index("## The state of a tenant") : manual.index("## The service")]
    return frozenset(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))


def unknown_metrics(expression: str) -> list[str]:
    names = [name for name, _ in selectors(expression) if not STANDARD_METRICS.fullmatch(name)]
    return [name for name in names if name not in known_metrics()]
