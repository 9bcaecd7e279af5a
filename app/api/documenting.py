"""How a route is described in the OpenAPI document."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import BaseRoute

from app.api import problems
from app.api.problems import Kind
from app.api.schemas import ID, TENANT, Schema, reference

JSON = "application/json"
NDJSON = "application/x-ndjson"
MAIL = "message/rfc822"
BINARY = "application/octet-stream"
PROBLEM = "application/problem+json"
ROLE = "x-sluice-role"  # the role that a route needs; without one everybody may ask
SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"header": []}]
HEALTH = "health"  # the tag of routes that are never refused for what others do
ALWAYS = (problems.HEAD_TOO_LARGE, problems.INTERNAL_ERROR)
LIMITED = (problems.TOO_MANY_REQUESTS, problems.OVERLOADED)
WITH_ROLE = (problems.UNAUTHENTICATED, problems.FORBIDDEN, problems.TOO_MANY_REQUESTS, problems.KEYS_UNREAD)
WITH_BODY = (
    problems.TOO_SLOW,
    problems.TOO_LARGE,
    problems.WRONG_CONTENT_TYPE,
    problems.MALFORMED_JSON,
    problems.BAD_INPUT,
)


@dataclass(frozen=True, slots=True)
class Body:
    """A form of a body: its type, its schema, and an example (or several, by name)."""

    schema: Schema
    examples: dict[str, Any]
    content_type: str = JSON

    def content(self) -> dict[str, Any]:
        """The form as OpenAPI writes it."""
        examples = {name: {"value": value} for name, value in self.examples.items()}
        return {self.content_type: {"schema": self.schema, "examples": examples}}


def json_body(name: str, **examples: Any) -> Body:  # noqa: ANN401 - an example is any JSON
    """A body of one of our schemas."""
    return Body(reference(name), examples)


def documented(  # noqa: PLR0913 - all of them by name, and only here
    operation_id: str,
    summary: str,
    description: str,
    *,
    tag: str,
    role: str | None,
    answers: dict[int, tuple[str, Sequence[Body]]],
    refusals: Sequence[Kind] = (),
    body: Sequence[Body] = (),
    body_required: bool = True,
    parameters: Sequence[Schema] = (),
) -> dict[str, Any]:
    """What a route's decorator takes."""
    extra: dict[str, Any] = {} if role is None else {ROLE: role, "security": SECURITY}
    usual = (*(WITH_BODY if body else ()), *(WITH_ROLE if role else ()), *(LIMITED if tag != HEALTH else ()), *ALWAYS)
    if body:
        extra["requestBody"] = {"required": body_required, "content": _contents(body)}
    if parameters:
        extra["parameters"] = list(parameters)
    return {
        "operation_id": operation_id,
        "summary": summary,
        "description": description,
        "tags": [tag],
        "status_code": next(iter(answers)),
        "response_class": Response,
        "responses": {status: _answer(*answer) for status, answer in answers.items()} | _refusals((*refusals, *usual)),
        "openapi_extra": extra,
    }


def paths(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """All routes that are documented, by address and method."""
    found: dict[str, Any] = {}
    for route in routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in sorted(route.methods or ()):
                found.setdefault(route.path_format, {})[method.lower()] = _operation(route)
    return found


def _operation(route: APIRoute) -> dict[str, Any]:
    told = {
        "operationId": route.operation_id,
        "summary": route.summary,
        "description": route.description,
        "tags": route.tags,
    }
    responses = {str(status): answer for status, answer in sorted(route.responses.items(), key=str)}
    return told | (route.openapi_extra or {}) | {"responses": responses}


def parameter(name: str, schema: Schema, description: str, *, where: str = "query", example: object = None) -> Schema:
    """A parameter of a route."""
    told = {"name": name, "in": where, "required": where == "path", "schema": schema, "description": description}
    return told if example is None else told | {"example": example}


TENANT_IN_PATH = parameter("tenant", TENANT, "The tenant's name.", where="path", example="acme")
TENANT_IN_QUERY = parameter("tenant", TENANT, "For NDJSON: the tenant of all lines, which they may then leave out.")
MAIL_TENANT = parameter("tenant", TENANT, "For message/rfc822: whose model is asked.")
KEY_IN_HEADER = parameter("Idempotency-Key", ID, "Stands for feedback_id where the body has none.", where="header")


def _answer(description: str, bodies: Sequence[Body]) -> dict[str, Any]:
    told: dict[str, Any] = {"description": description, "headers": {"X-Request-ID": _REQUEST_ID}}
    return told | {"content": _contents(bodies)} if bodies else told


def _contents(bodies: Sequence[Body]) -> dict[str, Any]:
    return {kind: form for body in bodies for kind, form in body.content().items()}


def _refusals(kinds: Sequence[Kind]) -> dict[int, dict[str, Any]]:
    """One answer for each status, with every problem that has it as an example."""
    by_status: dict[int, list[Kind]] = {}
    for kind in dict.fromkeys(kinds):
        by_status.setdefault(kind.status, []).append(kind)
    return {status: _refusal(some) for status, some in sorted(by_status.items())}


def _refusal(kinds: Sequence[Kind]) -> dict[str, Any]:
    body = Body(reference("Problem"), {kind.name: _example(kind) for kind in kinds}, PROBLEM)
    told = _answer(" or ".join(kind.title for kind in kinds) + ".", [body])
    if any(kind.retry_after is not None for kind in kinds):
        told["headers"] = told["headers"] | {"Retry-After": _RETRY_AFTER}
    if problems.TOO_MANY_REQUESTS in kinds:
        told["headers"] = told["headers"] | _RATE_LIMIT
    return told


def _example(kind: Kind) -> dict[str, Any]:
    return {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": "a sentence that names the culprit",
        "request_id": "9f2c41d07a6b-2a",
        "instance": "/predict",
    }


_REQUEST_ID = {"description": "The client's own, or one of ours.", "schema": {"type": "string"}}
_RETRY_AFTER = {"description": "Seconds until a retry makes sense.", "schema": {"type": "integer"}}
_RATE_LIMIT = {
    f"RateLimit-{name}": {"description": f"{told}, where there is a limit.", "schema": {"type": "integer"}}
    for name, told in (
        ("Limit", "Requests that a caller may make in a second"),
        ("Remaining", "Those that are left now"),
        ("Reset", "Seconds until all are there again"),
    )
}
