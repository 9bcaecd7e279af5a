"""The OpenAPI document and the page that shows it."""

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from fastapi import FastAPI

from app.api import examples
from app.api.fast_path.messages import FeedbackMessage, Input, PredictMessage
from app.learning.config import DEFAULTS
from tests.api.conftest import Service, new_app

DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(new_app().openapi()))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    f"{method} {path}": operation
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
each_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
ROUTES = {
    "post /predict", "post /feedback", "post /predict/batch", "post /feedback/batch", "get /tenants",
    "put /tenants/{tenant}", "get /tenants/{tenant}", "delete /tenants/{tenant}", "get /tenants/{tenant}/weights",
    "post /tenants/{tenant}/snapshot", "get /tenants/{tenant}/export", "post /tenants/{tenant}/import",
    "post /tenants/{tenant}/retract", "get /tenants/{tenant}/labels", "get /audit", "get /predictions/{prediction_id}",
    "get /deleted/{tenant}", "post /deleted/{tenant}/restore",
    "post /tenants/{tenant}/whatif", "get /tenants/{tenant}/review", "post /tenants/{tenant}/review/{prediction_id}",
    "get /tenants/{tenant}/curve", "get /predictions/{prediction_id}/similar",
    "get /tenants/{tenant}/moderators", "get /tenants/{tenant}/second-reviews",
    "post /tenants/{tenant}/second-reviews/{prediction_id}",
    "get /tenants/{tenant}/timeline", "get /tenants/{tenant}/events",
    "post /tenants/{tenant}/explain", "get /settings",
    "get /overview",
    "post /features", "get /livez", "get /readyz", "get /metrics", "get /problems", "get /problems/{name}",
    "post /keys", "get /keys", "delete /keys/{key}", "post /keys/{key}/rotate",
    "post /session", "get /session", "delete /session",
}  # fmt: skip


def test_every_route_of_the_contract_exists() -> None:
    assert OPERATIONS.keys() == ROUTES
    assert DOCUMENT["openapi"].startswith("3.1")


def test_every_reference_leads_somewhere() -> None:
    found = list(references(DOCUMENT))
    assert found
    assert {each.removeprefix("#/components/schemas/") for each in found} <= SCHEMAS.keys()


def test_every_schema_is_used() -> None:
    assert {each.removeprefix("#/components/schemas/") for each in references(DOCUMENT)} == SCHEMAS.keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_a_schema(name: str) -> None:
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema"} | SCHEMAS[name])


@each_operation
def test_a_route_is_described(operation: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z_]+", operation["operationId"])
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]


@each_operation
def test_every_body_has_examples_that_fit_its_schema(operation: dict[str, Any]) -> None:
    for form in bodies(operation):
        assert form["examples"]
        for example in form["examples"].values():
            validator(form["schema"]).validate(example["value"])


@each_operation
def test_every_refusal_is_a_problem(operation: dict[str, Any]) -> None:
    for status, answer in operation["responses"].items():
        if status >= "400" and operation["operationId"] != "is_ready":
            assert answer["content"].keys() == {"application/problem+json"}


def test_operation_ids_are_unique() -> None:
    assert len({operation["operationId"] for operation in OPERATIONS.values()}) == len(OPERATIONS)


@pytest.mark.parametrize(
    ("name", "struct"),
    [("PredictRequest", PredictMessage), ("FeedbackRequest", FeedbackMessage), ("FeaturesRequest", Input)],
    ids=["PredictRequest", "FeedbackRequest", "FeaturesRequest"],
)
def test_a_request_s_schema_has_the_fields_of_its_struct(name: str, struct: type[Input]) -> None:
    assert SCHEMAS[name]["properties"].keys() == set(struct.__struct_fields__)


def test_every_setting_is_in_the_schema() -> None:
    assert SCHEMAS["TenantSettings"]["properties"].keys() == DEFAULTS.keys() - {"target_value"}


