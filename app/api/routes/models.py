"""The routes about whole models: snapshot, export, import, and a comparison with another one."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api import examples, problems
from app.api.dependencies import Audited, Context, ModelFile, OwnTenant, Service, Tenants, needs
from app.api.documentation import (
    BINARY,
    BINARY_SCHEMA,
    USING_TENANT,
    WITH_TENANT,
    answer_in,
    body,
    example,
    json_body,
    other_body,
    refusals,
)
from app.api.errors import BadInput
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, flag_of
from app.api.responses import BINARY as BINARY_TYPE
from app.api.responses import Pieces
from app.api.routes.tenants import TenantPath, show
from app.api.schemas.tenants import SnapshotResponse, TenantResponse
from app.api.schemas.what_if import WhatIfRequest, WhatIfResponse
from app.learning.snapshot.model_file import HASH_BYTES, MAGIC, read_header

router = APIRouter(route_class=ApiRoute, tags=["models"], dependencies=[KnownQuery])
FILE = other_body(BINARY, BINARY_SCHEMA, "sluice model...")

Replace = Annotated[
    bool,
    flag_of("replace"),
    Query(description="Whether to replace an existing tenant."),
]

WithLog = Annotated[
    bool,
    flag_of("log"),
    Query(description="Whether the file has the log too."),
]


@router.post(
    "/tenants/{tenant}/snapshot",
    summary="Take a snapshot now",
    description="Snapshots make a start faster; the service takes them by itself too.",
    dependencies=[needs("admin"), Audited],
    response_description="The snapshot.",
    responses=example(examples.SNAPSHOT) | refusals(*WITH_TENANT, problems.SNAPSHOT_BUSY, problems.MODEL_NOT_FINITE),
)
async def take_snapshot(tenant: TenantPath, tenants: Tenants) -> SnapshotResponse:
    """Write the state to the store now."""
    taken = await tenants.snapshot(tenant)
    return SnapshotResponse(
        tenant=tenant,
        version=taken.version,
        digest=taken.digest,
        chunks=taken.chunks,
        written=taken.written,
        bytes=taken.bytes,
    )


@router.get(
    "/tenants/{tenant}/export",
    summary="Export a tenant's model",
    description="One portable file, of one moment; `sluice inspect` reads it, and `/import` takes it on any machine. "
    "With `log`, it also has the log as far as that reaches back: who labelled what, and labels to take back.",
    dependencies=[needs("admin"), KnownQuery],
    status_code=200,
    response_class=Pieces,
    response_description="The file.",
    responses=answer_in(FILE) | refusals(*WITH_TENANT, problems.MODEL_NOT_FINITE, problems.TOO_MANY_EXPORTS),
)
async def export_tenant(tenant: TenantPath, tenants: Tenants, *, log: WithLog = False) -> Pieces:
    """Export the model as one file."""
    pieces = await tenants.export(tenant, has_log=log)
    first = await anext(pieces)
    disposition = f'attachment; filename="{tenant}-v{_version(first)}.sluice"'
    return Pieces(first, pieces, BINARY_TYPE, [(b"content-disposition", disposition.encode())])


@router.post(
    "/tenants/{tenant}/import",
    summary="Import a model as a tenant",
    description="The tenant then has the digest and gives the scores of the exported one.",
    dependencies=[needs("admin"), Audited],
    response_description="The tenant.",
    responses=example(examples.SHOWN)
    | refusals(*USING_TENANT, problems.TENANT_EXISTS, problems.SNAPSHOT_BUSY, problems.BAD_MODEL, problems.BAD_SETTING),
    openapi_extra=body(FILE),
)
async def import_tenant(
    tenant: TenantPath,
    tenants: Tenants,
    service: Service,
    data: ModelFile,
    *,
    replace: Replace = False,
) -> TenantResponse:
    """Make a model file a tenant."""
    return await show(await tenants.imported(tenant, data, replace=replace), service)


@router.post(
    "/tenants/{tenant}/whatif",
    summary="Compare with other settings",
    description="Replays the kept labels on two copies of the model: one with the tenant's own settings, the other "
    "with those that are given, or with another tenant's model. Both test every label before they learn it. Labels "
    "that were taken back are left out. Nothing is changed.",
    dependencies=[needs("review"), OwnTenant],
    response_description="What would have changed.",
    responses=example(examples.COMPARED)
    | refusals(
        *WITH_TENANT,
        problems.BAD_SETTING,
        problems.MODEL_NOT_FINITE,
        problems.WHAT_IF_TOO_LARGE,
        problems.LOG_REPLACED,
    ),
    openapi_extra={"requestBody": {"content": json_body(examples.WHAT_IFS)}},
)
async def what_if(tenant: TenantPath, wanted: WhatIfRequest, tenants: Tenants, context: Context) -> WhatIfResponse:
    """Say what would have changed with other settings, or with another model."""
    if wanted.model_of == tenant:
        raise BadInput(
            f"model_of is {tenant!r} itself, whose model has learnt these labels already; leave it out to compare "
            "settings"
        )
    return WhatIfResponse.of(tenant, await tenants.what_if(tenant, wanted.asked, context))


def _version(first: bytes) -> int:
    """Return the version of the model: it is in the header, which is the first piece."""
    start = len(MAGIC) + 8 + HASH_BYTES
    size = int.from_bytes(first[len(MAGIC) : len(MAGIC) + 8], "little")
    return read_header(first[start : start + size]).version
