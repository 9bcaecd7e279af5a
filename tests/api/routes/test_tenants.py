"""The routes under /tenants."""

from dataclasses import asdict
from typing import Any

import pytest

from app.learning.summary import summarise
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio
OCTETS = {"content-type": "application/octet-stream"}


async def taught(service: Service, name: str = "acme") -> None:
    for feature, label in (("a", 1), ("b", -1), ("c", 1), ("d", -1)):
        await service.client.post("/feedback", json={"tenant": name, "features": {feature: 1, "x": 1}, "label": label})


async def test_a_tenant_is_created_with_the_defaults(service: Service) -> None:
    answer = await service.client.put("/tenants/acme")
    shown = answer.json()
    assert answer.status_code == 200
    assert (shown["tenant"], shown["version"], shown["algorithm"]) == ("acme", 0, "cs-ssol")
    assert shown["config"] == dict(service.tenants.tenants["acme"].state.config.values)
    assert shown["balanced_accuracy"] is shown["sensitivity"] is shown["specificity"] is shown["sparsity"] is None


async def test_only_the_named_settings_change(service: Service) -> None:
    await service.client.put("/tenants/acme", json={"eta": 0.5, "threshold": 0.25})
    shown = (await service.client.put("/tenants/acme", json={"eta": 2})).json()
    assert (shown["config"]["eta"], shown["config"]["threshold"]) == (2.0, 0.25)


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        (b'{"eta":-1}', "eta is -1"),
        (b'{"etta":1}', "'etta' does not exist"),
        (b'{"algorithm":"magic"}', "'magic' is unknown"),
        (b'{"eta":"1"}', "eta is '1'"),
        (b'{"eta":[1]}', "eta is [1]"),
        (b"[]", "the body is []: it must be an object"),
        (b"{", "truncated"),
    ],
)
async def test_a_setting_that_does_not_fit_is_named(service: Service, body: bytes, culprit: str) -> None:
    answer = await service.client.put("/tenants/acme", content=body)
    assert answer.status_code == 422
    assert culprit in answer.json()["detail"]
    assert not service.tenants.tenants


async def test_a_tenant_shows_its_figures(service: Service) -> None:
    await taught(service)
    shown = (await service.client.get("/tenants/acme")).json()
    found = summarise(service.tenants.tenants["acme"].state)
    assert shown["counts"] == {"examples": 4, "positives": 2, "negatives": 2}
    for name in ("version", "digest", "features", "nonzero_weights", "sparsity", "balanced_accuracy", "memory_bytes"):
        assert shown[name] == found[name], name
    assert shown["recent"]["examples"] == 4
    assert shown["served"] == {"examples": 0, "balanced_accuracy": None, "sensitivity": None, "specificity": None}


async def test_a_tenant_shows_the_drift_of_each_class(service: Service) -> None:
    await taught(service)
    state = service.tenants.tenants["acme"].state
    shown = (await service.client.get("/tenants/acme")).json()["drift"]
    assert shown == asdict(state.drift)
    assert shown["anomaly"] == {"worse": 0, "better": 0, "labels": 2, "error": 1.0, "last_worse_at": None}


async def test_without_labels_the_error_is_null(service: Service) -> None:
    shown = (await service.client.put("/tenants/acme")).json()["drift"]
    nothing = {"worse": 0, "better": 0, "labels": 0, "error": None, "last_worse_at": None}
    assert shown == {"anomaly": nothing, "normal": nothing}


async def test_what_was_served_is_counted_apart(service: Service) -> None:
    predicted = (await service.client.post("/predict", json={"tenant": "acme", "features": {"a": 1}})).json()
    given = {"tenant": "acme", "prediction_id": predicted["prediction_id"], "label": -1}
    await service.client.post("/feedback", json=given)
    served = (await service.client.get("/tenants/acme")).json()["served"]
    assert (served["examples"], served["specificity"], served["balanced_accuracy"]) == (1, 1.0, None)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/tenants/none"),
        ("DELETE", "/tenants/none"),
        ("GET", "/tenants/none/weights"),
        ("GET", "/tenants/none/curve"),
        ("POST", "/tenants/none/snapshot"),
        ("GET", "/tenants/none/export"),
    ],
)
async def test_asking_about_a_tenant_does_not_create_it(service: Service, method: str, path: str) -> None:
    answer = await service.client.request(method, path)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-tenant")
    assert not service.tenants.tenants


@pytest.mark.parametrize("name", ["-a", "..a", "a b", "a%00", "a%0A", "%C3%A4", "x" * 129, "a:b", "a*"])
@pytest.mark.parametrize("tail", ["", "/weights", "/curve", "/export", "/snapshot", "/import"])
async def test_an_invalid_name_is_refused(service: Service, name: str, tail: str) -> None:
    method = "POST" if tail in {"/snapshot", "/import"} else "GET"
    answer = await service.client.request(method, f"http://sluice/tenants/{name}{tail}")
    assert answer.status_code == 422


async def test_a_deleted_tenant_is_gone(service: Service) -> None:
    await taught(service)
    answer = await service.client.delete("/tenants/acme")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (await service.client.get("/tenants/acme")).status_code == 404


