"""Names and ids, and the strictness that all models share."""

import math
import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

TENANT_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
ID_PATTERN = "^[^\\x00-\\x1f\\x7f]{1,200}$"
is_tenant_name = re.compile(TENANT_PATTERN[1:-1]).fullmatch
is_id = re.compile(ID_PATTERN[1:-1]).fullmatch

TENANT_DESCRIPTION = "A tenant's name: 1 to 128 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit."
TenantName = Annotated[str, Field(pattern=TENANT_PATTERN, description=TENANT_DESCRIPTION)]
Id = Annotated[str, Field(pattern=ID_PATTERN)]
Number = Annotated[float | None, AfterValidator(lambda value: value if value is None or math.isfinite(value) else None)]


def milliseconds(text: str) -> int:
    """Return a time with its zone in milliseconds since 1970; ValueError if it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise ValueError("it must be a time with its zone, such as 2026-11-18T09:30:00Z")
    return round(found.timestamp() * 1000)


def _time(text: str) -> str:
    milliseconds(text)
    return text


Time = Annotated[str, AfterValidator(_time), Field(max_length=40, json_schema_extra={"format": "date-time"})]


class RequestModel(BaseModel):
    """A body: types are strict, and unknown fields are refused by name."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResponseModel(BaseModel):
    """An answer. Fields may be added to it in later versions."""

    model_config = ConfigDict(from_attributes=True)


def optional(description: str, alias: str | None = None) -> Any:  # noqa: ANN401 - as pydantic.Field
    """Return a field that may be absent, and must not be null."""
    return Field(default=None, alias=alias, description=description, json_schema_extra=_drop_default)


def _drop_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def as_sent(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Keep a value as it was sent. The tenant refuses a wrong one, with a sentence that says what it may be."""
    try:
        validate(value)
    except ValidationError:
        if isinstance(value, list | dict):
            raise
    return value


Real = Annotated[float, WrapValidator(as_sent)]
RealOrNull = Annotated[float | None, WrapValidator(as_sent)]
Whole = Annotated[int, WrapValidator(as_sent)]
RealOrText = Annotated[float | str, WrapValidator(as_sent)]
TextOrNull = Annotated[str | None, WrapValidator(as_sent)]
Text = Annotated[str, WrapValidator(as_sent)]
Flag = Annotated[bool, WrapValidator(as_sent)]
