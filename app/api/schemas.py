"""JSON Schemas of the OpenAPI document. Answers are derived from their structs; requests say more than structs can.

A request's features stay raw JSON in its struct, and "exactly one of" has no type. A test holds both together.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from app.api.inputs import ID_PATTERN, NAME_PATTERN
from app.api.key_wire import KeyIn, KeyMadeOut, KeysOut, RotationIn
from app.api.problems import ItemRefused, Problem
from app.api.wire import (
    AliveOut,
    FeaturesOut,
    FeedbackOut,
    PredictOut,
    ProblemKindOut,
    ReadyOut,
    SnapshotOut,
    TenantOut,
    TenantsOut,
    WeightsOut,
)
from app.auth.keys import NAME, PATTERN, ROLES
from app.learning.config import ALWAYS, DEFAULTS
from kernels.examples.canonical import LARGEST_VALUE
from kernels.registry import ALGORITHMS

Schema = dict[str, Any]

ANSWERS = (
    PredictOut,
    FeedbackOut,
    FeaturesOut,
    ItemRefused,
    TenantOut,
    TenantsOut,
    WeightsOut,
    SnapshotOut,
    ReadyOut,
    AliveOut,
    ProblemKindOut,
    Problem,
    KeyMadeOut,
    KeysOut,
    RotationIn,
)
REFERENCE = "#/components/schemas/{name}"

PATTERN_TOLD = f"^(?:{PATTERN.pattern})$"
TENANT: Schema = {
    "type": "string",
    "pattern": NAME_PATTERN,
    "description": "A tenant's name: 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit.",
}
ID: Schema = {"type": "string", "pattern": ID_PATTERN}
MAYBE_ID: Schema = {"type": ["string", "null"], "pattern": ID_PATTERN, "default": None}
FEATURES: Schema = {
    "type": "object",
    "description": "Feature names and their values: finite numbers; true is 1, what is false is not there, and "
    '`"a": "text"` is the feature `a=text`.',
    "minProperties": 1,
    "propertyNames": {"minLength": 1},
    "additionalProperties": {
        "anyOf": [
            {"type": "number", "minimum": -LARGEST_VALUE, "maximum": LARGEST_VALUE},
            {"type": ["boolean", "string"]},
        ]
    },
}
EMAIL: Schema = {
    "description": "A raw e-mail (RFC 822), its characters encoded as UTF-8; or its bytes as base64.",
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {"base64": {"type": "string", "contentEncoding": "base64"}},
            "required": ["base64"],
            "additionalProperties": False,
        },
    ],
}
INPUT_FIELDS: Schema = {
    "features": FEATURES,
    "url": {"type": "string", "description": "A URL, as it stands somewhere."},
    "email": EMAIL,
    "text": {"type": "string", "description": "A text that somebody wrote."},
}
EXPLAIN: Schema = {"type": "integer", "minimum": 0, "maximum": 100, "default": 0}
KEEP: Schema = {"type": "boolean", "default": True}
LABEL: Schema = {"enum": [1, -1]}
EXPLAIN_TOLD = "How many features to name that moved the score most."
KEEP_TOLD = "Whether the input is kept, so that feedback may come by prediction_id."
LABEL_TOLD = "1: an anomaly, -1: normal."
FEEDBACK_ID_TOLD = "Makes a retry harmless: the same id is learnt once."
MODERATOR_TOLD = "Who says so."
PREDICT_FIELDS: Schema = INPUT_FIELDS | {
    "explain": EXPLAIN | {"description": EXPLAIN_TOLD},
    "keep": KEEP | {"description": KEEP_TOLD},
}
FEEDBACK_FIELDS: Schema = INPUT_FIELDS | {
    "prediction_id": ID | {"description": "Stands for the input of that prediction."},
    "label": LABEL | {"description": LABEL_TOLD},
    "feedback_id": MAYBE_ID | {"description": FEEDBACK_ID_TOLD},
    "moderator": MAYBE_ID | {"description": MODERATOR_TOLD},
}


def components() -> dict[str, Schema]:
    """All schemas by name."""
    _, answers = msgspec.json.schema_components(ANSWERS, ref_template=REFERENCE)
    return dict(sorted((answers | _requests() | _batches_out()).items()))


def reference(name: str) -> Schema:
    """A pointer to one of them."""
    return {"$ref": REFERENCE.format(name=name)}


def _requests() -> dict[str, Schema]:
    predict, feedback = _predict({}), _feedback({})
    return {
        "FeaturesIn": _closed({"tenant": TENANT} | INPUT_FIELDS, required=[]) | _one_of(INPUT_FIELDS),
        "PredictIn": _predict({"tenant": TENANT}),
        "FeedbackIn": _feedback({"tenant": TENANT}),
        "PredictItem": predict,
        "FeedbackItem": feedback,
        "PredictBatchIn": _batch("PredictItem"),
        "FeedbackBatchIn": _batch("FeedbackItem"),
        "Settings": _settings(),
        "KeyIn": _key(),
    }


def _predict(first: Schema) -> Schema:
    return _closed(first | PREDICT_FIELDS, required=list(first)) | _one_of(INPUT_FIELDS)


def _feedback(first: Schema) -> Schema:
    one_input = _one_of([*INPUT_FIELDS, "prediction_id"])
    return _closed(first | FEEDBACK_FIELDS, required=[*first, "label"]) | one_input


def _one_of(fields: Iterable[str]) -> Schema:
    return {"oneOf": [{"required": [field]} for field in fields]}


def _batch(item: str) -> Schema:
    """Items are only pointed to, not enforced: a bad one is refused alone, in its place."""
    items = {"type": "array", "description": f"Each like {item}; a bad one is refused in its place.", "items": {}}
    return _closed({"tenant": TENANT, "items": items}, required=["tenant", "items"])


def _batches_out() -> dict[str, Schema]:
    return {
        f"{kind}BatchOut": {
            "type": "object",
            "description": "A result for every item, in order.",
            "properties": {
                "results": {"type": "array", "items": {"anyOf": [reference(f"{kind}Out"), reference("ItemRefused")]}}
            },
            "required": ["results"],
        }
        for kind in ("Predict", "Feedback")
    }


def _key() -> Schema:
    """The struct's, with the roles by name."""
    _, found = msgspec.json.schema_components([KeyIn], ref_template=REFERENCE)
    schema: Schema = found["KeyIn"]
    schema["properties"]["roles"] |= {"items": {"enum": list(ROLES)}, "minItems": 1}
    schema["properties"]["tenants"] |= {"items": {"type": "string", "pattern": PATTERN_TOLD}, "minItems": 1}
    schema["properties"]["name"] |= {"pattern": f"^{NAME.pattern}$"}
    return schema


def _settings() -> Schema:
    """The settings by name; which of them an algorithm has, and their ranges, the answer says in its detail."""
    kinds: dict[type, Schema] = {
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"type": "number"},
        str: {"type": "string"},
        type(None): {"type": ["number", "null"]},
    }
    fields = {name: dict(kinds[type(value)]) for name, value in DEFAULTS.items()}
    fields["algorithm"] = {"enum": list(ALGORITHMS)}
    for name in ALWAYS:
        fields[name]["description"] = "Every algorithm has it."
    return _closed(fields, required=[])


def _closed(properties: Schema, required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | {"required": required} if required else schema
