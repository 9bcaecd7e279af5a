"""What schemathesis must know to talk to us: how a value becomes lines of JSON."""

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_: object, value: Any) -> bytes:  # noqa: ANN401 - whatever it made up
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)
