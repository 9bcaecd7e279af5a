"""The routes that move whole models: snapshot, export, import."""

# ruff: noqa: FAST003 - endpoints take the request alone, and find the path's parameters in it

from fastapi import APIRouter
from starlette.requests import Request

from app.api import operations
from app.api.answers import BINARY, Answer, Pieces, encode
from app.api.bodies import read_binary
from app.api.inputs import tenant_name
from app.api.queries import query, yes_or_no
from app.api.serving import DirectRoute, serving
from app.api.tenants import shown
from app.api.wire import SnapshotOut
from app.learning.snapshot.model_file import HASH_BYTES, MAGIC, read_header

router = APIRouter(route_class=DirectRoute)


@router.post("/tenants/{tenant}/snapshot", **operations.TAKE_SNAPSHOT)
async def take_snapshot(request: Request) -> Answer:
    """Write the state to the store now."""
    query(request)
    name = tenant_name(request.path_params["tenant"])
    taken = await serving(request).tenants.snapshot(name)
    return Answer(encode(SnapshotOut(name, taken.version, taken.digest, taken.chunks, taken.written, taken.bytes)))


@router.get("/tenants/{tenant}/export", **operations.EXPORT_TENANT)
async def export_tenant(request: Request) -> Pieces:
    """The model as one file."""
    query(request)
    name = tenant_name(request.path_params["tenant"])
    pieces = await serving(request).tenants.export(name)
    first = await anext(pieces)
    disposition = f'attachment; filename="{name}-v{_version(first)}.sluice"'
    return Pieces(first, pieces, BINARY, [(b"content-disposition", disposition.encode())])


@router.post("/tenants/{tenant}/import", **operations.IMPORT_TENANT)
async def import_tenant(request: Request) -> Answer:
    """Make a tenant from such a file."""
    serve = serving(request)
    name = tenant_name(request.path_params["tenant"])
    replace = yes_or_no(query(request, "replace"), "replace")
    data = await read_binary(request, serve.limits.max_import_bytes)
    return await shown(await serve.tenants.imported(name, data, replace=replace))


def _version(first: bytes) -> int:
    """The version that the file is of: it stands in the header, which is the first piece."""
    start = len(MAGIC) + 8 + HASH_BYTES
    size = int.from_bytes(first[len(MAGIC) : len(MAGIC) + 8], "little")
    return read_header(first[start : start + size]).version