async def test_the_list_is_paginated(service: Service) -> None:
    for name in "cabed":
        await service.client.put(f"/tenants/{name}")
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = (await service.client.get("/tenants", params=query)).json()
        seen += [each["tenant"] for each in page["tenants"]]
        if page["next"] is None:
            break
        assert len(page["tenants"]) == 2
        query["after"] = page["next"]
    assert seen == list("abcde")


async def test_a_page_that_is_just_full_has_no_next(service: Service) -> None:
    for name in "ab":
        await service.client.put(f"/tenants/{name}")
    page = (await service.client.get("/tenants", params={"limit": 2})).json()
    assert page == {
        "tenants": [{"tenant": name, "version": 0, "loaded": True} for name in "ab"], "next": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "/tenants?limit=0", "/tenants?limit=1001", "/tenants?limit=x", "/tenants?limit=", "/tenants?limit=-1",
        "/tenants?limit=1.0", "/tenants?limit=%D9%A1", "/tenants?limit=1&limit=1", "/tenants?limt=1", "/tenants?after=",
        "/tenants?after=a%00", "/tenants/acme?x=1", "/tenants/acme/weights?top=0", "/tenants/acme/weights?top=10001",
        "/tenants/acme/curve?points=1", "/tenants/acme/curve?points=162", "/tenants/acme/curve?point=9",
        "/tenants?limit=" + "9" * 5000, "/tenants?" + "&".join(f"a{i}=1" for i in range(200)),
    ],
)  # fmt: skip
async def test_a_query_that_makes_no_sense_is_refused(service: Service, path: str) -> None:
    await service.client.put("/tenants/acme")
    answer = await service.client.get(path)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/bad-input")


async def test_the_largest_weights_are_first_and_named(service: Service) -> None:
    await taught(service)
    shown = (await service.client.get("/tenants/acme/weights", params={"top": 3})).json()
    sizes = [abs(each["weight"]) for each in shown["weights"]]
    assert (shown["tenant"], shown["version"], len(sizes)) == ("acme", 4, 3)
    assert sizes == sorted(sizes, reverse=True)
    assert {each["feature"] for each in shown["weights"]} <= {"a", "b", "c", "d", "x"}


async def test_a_snapshot_is_taken(service: Service) -> None:
    await taught(service)
    shown = (await service.client.post("/tenants/acme/snapshot")).json()
    digest = service.tenants.tenants["acme"].state.digest
    assert shown == {"tenant": "acme", "version": 4, "digest": digest, "chunks": 2, "written": 1, "bytes": 1000}


async def test_an_export_that_is_imported_is_the_same_model(service: Service) -> None:
    await taught(service)
    file = await service.client.get("/tenants/acme/export")
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["content-disposition"] == 'attachment; filename="acme-v4.sluice"'
    answer = await service.client.post("/tenants/copy/import", content=file.content, headers=OCTETS)
    original = (await service.client.get("/tenants/acme")).json()
    differing = {"tenant": "copy", "memory_bytes": answer.json()["memory_bytes"]}  # rooms for names grow in steps
    assert answer.json() == original | differing
    asked = [{"tenant": name, "features": {"a": 1, "z": 2}, "keep": False} for name in ("acme", "copy")]
    scores = [(await service.client.post("/predict", json=each)).json()["score"] for each in asked]
    assert scores[0] == scores[1]


async def test_an_import_replaces_a_tenant_only_with_replace(service: Service) -> None:
    await taught(service)
    file = (await service.client.get("/tenants/acme/export")).content
    await service.client.put("/tenants/copy")
    refused = await service.client.post("/tenants/copy/import", content=file, headers=OCTETS)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/tenant-exists")
    done = await service.client.post("/tenants/copy/import?replace=true", content=file, headers=OCTETS)
    assert (done.status_code, done.json()["version"]) == (200, 4)


@pytest.mark.parametrize("replace", ["yes", "True", "1", ""])
async def test_replace_is_true_or_false(service: Service, replace: str) -> None:
    answer = await service.client.post(f"/tenants/copy/import?replace={replace}", content=b"x", headers=OCTETS)
    assert answer.status_code == 422


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x80\x04pickle", b"sluice model\n" + b"\xff" * 100])
async def test_an_invalid_model_is_refused(service: Service, data: bytes) -> None:
    answer = await service.client.post("/tenants/copy/import", content=data, headers=OCTETS)
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/bad-model")


async def test_a_model_that_is_too_large_is_refused(service: Service) -> None:
    answer = await service.client.post("/tenants/copy/import", content=b"x" * 1_000_001, headers=OCTETS)
    assert answer.status_code == 413
    assert "SLUICE_MAX_IMPORT_BYTES" in answer.json()["detail"]


async def test_json_is_refused_as_a_model(service: Service) -> None:
    assert (await service.client.post("/tenants/copy/import", json={})).status_code == 415


async def test_head_of_an_export_sends_no_file(service: Service) -> None:
    await taught(service)
    answer = await service.client.head("/tenants/acme/export")
    assert (answer.status_code, answer.content) == (200, b"")
    assert "acme-v4" in answer.headers["content-disposition"]


@pytest.mark.parametrize("path", ["/tenants", "/tenants/acme", "/tenants/acme/export"])
async def test_an_unreachable_store_gets_503(service: Service, path: str) -> None:
    service.tenants.trouble = "Redis is down"
    answer = await service.client.get(path)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
