"""What can be wrong with a request before a tenant is asked."""

from app.learning.errors import SluiceError, short_repr


class MalformedBody(SluiceError):
    """A body, or a line of it, that is not JSON."""


class BadInput(SluiceError):
    """JSON, a parameter or a header that does not say what it should."""


class TooLarge(SluiceError):
    """More than a limit allows."""

    def __init__(self, what: str, limit: int, unit: str, setting: str) -> None:
        super().__init__(f"{what}; the limit is {limit:,} {unit} ({setting})")


class WrongContentType(SluiceError):
    """A body in a form that the route does not read."""

    def __init__(self, given: str, wanted: str) -> None:
        super().__init__(f"the body is {short_repr(given)}; this route reads {wanted}")


class InvalidHTTP(SluiceError):
    """What is no request."""

    def __init__(self) -> None:
        super().__init__("what was sent cannot be read as a request of HTTP/1.1")


class HeadTooLarge(SluiceError):
    """More headers, or longer ones, than anybody needs."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"the request line and the headers have more than {limit:,} bytes (SLUICE_MAX_HEAD_BYTES)")


class TooSlow(SluiceError):
    """A body that does not go on."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"nothing of the body has come for {seconds:g} seconds (SLUICE_BODY_IDLE_SECONDS)")


class TooManyRequests(SluiceError):
    """One caller asks too often."""

    def __init__(self, per_second: int, setting: str = "SLUICE_REQUESTS_PER_SECOND") -> None:
        super().__init__(f"you may ask {per_second:,} times in a second ({setting})")


class Overloaded(SluiceError):
    """There is more to do than this worker can do in time."""


class ClientGone(Exception):
    """The client has closed the connection: there is nobody left to answer."""
