"""GET /predictions/{id}/similar: how people have labelled before what looks like it."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.backend import Backend, TenantRegistry
from app.api.dependencies import Caller, Service, Tenants, needs
from app.api.documentation import WITH_TENANT, example, refusals
from app.api.fast_path.http import decode
from app.api.fast_path.inputs import kept_example
from app.api.fast_path.messages import kept_decoder
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, whole_number
from app.api.responses import NO_STORE
from app.api.routes.predictions import PredictionId, TenantQuery, tenant_of
from app.api.schemas.review.reasons import shown_input
from app.api.schemas.review.similar import SimilarLabelResponse, SimilarResponse
from app.learning.example import Example
from app.tenants.errors import PredictionExpired
from app.tenants.labels.similarity import SimilarLabel
from app.tenants.labels.stored_labels import LabelFilter

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])
MOST = 20

Limit = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 1, MOST)),
    Query(ge=1, le=MOST, description="How many labels."),
]


@router.get(
    "/predictions/{prediction_id}/similar",
    summary="Show labels of similar inputs",
    description="Among the newest labels of the tenant that stand, those whose inputs have the most features in common "
    "with that of the prediction. Labels of the prediction itself are left out. `input` is null if it is not kept.",
    dependencies=[needs("review")],
    response_description="The labels, the most similar first.",
    responses=example(examples.SIMILAR) | refusals(*WITH_TENANT, problems.PREDICTION_EXPIRED),
)
async def show_similar(  # noqa: PLR0913, PLR0917 - what FastAPI gives
    prediction_id: Annotated[PredictionId, Path()],
    tenants: Tenants,
    service: Service,
    caller: Caller,
    response: Response,
    tenant: TenantQuery = None,
    limit: Limit = 5,
) -> SimilarResponse:
    """Find the labels of similar inputs."""
    response.headers["cache-control"] = NO_STORE
    name = (await tenants.hold(tenant_of(tenant, caller), create=False)).name
    scored = await _scored(service, tenants, name, prediction_id)
    found = await tenants.similar_labels(name, scored, limit, prediction_id)
    return SimilarResponse(
        prediction_id=prediction_id,
        tenant=name,
        compared=found.compared,
        anomalies=found.anomalies,
        normal=found.normal,
        labels=await asyncio.gather(*(_shown(service, name, each) for each in found.labels)),
    )


async def _scored(service: Backend, tenants: TenantRegistry, name: str, prediction_id: str) -> Example:
    """Return what was scored: it is kept, or the log has it with a label."""
    try:
        kept = await service.predictions.recall(name, prediction_id)
    except PredictionExpired:
        async for label, _ in await tenants.labels(name, LabelFilter(prediction_id=prediction_id)):
            if (labelled := await tenants.labelled_example(name, label.version)) is not None:
                return labelled
        raise
    return kept_example(decode(kept_decoder, kept.given), service.limits.max_features_per_example)


async def _shown(service: Backend, tenant: str, found: SimilarLabel) -> SimilarLabelResponse:
    label = found.label
    raw = await service.predictions.recall_input(tenant, label.prediction_id) if label.prediction_id else None
    return SimilarLabelResponse(
        similarity=found.similarity,
        label=label.label,
        at=label.at_milliseconds,
        version=label.version,
        moderator=label.moderator,
        prediction_id=label.prediction_id,
        shared=list(found.shared),
        input=await shown_input(raw),
    )
