"""What schemathesis must know to talk to us: how a value becomes lines of JSON, or a mail."""

import json
import os
from typing import Any

import schemathesis

ROLE = os.environ.get("ROLE_OF_KEY")  # of the key that is sent along, if there is one


@schemathesis.serializer("application/x-ndjson")
def lines(_: object, value: Any) -> bytes:  # noqa: ANN401 - whatever it made up
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@schemathesis.serializer("message/rfc822")
def mail(_: object, value: Any) -> bytes:  # noqa: ANN401 - whatever it made up
    raw = getattr(value, "data", value)  # schemathesis wraps bytes
    return raw if isinstance(raw, bytes) else str(raw).encode("utf-8", "replace")


@schemathesis.hook
def before_call(_: object, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """Say what the document cannot: the query is for mails alone, and whatever bytes come as a mail are one."""
    del kwargs
    if case.operation.path in {"/predict", "/feedback", "/features"} and case.media_type == "application/json":
        case.query = {}
    elif case.operation.path == "/tenants/{tenant}/events":
        case.query = {"limit": 1} | (case.query or {})  # by itself a stream has no end
    elif case.media_type == "message/rfc822" and not isinstance(case.body, str | bytes):
        case.body = str(case.body)


if ROLE:

    @schemathesis.check
    def only_its_role_answers(_: object, response: Any, case: Any) -> None:  # noqa: ANN401 - types of schemathesis
        """A key with one role is refused by every route that needs another."""
        needed = case.operation.definition.raw.get("x-sluice-role")
        if needed not in {None, ROLE} and response.request.method != "OPTIONS":
            assert response.status_code in {401, 403, 405}, f"{needed} is needed, and {ROLE} was answered"
