"""The routes about a tenant's labels: taking them back."""

from fastapi import APIRouter

from app.api import examples, problems
from app.api.dependencies import Audited, Caller, Context, Tenants, needs
from app.api.documentation import WITH_TENANT, example, json_body, refusals
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery
from app.api.routes.tenants import TenantPath
from app.api.schemas.retractions import RetractionRequest, RetractionResponse
from app.tenants.labels.retraction import Asked

router = APIRouter(route_class=ApiRoute, tags=["labels"], dependencies=[KnownQuery])


@router.post(
    "/tenants/{tenant}/retract",
    summary="Take labels back",
    description="Afterwards the model is as if these labels had never been given, on every worker. Predictions "
    "continue meanwhile. A key without the role admin can take back the labels that it gave itself.",
    dependencies=[needs("feedback"), Audited],
    response_description="What was taken back.",
    responses=example(examples.RETRACTED)
    | refusals(*WITH_TENANT, problems.UNKNOWN_LABEL, problems.LABEL_TOO_OLD, problems.LOG_REPLACED),
    openapi_extra={"requestBody": {"content": json_body(examples.RETRACTIONS)}},
)
async def retract_labels(
    tenant: TenantPath, wanted: RetractionRequest, tenants: Tenants, caller: Caller, context: Context
) -> RetractionResponse:
    """Take labels back, or say what that would do."""
    only_key = None if caller is None or "admin" in caller.roles else caller.id
    asked = Asked(wanted.reason, key_id=caller.id if caller else None, request_id=context.request_id)
    found = await tenants.retract(tenant, wanted.wanted(only_key), asked, dry_run=wanted.dry_run)
    return RetractionResponse.of(tenant, found, dry_run=wanted.dry_run)
