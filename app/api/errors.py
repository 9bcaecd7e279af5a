"""What can be wrong with a request before a tenant is asked."""

from app.learning.errors import SluiceError, shown


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
        super().__init__(f"the body is {shown(given)}; this route reads {wanted}")


class ClientGone(Exception):
    """The client has closed the connection: there is nobody left to answer."""
