"""GET /audit: who changed what."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.dependencies import Caller, Service, needs
from app.api.documentation import example, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, time_of, whole_number
from app.api.schemas.audit import AuditEntryResponse, AuditResponse
from app.api.schemas.names import ID_PATTERN, TENANT_PATTERN
from app.auth.audit import AuditEntry
from app.auth.keys import ALL, Key

router = APIRouter(route_class=ApiRoute, tags=["keys"], dependencies=[KnownQuery])
MAX_PAGE = 1000
ENTRY_ID = "^(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,9})$"

PageSize = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 1, MAX_PAGE)),
    Query(ge=1, le=MAX_PAGE, description="Entries on a page."),
]
Before = Annotated[str | None, Query(pattern=ENTRY_ID, description="Only entries before the one with this id.")]


@router.get(
    "/audit",
    summary="Show who changed what",
    description="Changes of tenants and keys, the newest first, page by page: `next` of an answer is `before` of the "
    "next request. A key for some tenants sees the entries of these.",
    dependencies=[needs("admin")],
    response_description="A page of the audit.",
    responses=example(examples.AUDIT) | refusals(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
async def show_audit(  # noqa: PLR0913, PLR0917 - query parameters
    service: Service,
    caller: Caller,
    tenant: Annotated[str | None, Query(pattern=TENANT_PATTERN)] = None,
    key_id: Annotated[str | None, Query(pattern=ID_PATTERN)] = None,
    action: Annotated[str | None, Query(pattern=ID_PATTERN, description="Such as `retract_labels`.")] = None,
    since: Annotated[int | None, time_of("since"), Query(description="From this time on, with its zone.")] = None,
    until: Annotated[int | None, time_of("until"), Query(description="Before this time, with its zone.")] = None,
    limit: PageSize = 100,
    before: Before = None,
) -> AuditResponse:
    """Show the audit, page by page."""
    page: list[AuditEntryResponse] = []
    async for name, entry in service.audit.latest(before):
        if since is not None and entry.at < since:
            break
        fits = (
            tenant in {None, entry.tenant}
            and key_id in {None, entry.key_id}
            and action in {None, entry.action}
            and (until is None or entry.at < until)
        )
        if fits and _may_see(caller, entry):
            if len(page) == limit:
                return AuditResponse(entries=page, next=page[-1].id)
            page.append(_shown(name, entry))
    return AuditResponse(entries=page, next=None)


def _may_see(caller: Key | None, entry: AuditEntry) -> bool:
    """Whether an entry is about the caller's tenants; those about keys are for keys of all tenants."""
    if caller is None or ALL in caller.tenants:
        return True
    return entry.tenant is not None and caller.covers(entry.tenant)


def _shown(name: str, entry: AuditEntry) -> AuditEntryResponse:
    return AuditEntryResponse(
        id=name,
        at=entry.at,
        action=entry.action,
        key_id=entry.key_id,
        tenant=entry.tenant,
        request_id=entry.request_id,
        detail=entry.detail,
    )
