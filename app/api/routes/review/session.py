"""The routes of a browser's session: sign in with a key, see who is signed in, sign out."""

from typing import Any

from fastapi import APIRouter, Response
from starlette.requests import Request

from app.api import examples, problems
from app.api.authorisation import cookie_is_secure, cookie_of, refuse_other_sites, session_of, token_of
from app.api.dependencies import Context, Service
from app.api.documentation import example, json_body, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery
from app.api.responses import NO_STORE
from app.api.schemas.review.session import SessionRequest, SessionResponse
from app.auth.errors import KeysUnread, Unauthenticated
from app.auth.sessions import NO_SESSION

router = APIRouter(route_class=ApiRoute, tags=["session"], dependencies=[KnownQuery])


@router.post(
    "/session",
    status_code=201,
    summary="Sign in",
    description="Begins a session for a browser: the answer sets a cookie, which stands for the key until the session "
    "ends. With the cookie, every request that changes something needs the header `X-Requested-By`. The session ends "
    "with its key, after SLUICE_SESSION_SECONDS, and by DELETE.",
    response_description="Who is signed in.",
    responses=example(examples.SESSION, 201)
    | refusals(problems.UNAUTHENTICATED, problems.FORBIDDEN, problems.KEYS_UNREAD, problems.STORE_UNAVAILABLE),
    openapi_extra={"requestBody": {"content": json_body({"key": {"key": "sluice_1f0c9a7be2d4_..."}})}},
)
async def sign_in(
    wanted: SessionRequest, request: Request, service: Service, context: Context, response: Response
) -> SessionResponse:
    """Begin a session, and note it in the audit."""
    response.headers["cache-control"] = NO_STORE
    refuse_other_sites(request.scope)
    if service.authenticator.is_open:
        return SessionResponse.of(None)
    try:
        key, secret = await service.sessions.begin(wanted.key.strip())
    except Unauthenticated:
        if service.wrong_key_limiter is not None:
            service.wrong_key_limiter.take(request.scope)
        raise
    await service.audit.note("sign_in", key_id=key.id, request_id=context.request_id, detail=key.moderator)
    response.set_cookie(**_cookie(request, secret, service.sessions.seconds))
    return SessionResponse.of(key)


@router.get(
    "/session",
    summary="Show who is signed in",
    description="And what the session, or the key that is sent, allows.",
    response_description="Who is signed in.",
    responses=example(examples.SESSION) | refusals(problems.UNAUTHENTICATED, problems.KEYS_UNREAD),
)
async def show_session(request: Request, service: Service, response: Response) -> SessionResponse:
    """Show whose session it is."""
    response.headers["cache-control"] = NO_STORE
    if service.authenticator.is_open:
        return SessionResponse.of(None)
    if not service.authenticator.is_ready:
        raise KeysUnread
    token, session = token_of(request.scope), session_of(request.scope)
    key = service.authenticator.identify(token) if token is not None else None
    if token is None and session is not None:
        key = await service.sessions.key_of(session)
    if key is None:
        raise Unauthenticated(NO_SESSION)
    return SessionResponse.of(key)


@router.delete(
    "/session",
    status_code=204,
    summary="Sign out",
    description="Ends the session of the cookie, on every worker within a second.",
    response_description="There is no session any more.",
    responses=refusals(problems.FORBIDDEN, problems.STORE_UNAVAILABLE),
)
async def sign_out(request: Request, service: Service, response: Response) -> None:
    """End a session."""
    refuse_other_sites(request.scope)
    if (session := session_of(request.scope)) is not None:
        await service.sessions.end(session)
    response.set_cookie(**_cookie(request, "", 0))


def _cookie(request: Request, secret: str, seconds: int) -> dict[str, Any]:
    """Return a cookie that no script can read, and no other site can use. Behind TLS it is never sent without."""
    return {
        "key": cookie_of(request.scope),
        "value": secret,
        "max_age": seconds,
        "path": "/",
        "secure": cookie_is_secure(request.scope),
        "httponly": True,
        "samesite": "strict",
    }
