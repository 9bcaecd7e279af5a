"""The routes under /keys: making, listing, rotating and revoking keys."""

# ruff: noqa: FAST003 - endpoints take the request alone, and find the path's parameters in it

from fastapi import APIRouter
from starlette.requests import Request

from app.api import key_operations as operations
from app.api.answers import Answer, NoContent, encode
from app.api.bodies import decoded, read_json
from app.api.key_wire import KeyMadeOut, KeyOut, KeysOut, key_decoder, rotation_decoder
from app.api.queries import query
from app.api.serving import DirectRoute, serving
from app.auth.keyring import now_milliseconds
from app.auth.keys import Key

router = APIRouter(route_class=DirectRoute)
NO_STORE = (b"cache-control", b"no-store")  # an answer with a secret in it


@router.post("/keys", **operations.CREATE_KEY)
async def create_key(request: Request) -> Answer:
    """Make a key; its secret is told in this answer and never again."""
    serve = serving(request)
    asked = decoded(key_decoder, await read_json(request, serve.limits.max_body_bytes))
    expires_at = None if asked.expires_in_seconds is None else now_milliseconds() + 1000 * asked.expires_in_seconds
    key, token = await serve.guard.create(asked.name, asked.roles, asked.tenants, expires_at, _asker(request))
    return await _made(request, key, token)


@router.get("/keys", **operations.LIST_KEYS)
async def list_keys(request: Request) -> Answer:
    """All keys for no other tenants than the asker's, without their secrets, which nobody knows."""
    query(request)
    return Answer(encode(KeysOut([_out(key) for key in await serving(request).guard.listed(_asker(request))])))


@router.post("/keys/{key}/rotate", **operations.ROTATE_KEY)
async def rotate_key(request: Request) -> Answer:
    """Make a key in the place of one that ends after a while."""
    serve = serving(request)
    query(request)
    body = await read_json(request, serve.limits.max_body_bytes)
    asked = decoded(rotation_decoder, body if body.strip() else b"{}")
    identity = request.path_params["key"]
    key, token = await serve.guard.rotate(identity, asked.overlap_seconds, _asker(request))
    return await _made(request, key, token)


@router.delete("/keys/{key}", **operations.REVOKE_KEY)
async def revoke_key(request: Request) -> NoContent:
    """End a key at once."""
    query(request)
    serve = serving(request)
    key = await serve.guard.revoke(request.path_params["key"], _asker(request))
    await _note(request, "key_revoked", key)
    return NoContent()


def _asker(request: Request) -> Key | None:
    key: Key | None = request.scope.get("key")
    return key


async def _made(request: Request, key: Key, token: str) -> Answer:
    await _note(request, "key_made", key)
    return Answer(encode(KeyMadeOut(token, _out(key))), 201, headers=[NO_STORE])


async def _note(request: Request, action: str, key: Key) -> None:
    asker = _asker(request)
    detail = f"{key.id} {key.name!r}: {', '.join(key.roles)} for {', '.join(key.tenants)}"
    await serving(request).audit.note(
        action, key_id=asker.id if asker else None, request_id=request.scope["request_id"], detail=detail
    )


def _out(key: Key) -> KeyOut:
    return KeyOut(key.id, key.name, list(key.roles), list(key.tenants), key.created_at, key.expires_at)
