"""Errors of a request before it reaches a tenant."""

from app.learning.errors import SluiceError, short_repr


class MalformedBody(SluiceError):
    """A body, or a line of it, that is not JSON."""


class BadInput(SluiceError):
    """A body, a parameter or a header that is not valid."""


class TooLarge(SluiceError):
    """More than a limit allows."""

    def __init__(self, what: str, limit: int, unit: str, setting: str) -> None:
        super().__init__(f"{what}; the limit is {limit:,} {unit} ({setting})")


class WrongContentType(SluiceError):
    """A body of a type that the route does not read."""

    def __init__(self, given: str, wanted: str) -> None:
        super().__init__(f"the body is {short_repr(given)}; this route reads {wanted}")


class InvalidHTTP(SluiceError):
    """Bytes that are not an HTTP request."""

    def __init__(self) -> None:
        super().__init__("the request is not valid HTTP/1.1")


class HeadTooLarge(SluiceError):
    """A request line and headers beyond the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the request line and the headers have more than {limit:,} bytes (SLUICE_MAX_HEAD_BYTES)")


class TooSlow(SluiceError):
    """A body that stops arriving."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no part of the body has arrived for {seconds:g} seconds (SLUICE_BODY_IDLE_SECONDS)")


class TooManyRequests(SluiceError):
    """A caller beyond its rate limit."""

    def __init__(self, per_second: int, setting: str = "SLUICE_REQUESTS_PER_SECOND") -> None:
        super().__init__(f"the limit is {per_second:,} requests per second ({setting})")


class Overloaded(SluiceError):
    """The worker has more to do than it can do in time."""


class ClientGone(Exception):
    """The client has closed the connection."""
