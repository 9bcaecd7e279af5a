"""What routes work with, and the class of routes that lets them do so without detours."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fastapi.routing import APIRoute, APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from app.api.inputs import tenant_name
from app.api.limits import Limits
from app.api.seams import Exposes, Featurizes, Holds, Keeps
from app.features.featurizing import features_of
from app.tenants.tenant import Tenant

Endpoint = Callable[[Request], Awaitable[Response]]


async def no_metrics() -> bytes:
    """Where nothing is counted."""
    return b""


class Serving(NamedTuple):
    """The tenants of this worker, the predictions it keeps, the limits on a request, what reads raw inputs, metrics."""

    tenants: Holds
    pending: Keeps
    limits: Limits
    featurize: Featurizes = features_of
    metrics: Exposes = no_metrics

    async def tenant(self, name: str) -> Tenant:
        """The tenant of this name, made if it may be made."""
        return self.tenants.held(name) or await self.tenants.hold(tenant_name(name))

    async def existing(self, request: Request) -> Tenant:
        """The tenant in the path; asking about a tenant does not make it."""
        name = tenant_name(request.path_params["tenant"])
        return self.tenants.held(name) or await self.tenants.hold(name, create=False)


def serving(request: Request) -> Serving:
    """What this application serves with."""
    found: Serving = request.scope["app"].state.serving
    return found


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request and gives the answer: no dependencies, no models, nothing between."""

    def __init__(self, path: str, endpoint: Endpoint, **documented: Any) -> None:  # noqa: ANN401 - FastAPI's options
        super().__init__(path, endpoint, **documented)
        self.app = self.answer
        self.has_get = "GET" in (self.methods or ())

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """As any route; and whoever has GET has HEAD."""
        match, found = super().matches(scope)
        if match is Match.PARTIAL and scope["method"] == "HEAD" and self.has_get:
            return Match.FULL, found
        return match, found

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, also a HEAD: the server leaves out its body."""
        if scope["method"] == "HEAD" and self.has_get:
            await self.answer(scope, receive, send)
        else:
            await super().handle(scope, receive, send)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the endpoint, and send what it says."""
        answer = await self.endpoint(Request(scope, receive))
        await answer(scope, receive, send)


class Shortcut:
    """Finds routes with a fixed address by one look, and leaves all others to the router, which tries one by one."""

    def __init__(self, router: APIRouter) -> None:
        self._router = router
        self._routes = {
            (method, route.path): route
            for route in router.routes
            if isinstance(route, DirectRoute) and not route.param_convertors
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request over."""
        route = self._routes.get((scope.get("method"), scope.get("path")))  # type: ignore[arg-type]
        if route is None:
            await self._router(scope, receive, send)
            return
        scope["route"] = route
        scope["path_params"] = {}
        await route.answer(scope, receive, send)
