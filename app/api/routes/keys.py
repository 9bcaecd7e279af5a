"""The routes under /keys: create, list, rotate and revoke keys."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from app.api import examples, problems
from app.api.backend import Backend
from app.api.context import RequestContext
from app.api.dependencies import Audited, Caller, Context, Service, needs
from app.api.documentation import example, json_body, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery
from app.api.responses import NO_STORE
from app.api.schemas.keys import (
    KeyCreatedResponse,
    KeyListResponse,
    KeyRequest,
    KeyResponse,
    RotationRequest,
)
from app.auth.keys import Key, now_milliseconds

router = APIRouter(route_class=ApiRoute, tags=["keys"], dependencies=[needs("admin")])
DAY = RotationRequest()  # the default
KeyPath = Annotated[str, Path(description="The key's id.", examples=["1f0c9a7be2d4"])]


@router.post(
    "/keys",
    status_code=201,
    summary="Create a key",
    description="For some tenants (`acme`, `acme-*`, or `*` for all) with some roles. Only this answer has its secret. "
    "A key for some tenants can only create keys for those. A key ends with the key that made it: it expires no later "
    "(without `expires_in_seconds`, at the same time; a later expiry gets 422), and is revoked with it. A key with a "
    "`moderator` carries that name: labels given with it are that moderator's, and a request with another name gets "
    "403, unless the key `speaks_for_others`.",
    dependencies=[Audited],
    response_description="The key.",
    responses=example(examples.KEY_MADE, 201) | refusals(problems.BAD_KEY, problems.STORE_UNAVAILABLE),
    openapi_extra={
        "requestBody": {"content": json_body({"key": examples.KEY_WANTED, "moderator": examples.KEY_WANTED_NAMED})}
    },
)
async def create_key(
    wanted: KeyRequest, backend: Service, caller: Caller, context: Context, response: Response
) -> KeyCreatedResponse:
    """Create a key."""
    lifetime = wanted.expires_in_seconds
    expires_at = None if lifetime is None else now_milliseconds() + 1000 * lifetime
    key, secret = await backend.authenticator.create(
        wanted.name,
        wanted.roles,
        wanted.tenants,
        expires_at,
        caller,
        moderator=wanted.moderator,
        speaks_for_others=wanted.speaks_for_others,
    )
    await _audit_key(backend, context, "key_made", key)
    response.headers["cache-control"] = NO_STORE
    return KeyCreatedResponse.of(key, secret)


@router.get(
    "/keys",
    summary="List keys",
    description="The keys whose tenants are all among the caller's own. Secrets are not stored, so they are not shown.",
    dependencies=[KnownQuery],
    response_description="The keys.",
    responses=example(examples.KEYS) | refusals(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
async def list_keys(backend: Service, caller: Caller) -> KeyListResponse:
    """List the keys that the caller may see."""
    return KeyListResponse(keys=[KeyResponse.model_validate(key) for key in await backend.authenticator.listed(caller)])


@router.post(
    "/keys/{key}/rotate",
    status_code=201,
    summary="Rotate a key",
    description="Creates a key with the same roles, tenants, moderator and expiry; the old one stays valid for a "
    "while, by default a day. The keys that the old one made now belong to the new one. A key that expires later than "
    "the caller's cannot be rotated with it.",
    dependencies=[Audited, KnownQuery],
    response_description="The new key.",
    responses=example(examples.KEY_MADE, 201)
    | refusals(problems.BAD_KEY, problems.STORE_UNAVAILABLE, problems.UNKNOWN_KEY),
    openapi_extra={"requestBody": {"content": json_body({"rotation": examples.ROTATION})}},
)
async def rotate_key(  # noqa: PLR0913, PLR0917 - its dependencies
    key: KeyPath,
    backend: Service,
    caller: Caller,
    context: Context,
    response: Response,
    rotation: RotationRequest = DAY,
) -> KeyCreatedResponse:
    """Create a key in place of one that expires soon."""
    new, secret = await backend.authenticator.rotate(key, rotation.overlap_seconds, caller)
    await _audit_key(backend, context, "key_made", new)
    response.headers["cache-control"] = NO_STORE
    return KeyCreatedResponse.of(new, secret)


@router.delete(
    "/keys/{key}",
    status_code=204,
    summary="Revoke a key",
    description="Every worker refuses it within a second, and also the keys that it made, and those that they made.",
    dependencies=[Audited, KnownQuery],
    response_description="The keys are revoked. The audit names each of them.",
    responses=refusals(problems.BAD_INPUT, problems.UNKNOWN_KEY, problems.STORE_UNAVAILABLE),
)
async def revoke_key(key: KeyPath, backend: Service, caller: Caller, context: Context) -> None:
    """Revoke a key at once, with the keys that it made."""
    revoked = await backend.authenticator.revoke(key, caller)
    for each in revoked:
        await _audit_key(backend, context, "key_revoked", each)


async def _audit_key(backend: Backend, context: RequestContext, action: str, key: Key) -> None:
    """Note which key was created or revoked; `Audited` notes the request itself."""
    detail = f"{key.id} {key.name!r}: {', '.join(key.roles)} for {', '.join(key.tenants)}"
    if key.made_by is not None:
        detail += f", made by {key.made_by}"
    if key.moderator is not None:
        detail += f", moderator {key.moderator!r}" + (" and others" if key.speaks_for_others else "")
    caller = context.key
    await backend.audit.note(action, key_id=caller.id if caller else None, request_id=context.request_id, detail=detail)
