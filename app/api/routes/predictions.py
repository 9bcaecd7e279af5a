"""GET /predictions/{id}: what was answered, why then and why now, and how it was labelled."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.backend import Backend, TenantRegistry
from app.api.dependencies import Caller, Service, Tenants, needs
from app.api.documentation import WITH_TENANT, example, refusals
from app.api.errors import BadInput
from app.api.fast_path.http import decode
from app.api.fast_path.inputs import kept_example
from app.api.fast_path.messages import kept_decoder
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, whole_number
from app.api.schemas.labels import LabelResponse
from app.api.schemas.names import ID_PATTERN, TENANT_DESCRIPTION, TENANT_PATTERN
from app.api.schemas.predictions import MAX_EXPLAINED, ContributionResponse, ExplainedResponse, PredictionResponse
from app.api.schemas.review.reasons import shown_input, shown_reasons
from app.auth.keys import Key
from app.learning.example import Example
from app.learning.review import REASONS
from app.storage.review.inputs import RawInput
from app.tenants.errors import PredictionExpired
from app.tenants.labels.stored_labels import LabelFilter
from app.tenants.predictions.blocks import KeptPrediction
from app.tenants.tenant import Tenant

router = APIRouter(route_class=ApiRoute, tags=["labels"], dependencies=[KnownQuery])
LABELS_SHOWN = 100
BIAS = 1  # the feature that an example may have beside its own
NOT_KEPT = "the prediction is not kept any more"
OUT_OF_REACH = "the log does not reach back to version {version:,}"
OTHER_HISTORY = "the model has been replaced since"
ON_REQUEST = "the model has learnt since; GET /predictions/{{id}} builds version {version:,} again"

PredictionId = Annotated[str, Path(pattern=ID_PATTERN)]
TenantQuery = Annotated[
    str | None,
    Query(pattern=TENANT_PATTERN, description=TENANT_DESCRIPTION + " A key for one tenant need not name it."),
]
Explain = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("explain", str(text), 0, MAX_EXPLAINED)),
    Query(ge=0, le=MAX_EXPLAINED, description="How many reasons, then and now."),
]


@router.get(
    "/predictions/{prediction_id}",
    summary="Show a prediction",
    description="What was answered, why then and why now, what was scored if it is kept, and its labels. For the "
    "reasons then, the model of that version is built again from a snapshot and the log; `explain=0` leaves that out. "
    "`input` is what was sent, if the tenant's `keep_inputs` has kept it.",
    dependencies=[needs("review")],
    response_description="The prediction.",
    responses=example(examples.PREDICTION) | refusals(*WITH_TENANT, problems.PREDICTION_EXPIRED),
)
async def show_prediction(  # noqa: PLR0913, PLR0917 - what FastAPI gives
    prediction_id: PredictionId,
    tenants: Tenants,
    service: Service,
    caller: Caller,
    tenant: TenantQuery = None,
    explain: Explain = 10,
) -> PredictionResponse:
    """Show a prediction, its reasons and its labels."""
    held = await tenants.hold(tenant_of(tenant, caller), create=False)
    return await shown_prediction(service, tenants, held, prediction_id, explain)


async def shown_prediction(  # noqa: PLR0913 - what a prediction is shown with
    service: Backend,
    tenants: TenantRegistry,
    held: Tenant,
    prediction_id: str,
    explain: int,
    *,
    is_queued: bool = False,
) -> PredictionResponse:
    """Return a prediction; one of the review queue has no label, and its model is not built again."""
    reason = 0
    kept = await _kept(service, held.name, prediction_id)
    labels = [] if is_queued else await _labels(tenants, held.name, prediction_id)
    if kept is not None:
        scored: Example | None = kept_example(decode(kept_decoder, kept.given), service.limits.max_features_per_example)
        label, score, version, at = kept.label, kept.score, kept.version, kept.at_milliseconds
        chosen_with, reason = kept.chosen_with or None, kept.review_reason
    elif labels:
        first = labels[-1]
        scored = await tenants.labelled_example(held.name, first.version)
        label, score, version, at = first.served_label, first.served_score, None, first.served_at  # type: ignore[assignment]
        chosen_with = first.chosen_with
    else:
        raise PredictionExpired(prediction_id)
    raw = await service.predictions.recall_input(held.name, prediction_id) if kept is not None else None
    then, unknown = None, NOT_KEPT
    if is_queued and kept is not None and held.state.version != kept.version:
        unknown = ON_REQUEST.format(version=kept.version)
    elif explain and kept is not None and scored is not None:
        then, unknown = await _then(tenants, held, kept, scored, raw, explain)
    return PredictionResponse(
        prediction_id=prediction_id,
        tenant=held.name,
        label=label,  # type: ignore[arg-type]  # 1 or -1
        score=score,
        version=version,
        at=at,
        chosen_with=chosen_with,
        review_reason=REASONS[reason] or None,  # type: ignore[arg-type]  # one of the names
        features=dict(zip(scored.names, scored.values.tolist(), strict=True)) if scored is not None else None,
        input=await shown_input(raw),
        then=then,
        then_unknown=None if then is not None or not explain else unknown,
        now=await explained_by(held, scored, raw, explain) if scored is not None else None,
        labels=labels,
    )


def tenant_of(given: str | None, caller: Key | None) -> str:
    """Return the tenant that is asked for, or that of a key for one tenant."""
    if given is not None:
        return given
    own = caller.tenants if caller is not None else ()
    if len(own) != 1 or own[0].endswith("*"):
        raise BadInput("tenant is missing: give the name of the tenant as a query parameter, such as ?tenant=acme")
    return own[0]


async def _kept(service: Backend, tenant: str, prediction_id: str) -> KeptPrediction | None:
    try:
        return await service.predictions.recall(tenant, prediction_id)
    except PredictionExpired:
        return None


async def _labels(tenants: TenantRegistry, tenant: str, prediction_id: str) -> list[LabelResponse]:
    found: list[LabelResponse] = []
    async for label, retraction in await tenants.labels(tenant, LabelFilter(prediction_id=prediction_id)):
        found.append(LabelResponse.of(label, retraction))
        if len(found) == LABELS_SHOWN:
            break
    return found


async def _then(  # noqa: PLR0913, PLR0917 - all that is known of the prediction
    tenants: TenantRegistry, held: Tenant, kept: KeptPrediction, scored: Example, raw: RawInput | None, explain: int
) -> tuple[ExplainedResponse | None, str]:
    """Explain a verdict by the model that gave it, or say why that cannot be known."""
    model: Tenant | None = held
    if held.state.version != kept.version:
        model = await tenants.as_of(held.name, kept.version)
    if model is None:
        return None, OUT_OF_REACH.format(version=kept.version)
    if model.state.predict(scored)[0] != kept.score:
        return None, OTHER_HISTORY
    return await explained_by(model, scored, raw, explain), ""


async def explained_by(tenant: Tenant, scored: Example, raw: RawInput | None, explain: int) -> ExplainedResponse:
    """Return the verdict of a model, and its reasons."""
    copy = Tenant(tenant.name, tenant.state, tenant.position)  # this is no prediction that metrics should count
    verdict = copy.predict(scored, scored.keys.size + BIAS if explain else 0)
    features = [ContributionResponse(feature=name, contribution=value) for name, value in verdict.contributions]
    return ExplainedResponse(
        label=verdict.label,  # type: ignore[arg-type]  # 1 or -1
        score=verdict.score,
        probability=verdict.probability,
        version=verdict.version,
        explanation=features[:explain],
        reasons=await shown_reasons(raw, verdict.contributions, explain),
    )