@pytest.mark.anyio
async def test_answers_to_example_requests_match_the_schema(service: Service) -> None:
    for route, body, shape in (
        ("/predict", examples.PREDICT, "PredictResponse"),
        ("/predict", examples.PREDICT_URL, "PredictResponse"),
        ("/predict", examples.PREDICT_EMAIL, "PredictResponse"),
        ("/predict", examples.PREDICT_EMAIL_BYTES, "PredictResponse"),
        ("/predict", examples.PREDICT_TEXT, "PredictResponse"),
        ("/features", examples.FEATURES_OF_URL, "FeaturesResponse"),
        ("/feedback", examples.FEEDBACK, "FeedbackResponse"),
        ("/feedback", examples.FEEDBACK_URL, "FeedbackResponse"),
        ("/predict/batch", examples.PREDICT_BATCH, "PredictBatchResponse"),
        ("/feedback/batch", examples.FEEDBACK_BATCH, "FeedbackBatchResponse"),
    ):
        answer = await service.client.post(route, json=body)
        assert answer.status_code == 200, route
        validator({"$ref": f"#/components/schemas/{shape}"}).validate(answer.json())
    shown = await service.client.put("/tenants/acme", json=examples.SETTINGS)
    validator({"$ref": "#/components/schemas/TenantResponse"}).validate(shown.json())


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/predict", "/feedback", "/features", "/predict/batch", "/feedback/batch"])
async def test_the_first_example_of_the_page_is_answered_unchanged(service: Service, path: str) -> None:
    operation = OPERATIONS[f"post {path}"]
    assert next(iter(operation["requestBody"]["content"])) == "application/json", "the form that Swagger UI chooses"
    first = next(iter(operation["requestBody"]["content"]["application/json"]["examples"].values()))
    query = {}
    for parameter in operation.get("parameters", []):  # Swagger UI fills in defaults and examples, and sends them
        prefilled = [
            each[key] for each in (parameter, parameter["schema"]) for key in ("default", "example") if key in each
        ]
        if prefilled and parameter["in"] == "query":
            query[parameter["name"]] = prefilled[0]
    answer = await service.client.post(path, params=query, json=first["value"])
    assert answer.status_code == 200, answer.text


def test_no_request_is_a_choice_of_schemas_that_generators_turn_into_any() -> None:
    for operation in OPERATIONS.values():
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        if schema is not None:
            named = SCHEMAS[schema["$ref"].rpartition("/")[2]]
            assert named["type"] == "object"
            assert not {"oneOf", "anyOf", "allOf"} & named.keys()


@pytest.mark.anyio
async def test_the_page_needs_no_other_host(service: Service) -> None:
    page = (await service.client.get("/docs")).text
    assert "https://" not in page
    assets = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert len(assets) == 2
    for asset in assets:
        assert (await service.client.get(asset)).status_code == 200
    assert (await service.client.get("/openapi.json")).json() == DOCUMENT


@pytest.mark.anyio
async def test_a_browser_runs_the_scripts_of_the_page_alone_and_shows_it_in_no_other_page(service: Service) -> None:
    answer = await service.client.get("/docs")
    (script,) = re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"default-src 'none'; script-src 'self' 'sha256-{digest}';" in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (await service.client.get("/livez")).headers["x-content-type-options"] == "nosniff"


@pytest.mark.anyio
async def test_no_other_page_may_ask(service: Service) -> None:
    answer = await service.client.post(
        "/predict", json=examples.PREDICT, headers={"Origin": "https://elsewhere.example"}
    )
    assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_two_applications_have_the_same_document(app: FastAPI) -> None:
    assert msgspec.json.encode(app.openapi()) == msgspec.json.encode(DOCUMENT)


def references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for each in part.values():
            yield from references(each)
    elif isinstance(part, list):
        for each in part:
            yield from references(each)


def bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for answer in operation["responses"].values():
        yield from answer.get("content", {}).values()


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema | {"components": DOCUMENT["components"]})
