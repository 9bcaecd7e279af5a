"""Why msgspec refuses a body, in words for the client: what is wrong, where, and what is allowed."""

import re
from typing import Any, Final

from app.learning.errors import short_repr

ALLOWED: Final = {  # by field; `tests/api/fast_path/test_decode_errors.py` compares it with the messages
    "tenant": "a string, the name of a tenant",
    "features": "an object of names and values",
    "found": "an object of names and values",  # only in kept predictions
    "url": "a string",
    "email": 'a string or {"base64": "..."}',
    "base64": "a string, the e-mail as base64",
    "text": "a string",
    "explain": "a whole number from 0 to 100",
    "keep": "true or false",
    "label": "1 (anomaly) or -1 (normal)",
    "prediction_id": "a string",
    "feedback_id": "a string or null",
    "moderator": "a string or null",
    "items": "an array of objects",
}
TYPES: Final = {  # msgspec's names of what was sent
    "str": "a string",
    "int": "an integer",
    "float": "a number with a fraction or an exponent",
    "bool": "a boolean",
    "array": "an array",
    "object": "an object",
}
_split = re.compile(r"(.*?)(?: - at `\$\.?([^`]*)`)?", re.DOTALL).fullmatch
_missing = re.compile(r"Object missing required field `(.*)`", re.DOTALL).fullmatch
_unknown = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL).fullmatch
_of_other_type = re.compile(r"Expected `.*`, got `(.*)`").fullmatch
_other_value = re.compile(r"Invalid enum value (.*)", re.DOTALL).fullmatch
_position = re.compile(r"\(byte (\d+)\)").search
_not_finite = re.compile(rb"(?i)-?(?:nan|inf(?:inity)?)\b")


def invalid_field(message: str, struct: type[Any]) -> str:
    """Return what is wrong with JSON that is not what the struct allows."""
    split = _split(message)
    assert split
    said, place = split[1], split[2] or ""
    prefix = f"{place}." if place else ""
    if found := _missing(said):
        return f"{prefix}{found[1]} is missing; it must be {ALLOWED[found[1]]}"
    if found := _unknown(said):
        fields = ("base64",) if place == "email" else struct.__struct_fields__
        return f"there is no field {short_repr(prefix + found[1])}; the fields are {', '.join(fields)}"
    what, allowed = place or "the JSON", ALLOWED.get(place.rpartition(".")[2], "an object")
    if found := _other_value(said):
        return f"{what} is {found[1]}; it must be {allowed}"
    if found := _of_other_type(said):
        return f"{what} is {TYPES.get(found[1], found[1])}; it must be {allowed}"
    return f"{what} must be {allowed}"


def malformed(message: str, data: bytes) -> str:
    """Return what is wrong with a text that is not JSON."""
    if not data.strip():
        return "the body is empty; it must be JSON"
    if message == "Input data was truncated":
        return "the JSON is truncated: a string, an array or an object is not closed"
    found = _position(message)
    if found is None:
        return message
    at = int(found[1])
    number = _not_finite.search(data, max(at - 1, 0), at + 10)
    if number and number.start() <= at:
        return f"the JSON has {number[0].decode()} at byte {number.start()}: numbers must be finite"
    if data[at : at + 1] == b"'":
        return f"{message}; strings must be in double quotes"
    return message
