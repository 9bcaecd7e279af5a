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

    def __init__(self, given: str, wanted: str, what: str = "the Content-Type of the body") -> None:
        super().__init__(f"{what} is {short_repr(given)}; this route reads {wanted}")


class InvalidHTTP(SluiceError):
    """Bytes that are not an HTTP request."""

    def __init__(self, sentence: str = "the request is not valid HTTP/1.1") -> None:
        super().__init__(sentence)


class HeadTooLarge(SluiceError):
    """A request line and headers beyond the limit."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the request line and the headers have more than {limit:,} bytes (SLUICE_MAX_HEAD_BYTES)")


class TooSlow(SluiceError):
    """A body that arrives too slowly."""

    @classmethod
    def idle(cls, seconds: float) -> "TooSlow":
        """Nothing of it has arrived for some time."""
        return cls(f"no part of the body has arrived for {seconds:g} seconds (SLUICE_BODY_IDLE_SECONDS)")

    @classmethod
    def whole(cls, size: int, seconds: float) -> "TooSlow":
        """It is not complete when it should be."""
        return cls(f"only {size:,} bytes of the body have arrived after {seconds:.3g} seconds (SLUICE_BODY_SECONDS)")


class TooManyRequests(SluiceError):
    """A caller beyond its rate limit."""

    def __init__(self, per_second: int, setting: str = "SLUICE_REQUESTS_PER_SECOND") -> None:
        super().__init__(f"the limit is {per_second:,} requests per second ({setting})")


class TooManyConcurrentRequests(SluiceError):
    """A key beyond its share of the concurrent requests."""

    def __init__(self, at_most: int) -> None:
        super().__init__(
            f"{at_most:,} requests of this key are in progress, which is the limit (SLUICE_MAX_CONCURRENT_PER_KEY)"
        )


class Overloaded(SluiceError):
    """The worker has more to do than it can do in time."""


class Shutdown(SluiceError):
    """The time for requests in progress is over, and the service stops."""

    def __init__(self) -> None:
        super().__init__("the service is stopping, and what this request asked for may be done or not")


class ClientGone(Exception):
    """The client has closed the connection."""
