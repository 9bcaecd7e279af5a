"""What the OpenAPI document says beyond the signatures of the routes: problems, examples, bodies of the hot routes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api import problems
from app.api.authorisation import ROLE, RoleRoute
from app.api.problems import Kind
from app.api.schemas.feedback import FeedbackBatchRequest, FeedbackRequest
from app.api.schemas.inputs import FeaturesRequest
from app.api.schemas.predictions import PredictBatchRequest, PredictRequest
from app.api.schemas.problems import Problem
from app.api.schemas.review.live import LiveStateResponse

NDJSON = "application/x-ndjson"
MAIL = "message/rfc822"
BINARY = "application/octet-stream"
REFERENCE = "#/components/schemas/{model}"
BINARY_SCHEMA = {"type": "string", "format": "binary"}
EVENT_SCHEMA = {
    "type": "object",
    "description": "An event: its fields are lines of text.",
    "properties": {
        "event": {"const": "state"},
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/LiveStateResponse"},
        },
        "retry": {"type": "integer", "description": "Milliseconds until a browser connects again."},
    },
    "required": ["event", "data"],
}
LINES_SCHEMA = {"type": "string", "description": "A line of JSON for each item, in and out, in order."}
MODELS: tuple[type[BaseModel], ...] = (  # of bodies that FastAPI does not read or write itself
    PredictRequest,
    PredictBatchRequest,
    FeedbackRequest,
    FeedbackBatchRequest,
    FeaturesRequest,
    LiveStateResponse,
    Problem,
)

UNHINDERED = "health"  # the tag of routes that are never refused because of load
EVERY_ROUTE = (problems.HEAD_TOO_LARGE, problems.INTERNAL_ERROR)
LIMITED = (problems.TOO_MANY_REQUESTS, problems.OVERLOADED, problems.STOPPING)
WITH_ROLE = (
    problems.UNAUTHENTICATED,
    problems.FORBIDDEN,
    problems.TOO_MANY_REQUESTS,
    problems.TOO_MANY_CONCURRENT_REQUESTS,
    problems.KEYS_UNREAD,
)
WITH_BODY = (
    problems.TOO_SLOW,
    problems.TOO_LARGE,
    problems.WRONG_CONTENT_TYPE,
    problems.MALFORMED_JSON,
    problems.BAD_INPUT,
)
WITH_TENANT = (problems.UNKNOWN_TENANT, problems.BAD_INPUT, problems.STORE_UNAVAILABLE, problems.TENANT_DAMAGED)
USING_TENANT = (
    problems.UNKNOWN_TENANT,
    problems.TOO_MANY_TENANTS,
    problems.STORE_UNAVAILABLE,
    problems.STORE_UNUSABLE,
    problems.LOG_REPLACED,
    problems.TENANT_DAMAGED,
)

Responses = dict[int | str, dict[str, Any]]


def refusals(*kinds: Kind) -> Responses:
    """Return the problems of a route, as `responses=` takes them: one answer for each status."""
    by_status: dict[int, list[Kind]] = {}
    for kind in dict.fromkeys(kinds):
        by_status.setdefault(kind.status, []).append(kind)
    return {status: _refusal(some) for status, some in sorted(by_status.items())}


def example(value: object, status: int = 200, content_type: str = "application/json") -> Responses:
    """Return an example of an answer, as `responses=` takes it."""
    return {status: {"content": {content_type: {"examples": {"answer": {"value": value}}}}}}


def answer_in(*contents: Mapping[str, Any]) -> Responses:
    """Return the forms of an answer, as `responses=` takes them."""
    return {200: {"content": {name: value for each in contents for name, value in each.items()}}}


def json_body(examples: Mapping[str, object], model: type[BaseModel] | None = None) -> dict[str, Any]:
    """Return a JSON body with examples. FastAPI adds the schema, unless it does not read the body itself."""
    content: dict[str, Any] = {"examples": {name: {"value": value} for name, value in examples.items()}}
    if model is not None:
        content["schema"] = {"$ref": REFERENCE.format(model=model.__name__)}
    return {"application/json": content}


def other_body(content_type: str, schema: Mapping[str, object], value: object) -> dict[str, Any]:
    """Return a body that is not JSON, with an example."""
    return {content_type: {"schema": dict(schema), "examples": {"body": {"value": value}}}}


def body(*contents: Mapping[str, Any], parameters: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return `openapi_extra` of a route whose body FastAPI does not read itself."""
    content = {name: value for each in contents for name, value in each.items()}
    extra: dict[str, Any] = {"requestBody": {"required": True, "content": content}}
    return extra | ({"parameters": [dict(each) for each in parameters]} if parameters else {})


