"""The class of all plain FastAPI routes."""

from collections.abc import Callable, Coroutine
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.api.authorisation import RoleRoute, authorise
from app.api.backend import Backend
from app.api.errors import BadInput
from app.api.fast_path.http import any_decoder, decode, read_json

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ApiRoute(RoleRoute):
    """A FastAPI route that authorises its caller first, and reads its body within the limits.

    FastAPI reads and parses a body before it resolves dependencies. A caller without a valid key must not make the
    service do that, so the route itself checks the role.
    """

    def get_route_handler(self) -> Handler:
        """FastAPI's handler, behind these checks."""
        handle = super().get_route_handler()

        async def handle_authorised(request: Request) -> Response:
            await authorise(request.scope, self.role)
            return await handle(await _read(request) if self.body_field is not None else request)

        return handle_authorised


class JsonRequest(Request):
    """A request whose JSON body is read already, by the decoder of the hot routes."""

    def __init__(self, request: Request, body: bytes, value: object) -> None:
        super().__init__(request.scope, request.receive)
        self._body, self._json = body, value  # where Starlette keeps what it has read


async def _read(request: Request) -> JsonRequest:
    """Read a JSON body; a blank one is no body."""
    backend: Backend = request.app.state.backend
    body = (await read_json(request, backend.limits.max_body_bytes)).strip()
    value = decode(any_decoder, body) if body else None
    if body and value is None:  # FastAPI would take it for no body
        raise BadInput("the body is null; it must be an object")
    return JsonRequest(request, body, value)
