"""Query parameters: as strict as bodies. An unknown or repeated parameter is refused by name."""

from collections.abc import Collection
from urllib.parse import parse_qsl

from fastapi import Depends
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import ParamTypes
from fastapi.routing import APIRoute
from pydantic import BeforeValidator
from starlette.requests import Request

from app.api.errors import BadInput
from app.api.schemas.names import milliseconds
from app.learning.errors import short_repr

MAX_PARAMETERS = 100


def query_of(request: Request, *known: str) -> dict[str, str]:
    """Return the query parameters; BadInput if one is unknown or repeated."""
    raw = request.scope["query_string"]
    if not raw:
        return {}
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError:  # also of text that is not UTF-8
        raise BadInput("the query string is not valid") from None
    check_names([name for name, _ in pairs], known)
    return dict(pairs)


def check_names(given: Collection[str], known: Collection[str]) -> None:
    """BadInput if a parameter is unknown or repeated."""
    for name in given:
        if name not in known:
            allowed = f"it has {', '.join(known)}" if known else "it has none"
            raise BadInput(f"the route has no query parameter {short_repr(name)}; {allowed}")
    if len(set(given)) < len(given):
        raise BadInput("a query parameter is given more than once")


def check_query(request: Request) -> None:
    """Refuse query parameters that the route does not declare."""
    route: APIRoute = request.scope["route"]
    declared = get_flat_params(route.dependant)
    query_of(request, *(field.alias for field in declared if field.field_info.in_ is ParamTypes.query))  # type: ignore[attr-defined]


def whole_number(name: str, text: str, low: int, high: int) -> int:
    """Parse a whole number within a range."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(high)) and low <= int(text) <= high):
        raise BadInput(f"{name} is {short_repr(text)}; it must be a whole number from {low:,} to {high:,}")
    return int(text)


def flag(name: str, text: str) -> bool:
    """Parse true or false."""
    if text not in {"true", "false"}:
        raise BadInput(f"{name} is {short_repr(text)}; it must be true or false")
    return text == "true"


def flag_of(name: str) -> BeforeValidator:
    """Return the parser of a parameter that is true or false, or left out."""
    return BeforeValidator(lambda given: given if given is None or isinstance(given, bool) else flag(name, str(given)))


def time_of(name: str) -> BeforeValidator:
    """Return the parser of a parameter that is a time with its zone, into milliseconds since 1970."""

    def parse(text: object) -> int:
        try:
            return milliseconds(str(text))
        except ValueError as error:
            raise BadInput(f"{name} is {short_repr(text)}; {error}") from None

    return BeforeValidator(parse)


KnownQuery = Depends(check_query)  # for routes that take no other query
