"""Exceptions as problem+json: FastAPI calls the handlers for its routes, the middleware answers those of hot routes."""

import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.authorisation import RoleRoute
from app.api.context import CONTEXT, RequestContext
from app.api.errors import Overloaded, TooManyConcurrentRequests, TooManyRequests
from app.api.fast_path.http import Answer
from app.api.problems import INTERNAL_ERROR, METHOD_NOT_ALLOWED, TOO_SLOW, UNAUTHENTICATED, detail_of, kind_of
from app.api.responses import NoContent, problem
from app.learning.errors import SluiceError

log = logging.getLogger(__name__)

# Refusals that are delayed: clients retry them at once.
HELD_BACK = (Overloaded, TooManyConcurrentRequests, TooManyRequests)


async def answer_with_problem(request: Request, error: Exception) -> Response:
    """Answer an exception of a plain route."""
    return Refusal(error, request.scope)


HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    SluiceError: answer_with_problem,
    RequestValidationError: answer_with_problem,
    HTTPException: answer_with_problem,
}


class Refusal(Response):
    """The problem of an exception; sent after a delay if the worker has too much to do and the server can wait."""

    def __init__(self, error: Exception, scope: Scope) -> None:
        self._answer = _problem_of(error, scope)
        self._is_delayed = isinstance(error, HELD_BACK)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or let the server send it later."""
        context: RequestContext = scope[CONTEXT]
        if self._is_delayed and context.hold_back is not None:
            self._answer.raw_headers += context.headers
            context.status = self._answer.status_code
            context.hold_back(self._answer)
        else:
            await self._answer(scope, receive, send)


def _problem_of(error: Exception, scope: Scope) -> Answer:
    context: RequestContext = scope[CONTEXT]
    kind, detail, path = kind_of(error), detail_of(error), scope["path"]
    headers: list[tuple[bytes, bytes]] = []
    if kind is INTERNAL_ERROR:
        log.error("request %s failed", context.request_id, exc_info=error)
    elif kind is UNAUTHENTICATED:
        headers = [(b"www-authenticate", b'Bearer realm="sluice"')]
    elif kind is TOO_SLOW:
        headers = [(b"connection", b"close")]  # the rest of the body may still come
    elif kind is METHOD_NOT_ALLOWED:
        method = "HEAD" if context.is_head else scope["method"]
        allowed = _allowed_methods(scope)
        headers = [(b"allow", allowed.encode())]
        if method == "OPTIONS":
            return NoContent(headers=headers)
        detail = f"{path} does not support {method}; it supports {allowed}"
    elif isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND:
        detail = f"no route matches {path}"
    return problem(kind, detail, context.request_id, path, headers)


def _allowed_methods(scope: Scope) -> str:
    """Return the methods of all routes that match the path."""
    routes: list[RoleRoute] = scope["app"].state.routes
    methods = {method for route in routes if route.path_regex.match(scope["path"]) for method in route.methods}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set()) | {"OPTIONS"}))