def parameter(name: str, schema: Mapping[str, object], description: str, where: str = "query") -> dict[str, Any]:
    """Return an optional parameter of a hot route. It has no default and no example: Swagger UI would send them."""
    return {"name": name, "in": where, "required": False, "schema": dict(schema), "description": description}


def complete(document: dict[str, Any], routes: Iterable[RoleRoute]) -> dict[str, Any]:
    """Add what FastAPI cannot know: the models of the hot routes, and what every route answers."""
    _, schemas = models_json_schema([(model, "validation") for model in MODELS], ref_template=REFERENCE)
    known = document["components"]["schemas"] | schemas["$defs"]
    document["components"]["schemas"] = {name: known[name] for name in sorted(known) if "ValidationError" not in name}
    for route in routes:
        for method in route.methods if route.include_in_schema else ():
            operation = document["paths"][route.path][method.lower()]
            for status, answer in route.responses.items():  # FastAPI leaves out the nulls of examples
                for name, content in answer.get("content", {}).items():
                    operation["responses"][str(status)]["content"][name]["examples"] = content["examples"]
            usual = (
                *(WITH_BODY if "requestBody" in operation else ()),
                *(WITH_ROLE if ROLE in operation else ()),
                *(LIMITED if UNHINDERED not in operation["tags"] else ()),
                *EVERY_ROUTE,
            )
            if "HTTPValidationError" in str(operation["responses"].get("422")):  # a path parameter that is any text
                del operation["responses"]["422"]
            _merge(operation["responses"], refusals(*usual))
            operation["responses"] = dict(sorted(operation["responses"].items()))
            for answer in operation["responses"].values():
                answer["headers"] = {"X-Request-ID": _REQUEST_ID} | answer.get("headers", {})
    return document


def _merge(answers: dict[str, Any], usual: Responses) -> None:
    for status, answer in usual.items():
        found = answers.setdefault(str(status), answer)
        if found is answer or "application/problem+json" not in found.get("content", {}):
            continue
        examples = found["content"]["application/problem+json"]["examples"]
        examples |= answer["content"]["application/problem+json"]["examples"]
        titles = dict.fromkeys(each["value"]["title"] for each in examples.values())
        found["description"] = " or ".join(titles) + "."
        found["headers"] = found.get("headers", {}) | answer.get("headers", {})


def _refusal(kinds: Sequence[Kind]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": " or ".join(kind.title for kind in kinds) + ".",
        "content": {
            "application/problem+json": {
                "schema": {"$ref": REFERENCE.format(model="Problem")},
                "examples": {kind.name: {"value": _example(kind)} for kind in kinds},
            }
        },
    }
    headers = {"Retry-After": _RETRY_AFTER} if any(kind.retry_after is not None for kind in kinds) else {}
    return answer | {"headers": headers | (_RATE_LIMIT if problems.TOO_MANY_REQUESTS in kinds else {})}


def _example(kind: Kind) -> dict[str, Any]:
    return {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": "a sentence that says what to correct",
        "request_id": "9f2c41d07a6b-2a",
        "instance": "/predict",
    }


_REQUEST_ID = {"description": "The client's own id, or a generated one.", "schema": {"type": "string"}}
_RETRY_AFTER = {"description": "Seconds until a retry makes sense.", "schema": {"type": "integer"}}
_RATE_LIMIT = {
    f"RateLimit-{name}": {"description": f"{text}, if there is a limit.", "schema": {"type": "integer"}}
    for name, text in (
        ("Limit", "Requests per second that a caller may send"),
        ("Remaining", "Requests that are left now"),
        ("Reset", "Seconds until all are available again"),
    )
}
