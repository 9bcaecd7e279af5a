"""The OpenAPI document is compatible with the previous one: same paths, methods, parameters, fields and statuses.

tests/fixtures/openapi.json is the document of before the routes became plain FastAPI routes. Intended differences:

- Schemas have the names of their Pydantic models (PredictRequest for PredictIn, PredictResponse for PredictOut).
- `oneOf` is gone from the bodies with exactly one input: generators turn it into a body of any type.
- The query parameters of the hot routes have no defaults: Swagger UI would send them with JSON, which is refused.
- The items of a batch are typed (INTENDED, below).
- POST /tenants/{tenant}/retract, GET /tenants/{tenant}/labels, GET /predictions/{prediction_id} and GET /audit are new.
  A tenant shows `rebuilding`.
- GET /deleted/{tenant} and POST /deleted/{tenant}/restore are new, `purge` of DELETE /tenants/{tenant},
  and `log` of GET /tenants/{tenant}/export.
- POST, GET and DELETE /session are new.
- POST /tenants/{tenant}/whatif, GET /tenants/{tenant}/curve, POST /tenants/{tenant}/explain and GET /settings are new.
  A tenant shows `honest` figures and its `target`.
- A key has `made_by`, `moderator` and `speaks_for_others`, and is created with the latter two.
- A prediction has `probability`; a tenant has `health` and the `threshold` in force.
- Feedback says which earlier label of the prediction it `replaced`.
- A prediction has a `review_reason` if a person should look at it, and feedback the probability (`chosen_with`) with
  which the review policy chose its prediction.
- New settings of a tenant: `objective`, `numbers`, `keep_inputs`, `target`, `review_...` and `reviews_per_day`;
  `threshold` may be `auto`.
- Texts: titles, summaries, descriptions, examples.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.api.conftest import new_app
from tests.services import ROOT

Document = dict[str, Any]
OLD: Document = json.loads((ROOT / "tests" / "fixtures" / "openapi.json").read_text(encoding="utf-8"))
NEW: Document = msgspec.json.decode(msgspec.json.encode(new_app().openapi()))
OPERATIONS = [(path, method) for path, methods in OLD["paths"].items() for method in methods]
each_operation = pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=[f"{m} {p}" for p, m in OPERATIONS])

ADDED = {
    "/tenants/{tenant}/retract": {"post"},
    "/tenants/{tenant}/labels": {"get"},
    "/predictions/{prediction_id}": {"get"},
    "/deleted/{tenant}": {"get"},
    "/deleted/{tenant}/restore": {"post"},
    "/tenants/{tenant}/whatif": {"post"},
    "/tenants/{tenant}/review": {"get"},
    "/tenants/{tenant}/review/{prediction_id}": {"post"},
    "/tenants/{tenant}/moderators": {"get"},
    "/tenants/{tenant}/second-reviews": {"get"},
    "/tenants/{tenant}/second-reviews/{prediction_id}": {"post"},
    "/tenants/{tenant}/curve": {"get"},
    "/tenants/{tenant}/timeline": {"get"},
    "/tenants/{tenant}/events": {"get"},
    "/tenants/{tenant}/explain": {"post"},
    "/settings": {"get"},
    "/overview": {"get"},
    "/audit": {"get"},
    "/session": {"post", "get", "delete"},
    "/predictions/{prediction_id}/similar": {"get"},
}
NEW_PARAMETERS = {
    ("/tenants/{tenant}", "delete"): {("purge", "query", False)},
    ("/tenants/{tenant}/export", "get"): {("log", "query", False)},
}
# Fields that differ on purpose, by their place.
INTENDED = {
    # The items of a batch are typed, so that a generated client has models for them. They are still checked one by one.
    "post /predict/batch request application/json .items[]",
    "post /feedback/batch request application/json .items[]",
    # A key ends with the key that made it.
    "get /keys 200 application/json .keys[].made_by",
    "post /keys 201 application/json .key.made_by",
    "post /keys/{key}/rotate 201 application/json .key.made_by",
    # A key can carry a moderator's name.
    *(
        f"{place}.{field}"
        for place in (
            "post /keys request application/json ",
            "get /keys 200 application/json .keys[]",
            "post /keys 201 application/json .key",
            "post /keys/{key}/rotate 201 application/json .key",
        )
        for field in ("moderator", "speaks_for_others")
    ),
    # A score comes with its probability.
    "post /predict 200 application/json .probability",
    "post /predict/batch 200 application/json .results[].probability",
    # A second label for a prediction replaces the first.
    "post /feedback 200 application/json .replaced",
    "post /feedback/batch 200 application/json .results[].replaced",
    # A weight is worded.
    "get /tenants/{tenant}/weights 200 application/json .weights[].text",
    # A threshold may be learnt, and a tenant says whether it is any good.
    "put /tenants/{tenant} request application/json .threshold",
    "put /tenants/{tenant} request application/json .keep_inputs",
    "put /tenants/{tenant} request application/json .objective",
    *(
        f"{operation} application/json .{field}"
        for operation in ("get /tenants/{tenant} 200", "put /tenants/{tenant} 200", "post /tenants/{tenant}/import 200")
        for field in ("health", "threshold", "rebuilding", "honest", "target", "review")
    ),
    # A review policy chooses predictions with a known probability.
    "post /predict 200 application/json .review_reason",
    "post /predict/batch 200 application/json .results[].review_reason",
    "post /feedback 200 application/json .chosen_with",
    "post /feedback/batch 200 application/json .results[].chosen_with",
    # Settings that were added.
    "put /tenants/{tenant} request application/json .target",
    "put /tenants/{tenant} request application/json .numbers",
    "put /tenants/{tenant} request application/json .review_",
    "put /tenants/{tenant} request application/json .reviews_per_day",
}


def test_there_are_the_same_paths_and_methods() -> None:
    found = {path: set(methods) for path, methods in NEW["paths"].items()}
    assert found == {path: set(methods) for path, methods in OLD["paths"].items()} | ADDED


@each_operation
def test_an_operation_has_the_same_name_role_and_tags(path: str, method: str) -> None:
    for field in ("operationId", "tags", "x-sluice-role", "security"):
        assert NEW["paths"][path][method].get(field) == OLD["paths"][path][method].get(field), field


@each_operation
def test_an_operation_has_the_same_parameters(path: str, method: str) -> None:
    def parameters(document: Document) -> set[tuple[str, str, bool]]:
        given = document["paths"][path][method].get("parameters", [])
        return {(each["name"], each["in"], each.get("required", False)) for each in given}

    assert parameters(NEW) == parameters(OLD) | NEW_PARAMETERS.get((path, method), set())


@each_operation
def test_an_operation_takes_the_same_bodies(path: str, method: str) -> None:
    old, new = (document["paths"][path][method].get("requestBody") for document in (OLD, NEW))
    assert (old is None) == (new is None)
    if old is None or new is None:
        return
    assert new.get("required", False) == old.get("required", False)
    compare(f"{method} {path} request", content_of(old), content_of(new))


@each_operation
def test_an_operation_has_the_same_answers(path: str, method: str) -> None:
    old, new = (document["paths"][path][method]["responses"] for document in (OLD, NEW))
    assert new.keys() == old.keys()
    for status in old:
        place = f"{method} {path} {status}"
        compare(place, content_of(old[status]), content_of(new[status]))
        assert new[status].get("headers", {}).keys() == old[status].get("headers", {}).keys(), place


def content_of(part: Document) -> dict[str, Document]:
    return {name: each["schema"] for name, each in part.get("content", {}).items()}


def compare(place: str, old: dict[str, Document], new: dict[str, Document]) -> None:
    assert new.keys() == old.keys(), place
    for name, schema in old.items():
        was, now = dict(shape(OLD, schema)), dict(shape(NEW, new[name]))
        differing = {f"{place} {name} {field}" for field in was.keys() | now.keys() if was.get(field) != now.get(field)}
        assert {each for each in differing if not any(each.startswith(known) for known in INTENDED)} == set()


def shape(document: Document, schema: Document, place: str = "") -> Iterator[tuple[str, object]]:
    """Every field of a schema, with its types and whether it is required."""
    schema = resolved(document, schema)
    yield place, sorted(types(document, schema))
    for branch in schema.get("anyOf", [schema]):
        branch = resolved(document, branch)  # noqa: PLW2901
        if "items" in branch:
            yield from shape(document, branch["items"], f"{place}[]")
        for name, field in branch.get("properties", {}).items():
            yield f"{place}.{name} required", name in branch.get("required", [])
            yield from shape(document, field, f"{place}.{name}")
        if "properties" in branch and "request" not in place:
            yield f"{place} closed", branch.get("additionalProperties") is False


def types(document: Document, schema: Document) -> set[str]:
    """The JSON types that a schema allows."""
    schema = resolved(document, schema)
    if "anyOf" in schema:
        return {each for branch in schema["anyOf"] for each in types(document, branch)}
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return {"string" if isinstance(value, str) else "integer" for value in values}
    found = schema.get("type", [])
    return set(found) if isinstance(found, list) else {found}


def resolved(document: Document, schema: Document) -> Document:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema
