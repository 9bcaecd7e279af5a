"""What schemathesis must know to talk to us: how a value becomes lines of JSON, or a mail."""

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_: object, value: Any) -> bytes:  # noqa: ANN401 - whatever it made up
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@schemathesis.serializer("message/rfc822")
def mail(_: object, value: Any) -> bytes:  # noqa: ANN401 - whatever it made up
    raw = getattr(value, "data", value)  # of what stands for bytes
    return raw if isinstance(raw, bytes) else str(raw).encode("utf-8", "replace")


@schemathesis.hook
def before_call(_: object, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
    """Say what the document cannot: the query is for mails alone, and whatever bytes come as a mail are one."""
    del kwargs
    if case.operation.path in {"/predict", "/feedback", "/features"} and case.media_type == "application/json":
        case.query = {}
    elif case.media_type == "message/rfc822" and not isinstance(case.body, str | bytes):
        case.body = str(case.body)
