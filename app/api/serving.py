"""What routes work with, and the class of routes that lets them do so without detours."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fastapi.routing import APIRoute, APIRouter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from app.api.answers import AT_ONCE, Answer
from app.api.documenting import ROLE
from app.api.inputs import tenant_name
from app.api.limiting import Limiter
from app.api.limits import Limits
from app.api.owning import OwnTenants
from app.api.seams import Exposes, Featurizes, Holds, Keeps
from app.auth.audit import Audit
from app.auth.errors import Forbidden, Unauthenticated
from app.auth.keyring import Guard
from app.auth.keys import Key
from app.auth.label_rate import LabelRates
from app.features.featurizer import features_of
from app.tenants.tenant import Tenant

Endpoint = Callable[[Request], Awaitable[Response]]


class Caller(NamedTuple):
    """Who asks, for what must be known later."""

    key_id: str | None = None
    request_id: str | None = None


OPEN, UNKEPT, UNLIMITED, NOBODY = Guard(), Audit(), LabelRates(), Caller()


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
    guard: Guard = OPEN
    audit: Audit = UNKEPT
    label_rates: LabelRates = UNLIMITED
    caller: Caller = NOBODY
    limiter: Limiter | None = None  # of requests per second; None: there is no limit
    strangers: Limiter | None = None  # of those without a valid key

    async def tenant(self, name: str) -> Tenant:
        """The tenant of this name, made if it may be made."""
        return self.tenants.held(name) or await self.tenants.hold(tenant_name(name))

    async def existing(self, request: Request) -> Tenant:
        """The tenant in the path; asking about a tenant does not make it."""
        name = tenant_name(request.path_params["tenant"])
        return self.tenants.held(name) or await self.tenants.hold(name, create=False)


def serving(request: Request) -> Serving:
    """What this request is served with: the one place where it gets its tenants, all of them or its key's own."""
    found: Serving = request.scope["app"].state.serving
    key: Key | None = request.scope.get("key")
    return found if key is None else found._replace(tenants=OwnTenants(found.tenants, key))


def serving_labels(request: Request) -> Serving:
    """The same, for what goes into a log with the one who gave it."""
    key: Key | None = request.scope.get("key")
    return serving(request)._replace(caller=Caller(key.id if key else None, request.scope["request_id"]))


def token_of(scope: Scope) -> str | None:
    """The key that a request brings along, as it was sent; Unauthenticated if there are two different ones."""
    found = set()
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            found.add(value.strip())
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            found.add(value[7:].strip())
    if len(found) > 1:
        raise Unauthenticated("there are two different keys; send one of them")
    return str(found.pop().decode("latin-1")) if found else None


class DirectRoute(APIRoute):
    """A route whose endpoint takes the request and gives the answer: no dependencies, no models, nothing between."""

    def __init__(self, path: str, endpoint: Endpoint, **documented: Any) -> None:  # noqa: ANN401 - FastAPI's options
        super().__init__(path, endpoint, **documented)
        extra = documented.get("openapi_extra") or {}
        self.role: str | None = extra.get(ROLE)
        self.is_audited = self.role == "admin" and not {"GET"} & set(self.methods or ())
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
        """Ask the endpoint, and send what it says; if it may be asked."""
        serve: Serving = scope["app"].state.serving
        if not serve.guard.is_open:
            scope["key"] = self._admitted(serve, scope)
        if serve.limiter is not None:
            serve.limiter.take(scope)
        if self.is_audited:
            await self._note(serve, scope)
        answer = await self.endpoint(Request(scope, receive))
        at_once = scope.get(AT_ONCE)
        if at_once is None or not isinstance(answer, Answer) or not at_once(answer):
            await answer(scope, receive, send)

    def _admitted(self, serve: Serving, scope: Scope) -> Key | None:
        try:
            return serve.guard.admit(token_of(scope), self.role)
        except Unauthenticated:
            if serve.strangers is not None:
                serve.strangers.take(scope)  # who tries many keys is told that, and waits for it
            raise

    async def _note(self, serve: Serving, scope: Scope) -> None:
        key: Key | None = scope.get("key")
        tenant = scope["path_params"].get("tenant")
        if key is not None and tenant is not None and not key.covers(tenant):
            raise Forbidden.tenant(tenant)
        await serve.audit.note(
            str(self.operation_id),
            key_id=key.id if key else None,
            tenant=tenant,
            request_id=scope["request_id"],
        )


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
