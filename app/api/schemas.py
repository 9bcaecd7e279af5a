"""JSON Schemas of the OpenAPI document. Answers are derived from their structs; requests say more than structs can.

A request's features stay raw JSON in its struct, and "exactly one of" has no type. A test holds both together.
"""

from typing import Any

import msgspec

from app.api.inputs import ID_PATTERN, NAME_PATTERN
from app.api.problems import ItemRefused, Problem
from app.api.wire import (
    AliveOut,
    FeedbackOut,
    PredictOut,
    ProblemKindOut,
    ReadyOut,
    SnapshotOut,
    TenantOut,
    TenantsOut,
    WeightsOut,
)
from app.learning.config import ALWAYS, DEFAULTS
from kernels.examples import LARGEST_VALUE
from kernels.registry import ALGORITHMS

Schema = dict[str, Any]

ANSWERS = (
    PredictOut,
    FeedbackOut,
    ItemRefused,
    TenantOut,
    TenantsOut,
    WeightsOut,
    SnapshotOut,
    ReadyOut,
    AliveOut,
    ProblemKindOut,
    Problem,
)
REFERENCE = "#/components/schemas/{name}"

TENANT: Schema = {
    "type": "string",
    "pattern": NAME_PATTERN,
    "description": "A tenant's name: 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit.",
}
ID: Schema = {"type": "string", "pattern": ID_PATTERN}
MAYBE_ID: Schema = {"type": ["string", "null"], "pattern": ID_PATTERN, "default": None}
FEATURES: Schema = {
    "type": "object",
    "description": "Feature names and their values. Numbers must be finite.",
    "minProperties": 1,
    "propertyNames": {"minLength": 1},
    "additionalProperties": {"type": "number", "minimum": -LARGEST_VALUE, "maximum": LARGEST_VALUE},
}
PREDICT_FIELDS: Schema = {
    "features": FEATURES,
    "explain": {
        "type": "integer",
        "minimum": 0,
        "maximum": 100,
        "default": 0,
        "description": "How many features to name that moved the score most.",
    },
    "keep": {
        "type": "boolean",
        "default": True,
        "description": "Whether the input is kept, so that feedback may come by prediction_id.",
    },
}
FEEDBACK_FIELDS: Schema = {
    "features": FEATURES,
    "prediction_id": ID | {"description": "Stands for the input of that prediction."},
    "label": {"enum": [1, -1], "description": "1: an anomaly, -1: normal."},
    "feedback_id": MAYBE_ID | {"description": "Makes a retry harmless: the same id is learnt once."},
    "moderator": MAYBE_ID | {"description": "Who says so."},
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
        "PredictIn": _predict({"tenant": TENANT}),
        "FeedbackIn": _feedback({"tenant": TENANT}),
        "PredictItem": predict,
        "FeedbackItem": feedback,
        "PredictBatchIn": _batch("PredictItem"),
        "FeedbackBatchIn": _batch("FeedbackItem"),
        "Settings": _settings(),
    }


def _predict(first: Schema) -> Schema:
    return _closed(first | PREDICT_FIELDS, required=[*first, "features"])


def _feedback(first: Schema) -> Schema:
    one_input = {"oneOf": [{"required": ["features"]}, {"required": ["prediction_id"]}]}
    return _closed(first | FEEDBACK_FIELDS, required=[*first, "label"]) | one_input


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
