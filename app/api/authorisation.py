"""Which role a route needs, and whether the caller has it."""

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.types import Scope

from app.api.backend import Backend
from app.api.context import CONTEXT, RequestContext
from app.api.middleware.rate_limit import UNLIMITED_PATHS
from app.auth.authenticator import check_role
from app.auth.errors import Forbidden, Unauthenticated
from app.auth.keys import Key
from app.auth.sessions import TLS_COOKIE, cookie_name

REQUESTED_BY = b"x-requested-by"
OUR_PAGES = {b"same-origin"}
OUR_PAGES_OR_TYPED = {b"same-origin", b"none"}  # an address that a person types or opens from a bookmark
ROLE = "x-sluice-role"  # where the OpenAPI document names the role that a route needs


class RoleRoute(APIRoute):
    """A route that knows the role which its `RequiredRole` dependency declares."""

    methods: set[str]

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(path, endpoint, **options)
        declared = (getattr(each.call, "role", None) for each in self.dependant.dependencies)
        self.role: str | None = next((role for role in declared if role is not None), None)
        if self.role is not None:
            self.openapi_extra = {**(self.openapi_extra or {}), ROLE: self.role}


async def authorise(scope: Scope, role: str | None) -> None:
    """Check the caller's key, rate and share; Unauthenticated, Forbidden or a 429 if it may not go on."""
    backend: Backend = scope["app"].state.backend
    context: RequestContext = scope[CONTEXT]
    try:
        context.key = await authenticate(scope, role)
    except Unauthenticated:
        if backend.wrong_key_limiter is not None:  # slows down a caller that tries many keys
            backend.wrong_key_limiter.take(scope)
        raise
    if backend.rate_limiter is not None:
        backend.rate_limiter.take(scope)
    if context.key is not None and backend.key_share is not None and scope["path"] not in UNLIMITED_PATHS:
        backend.key_share.take(context, context.key.id)


async def authenticate(scope: Scope, role: str | None) -> Key | None:
    """Return the caller's key as it is now, which has the role; None where no key is needed."""
    backend: Backend = scope["app"].state.backend
    if backend.authenticator.is_open:
        return None
    token = token_of(scope)
    if token is None and role is not None and (session := session_of(scope)) is not None:
        refuse_other_sites(scope)
        key = await backend.sessions.key_of(session)
        check_role(key, role)
        return key
    return backend.authenticator.authorise(token, role)


def token_of(scope: Scope) -> str | None:
    """Return the key that a request carries; Unauthenticated if it carries two different ones."""
    found = set()
    for name, value in scope["headers"]:
        if name == b"x-api-key":
            found.add(value.strip())
        elif name == b"authorization" and value[:7].lower() == b"bearer ":
            found.add(value[7:].strip())
    if len(found) > 1:
        raise Unauthenticated("the request has two different keys; send one of them")
    return str(found.pop().decode("latin-1")) if found else None


def session_of(scope: Scope) -> str | None:
    """Return the secret of the session that a browser sends as a cookie; a key in a header goes before it."""
    wanted = cookie_of(scope).encode()
    for name, value in scope["headers"]:
        if name == b"cookie":
            for each in value.split(b";"):
                cookie, _, secret = each.strip().partition(b"=")
                if cookie == wanted:
                    return str(secret.decode("latin-1"))
    return None


def cookie_of(scope: Scope) -> str:
    """Return the name of the cookie that counts for a request."""
    forwarded = next((value for name, value in scope["headers"] if name == b"x-forwarded-proto"), b"")
    return cookie_name(scope.get("scheme"), forwarded.decode("latin-1"))


def cookie_is_secure(scope: Scope) -> bool:
    """Whether browsers must never send the cookie without TLS."""
    return cookie_of(scope) == TLS_COOKIE


def refuse_other_sites(scope: Scope) -> None:
    """Forbidden if another site lets a browser send the request: it would use the session of whoever visits it.

    The cookie is SameSite=Strict already, which browsers without Sec-Fetch-Site know as well. A page of another site
    cannot set a header of its own without our consent. GET is no exception: it can lease items of a review queue.
    """
    headers = dict(scope["headers"])
    reads = scope["method"] in {"GET", "HEAD"}
    if headers.get(b"sec-fetch-site", b"same-origin") not in (OUR_PAGES_OR_TYPED if reads else OUR_PAGES):
        raise Forbidden("with a session, a request must come from the console, not from another site")
    if not reads and REQUESTED_BY not in headers:
        raise Forbidden("with a session, a request must come from the console: send the header X-Requested-By")
