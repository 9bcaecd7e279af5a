"""Checks of the dashboards that need no Grafana: they load, and select existing metrics."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from app.console.menu import TENANT_PAGES
from tests.monitoring.files import (
    DASHBOARDS,
    FOLDER,
    Query,
    annotation_queries,
    panel_queries,
    panels,
    read_dashboard,
    read_yaml,
    selectors,
    tenant_gauges,
    unknown_metrics,
)

PROVISIONING = FOLDER / "grafana" / "provisioning"
WIDTH = 24

each_dashboard = pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)


def test_there_are_two_dashboards_that_link_to_each_other_and_to_the_console() -> None:
    found = {path.stem: read_dashboard(path) for path in DASHBOARDS}
    assert {name: one["uid"] for name, one in found.items()} == {"models": "sluice-models", "service": "sluice-service"}
    for own, other in (("models", "service"), ("service", "models")):
        urls = [link["url"] for link in found[own]["links"]]
        assert urls == ["${sluice_url}/console", f"/d/{found[other]['uid']}"]


def test_what_is_shown_of_a_tenant_leads_to_its_page_in_the_console() -> None:
    [models] = [path for path in DASHBOARDS if path.stem == "models"]
    linked = 0
    for panel in panels(read_dashboard(models)):
        settings = panel["fieldConfig"]
        links = [*settings["defaults"].get("links", [])]
        links += [
            link
            for override in settings["overrides"]
            for each in override["properties"]
            if each["id"] == "links"
            for link in each["value"]
        ]
        for link in links:
            found = re.fullmatch(r"\$\{sluice_url\}/console/tenants/\$\{(\S+)\}/(\S+)", link["url"])
            assert found, link["url"]
            assert found[1] == ("__value.raw" if panel["type"] == "table" else "__field.labels.tenant")
            assert found[2] in TENANT_PAGES
            assert link["targetBlank"]
        linked += bool(links)
        by_tenant = all("{{tenant}}" in target.get("legendFormat", "") for target in panel["targets"])
        assert bool(links) == (by_tenant or panel["type"] == "table"), panel["title"]
    assert linked > 15


@each_dashboard
def test_a_dashboard_is_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


@each_dashboard
def test_a_dashboard_has_the_fields_that_grafana_needs(path: Path) -> None:
    dashboard = read_dashboard(path)
    assert dashboard["id"] is None  # Grafana assigns one; a fixed id could belong to another dashboard
    assert dashboard["schemaVersion"] == 39
    assert dashboard["timezone"] == "browser"
    assert re.fullmatch(r"\d+[sm]", dashboard["refresh"])


@each_dashboard
def test_ids_of_panels_are_unique(path: Path) -> None:
    ids = [panel["id"] for panel in read_dashboard(path)["panels"]]
    assert len(set(ids)) == len(ids)


@each_dashboard
def test_panels_do_not_overlap_and_fit_in_the_width(path: Path) -> None:
    places = [panel["gridPos"] for panel in read_dashboard(path)["panels"]]
    assert all(place["x"] >= 0 and place["x"] + place["w"] <= WIDTH for place in places)
    assert [pair for pair in combinations(places, 2) if overlap(*pair)] == []


@each_dashboard
def test_every_panel_has_a_description_and_a_unit(path: Path) -> None:
    for panel in panels(read_dashboard(path)):
        assert panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]


@each_dashboard
def test_every_target_has_a_reference_and_the_chosen_data_source(path: Path) -> None:
    for panel in panels(read_dashboard(path)):
        references = [target["refId"] for target in panel["targets"]]
        assert references
        assert len(set(references)) == len(references)
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@each_dashboard
def test_a_stat_shows_the_current_value_or_nothing(path: Path) -> None:
    for panel in panels(read_dashboard(path)):
        if panel["type"] in {"stat", "gauge"}:  # in a range query, the last value may be hours old
            assert all(target["instant"] and not target["range"] for target in panel["targets"]), panel["title"]


@each_dashboard
def test_variables_that_are_used_are_defined(path: Path) -> None:
    defined = {variable["name"]: variable for variable in read_dashboard(path)["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", path.read_text(encoding="utf-8")))
    assert {name for name in used if not name.startswith("__")} == defined.keys()
    tenant = defined["tenant"]
    assert tenant["definition"] == tenant["query"]["query"] == "label_values(sluice_tenant_version, tenant)"
    assert tenant["multi"]
    assert tenant["includeAll"]


@pytest.mark.parametrize("query", panel_queries() + annotation_queries(), ids=lambda query: query.source)
def test_a_query_uses_only_documented_metrics(query: Query) -> None:
    assert list(selectors(query.expression))
    assert unknown_metrics(query.expression) == []


@pytest.mark.parametrize("query", panel_queries(), ids=lambda query: query.source)
def test_gauges_of_a_tenant_are_never_summed_over_the_workers_that_hold_it(query: Query) -> None:
    for name, _ in selectors(query.expression):
        if name in tenant_gauges():
            assert re.search(rf"max by \(tenant[^)]*\) \({name}\b", query.expression)


def test_the_dashboards_find_the_data_source_and_grafana_the_dashboards() -> None:
    [source] = read_yaml(PROVISIONING / "datasources" / "prometheus.yml")["datasources"]
    assert (source["uid"], source["url"]) == ("prometheus", "http://prometheus:9090")
    for path in DASHBOARDS:
        assert variable(path, "datasource")["current"]["value"] == source["uid"]
    [provider] = read_yaml(PROVISIONING / "dashboards" / "sluice.yml")["providers"]
    assert provider["options"]["path"] == "/var/lib/grafana/dashboards"


def test_grafana_knows_the_scrape_interval() -> None:
    [source] = read_yaml(PROVISIONING / "datasources" / "prometheus.yml")["datasources"]
    assert source["jsonData"]["timeInterval"] == read_yaml(FOLDER / "prometheus.yml")["global"]["scrape_interval"]


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not beside and not above


def variable(path: Path, name: str) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {one["name"]: one for one in read_dashboard(path)["templating"]["list"]}
    return found[name]
