"""POST /tenants/{tenant}/explain: why an input would be an anomaly or not. Nothing is kept."""

from fastapi import APIRouter, Response
from msgspec import UNSET

from app.api import examples, problems
from app.api.dependencies import OwnTenant, Service, Tenants, needs
from app.api.documentation import WITH_TENANT, example, json_body, refusals
from app.api.fast_path.http import decode, encode
from app.api.fast_path.inputs import example_from, raw_input_of
from app.api.fast_path.messages import input_decoder
from app.api.fast_path.raw_inputs import featurize
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery
from app.api.responses import NO_STORE
from app.api.routes.predictions import explained_by
from app.api.routes.tenants import TenantPath
from app.api.schemas.review.explanation import ExplanationRequest, ExplanationResponse
from app.api.schemas.review.reasons import shown_input
from app.features.extraction import Extraction
from app.storage.review.inputs import RawInput

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])


@router.post(
    "/tenants/{tenant}/explain",
    summary="Explain an input",
    description="The verdict of the model as it is now, and its reasons with their places in the input, as "
    "GET /predictions/{id} has them for a kept prediction. Nothing is learnt, kept, counted or chosen for review.",
    dependencies=[needs("predict"), OwnTenant],
    response_description="The verdict and its reasons.",
    responses=example(examples.EXPLANATION) | refusals(*WITH_TENANT, problems.BAD_FEATURES),
    openapi_extra={"requestBody": {"content": json_body(examples.EXPLANATIONS)}},
)
async def explain_input(
    tenant: TenantPath, wanted: ExplanationRequest, tenants: Tenants, service: Service, response: Response
) -> ExplanationResponse:
    """Explain one input."""
    response.headers["cache-control"] = NO_STORE
    held = tenants.held(tenant) or await tenants.hold(tenant, create=False)
    item = decode(input_decoder, encode(wanted.model_dump(exclude={"explain"}, exclude_unset=True)))
    is_raw = any(each is not UNSET for each in (item.url, item.email, item.text))
    if is_raw:
        found = await featurize(service, item, held.state.config.featurizer)
    else:
        limits = service.limits
        found = Extraction(example_from(item, limits.max_features_per_example, limits.max_feature_name_bytes), ())
    raw = RawInput(*raw_input_of(item)) if is_raw else None
    shown = await explained_by(held, found.example, raw, wanted.explain)
    return ExplanationResponse(
        **shown.model_dump(),
        tenant=held.name,
        algorithm=str(held.state.config.values["algorithm"]),
        threshold=held.state.model.threshold,
        has_no_opinion=shown.score is None or held.state.has_no_opinion(shown.score),
        features=found.example.keys.size,
        cut=list(found.cut),
        input=await shown_input(raw),
    )
