"""What Pydantic found wrong with a body or a parameter, in a sentence for the client."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.learning.errors import short_repr

MOST_ERRORS = 3  # of a body, that one detail names
PYDANTIC_WORDS = {  # where Pydantic speaks of Python
    "list_type": "must be an array",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
}
PYDANTIC_SUBJECT = re.compile(r"^\w+ should ")  # Input, String, List, ...


def validation_detail(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return what Pydantic found wrong: the place, the value and what is allowed.

    A field with a wrong name is both unknown and missing, so this names several errors, the unknown fields first.
    """
    first = sorted(errors, key=lambda error: error["type"] != "extra_forbidden")[:MOST_ERRORS]
    return "; ".join(_validation_sentence(error) for error in first)


def _validation_sentence(error: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in error["loc"][1:]) or "the body"
    if error["type"] == "missing":
        return f"{place} is missing"
    if error["type"] == "extra_forbidden":
        return f"{short_repr(place)} is not a known field"
    given = f"{place} is {short_repr(error['input'])}"
    if error["type"] == "value_error":  # a sentence of our own
        return f"{given}: {error['msg'].removeprefix('Value error, ')}"
    said = PYDANTIC_SUBJECT.sub("must ", error["msg"])
    return f"{given}: it {PYDANTIC_WORDS.get(error['type'], said)}"
