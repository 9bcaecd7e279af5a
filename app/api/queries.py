"""What stands behind the question mark. As strict as bodies: an unknown parameter is refused by its name."""

from urllib.parse import parse_qsl

from starlette.requests import Request

from app.api.errors import BadInput
from app.learning.errors import short_repr

MOST = 100  # parameters that are looked at


def query(request: Request, *known: str) -> dict[str, str]:
    """The parameters that are there."""
    raw = request.scope["query_string"]
    if not raw:
        return {}
    try:
        pairs = parse_qsl(raw.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST)
    except ValueError:  # also of text that is not UTF-8
        raise BadInput("the query cannot be read") from None
    for name, _ in pairs:
        if name not in known:
            allowed = f"it knows {', '.join(known)}" if known else "it knows none"
            raise BadInput(f"the route has no query parameter {short_repr(name)}; {allowed}")
    if len(dict(pairs)) < len(pairs):
        raise BadInput("a query parameter is given twice")
    return dict(pairs)


def whole_number(given: dict[str, str], name: str, default: int, low: int, high: int) -> int:
    """A parameter that counts something."""
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(high)) and low <= int(text) <= high):
        raise BadInput(f"{name} is {short_repr(text)}; it must be a whole number from {low:,} to {high:,}")
    return int(text)


def yes_or_no(given: dict[str, str], name: str, *, default: bool = False) -> bool:
    """A parameter that is true or false."""
    text = given.get(name)
    if text is None:
        return default
    if text not in {"true", "false"}:
        raise BadInput(f"{name} is {short_repr(text)}; it must be true or false")
    return text == "true"
