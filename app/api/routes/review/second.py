"""The routes of blind second reviews: another person judges a labelled prediction without seeing its label."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.backend import Backend
from app.api.dependencies import Caller, Context, OwnTenant, Service, Tenants, needs
from app.api.documentation import WITH_TENANT, example, json_body, refusals
from app.api.errors import BadInput
from app.api.fast_path.http import decode
from app.api.fast_path.inputs import kept_example
from app.api.fast_path.messages import kept_decoder
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, whole_number
from app.api.responses import NO_STORE
from app.api.routes.predictions import PredictionId
from app.api.routes.review.queue import Moderator
from app.api.routes.tenants import TenantPath
from app.api.schemas.review.reasons import shown_input
from app.api.schemas.review.second import (
    MAX_ITEMS,
    SecondReviewDoneResponse,
    SecondReviewItemResponse,
    SecondReviewRequest,
    SecondReviewsResponse,
)
from app.auth.keys import Key
from app.review.people import Person
from app.review.queue import Reviewer
from app.storage.review.opinions import Said
from app.tenants.errors import PredictionExpired

router = APIRouter(route_class=ApiRoute, tags=["review"], dependencies=[KnownQuery])

ItemCount = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 0, MAX_ITEMS)),
    Query(ge=0, le=MAX_ITEMS, description="How many items; 0 leases nothing."),
]


@router.get(
    "/tenants/{tenant}/second-reviews",
    summary="Lease what needs a blind second opinion",
    description="A small share of the newest labels (`SLUICE_SECOND_REVIEW_SHARE`) by others, whose predictions are "
    "still kept. Neither the label nor the verdict is shown. Nobody else gets an item until its lease ends. HEAD "
    "leases nothing.",
    dependencies=[needs("feedback"), OwnTenant],
    response_description="The leased items; none if nothing waits for this person.",
    responses=example(examples.SECOND_REVIEWS) | refusals(*WITH_TENANT, problems.NOT_THIS_MODERATOR),
)
async def lease_second_reviews(  # noqa: PLR0913, PLR0917 - what FastAPI gives
    tenant: TenantPath,
    tenants: Tenants,
    service: Service,
    caller: Caller,
    context: Context,
    response: Response,
    limit: ItemCount = 1,
    moderator: Moderator = None,
) -> SecondReviewsResponse:
    """Lease predictions that another person has labelled."""
    response.headers["cache-control"] = NO_STORE
    held = tenants.held(tenant) or await tenants.hold(tenant, create=False)
    _person(caller, moderator)
    leased = await service.second_reviews.lease(held, Reviewer.of(caller, moderator), 0 if context.is_head else limit)
    shown = [await _item(service, tenant, each, leased.until_milliseconds) for each in leased.prediction_ids]
    return SecondReviewsResponse(
        tenant=tenant, waiting=leased.waiting, items=[each for each in shown if each is not None]
    )


@router.post(
    "/tenants/{tenant}/second-reviews/{prediction_id}",
    summary="Give a blind second opinion",
    description="It is kept for the figures of how far people agree. It is not learnt, and replaces no "
    "label. A request that is sent again does no harm.",
    dependencies=[needs("feedback"), OwnTenant],
    response_description="What was done.",
    responses=example(examples.SECOND_REVIEW_DONE)
    | refusals(*WITH_TENANT, problems.NOT_THIS_MODERATOR, problems.LEASE_LOST),
    openapi_extra={"requestBody": {"content": json_body(examples.SECOND_OPINIONS)}},
)
async def give_second_opinion(  # noqa: PLR0913, PLR0917 - what FastAPI gives
    tenant: TenantPath,
    prediction_id: Annotated[PredictionId, Path()],
    wanted: SecondReviewRequest,
    tenants: Tenants,
    service: Service,
    caller: Caller,
) -> SecondReviewDoneResponse:
    """Keep a second opinion, or pass the prediction on."""
    if tenants.held(tenant) is None:
        await tenants.hold(tenant, create=False)
    person, reviewer = _person(caller, wanted.moderator), Reviewer.of(caller, wanted.moderator)
    said = Said(wanted.label or 0, person.moderator, person.key_id)
    await service.second_reviews.answer(tenant, reviewer, prediction_id, wanted.action, said)
    return SecondReviewDoneResponse(tenant=tenant, prediction_id=prediction_id, action=wanted.action)


def _person(caller: Key | None, moderator: str | None) -> Person:
    """Return who takes part: it must be known: people do not judge their own labels."""
    name = caller.moderator_for(moderator) if caller is not None else moderator
    person = Person.of(name, caller.id if caller is not None else None)
    if person is None:
        raise BadInput("moderator is missing: give the name of who takes part")
    return person


async def _item(service: Backend, tenant: str, prediction_id: str, until: int) -> SecondReviewItemResponse | None:
    """Return what is shown of a prediction; None if it has expired just now."""
    try:
        kept = await service.predictions.recall(tenant, prediction_id)
    except PredictionExpired:
        return None
    scored = kept_example(decode(kept_decoder, kept.given), service.limits.max_features_per_example)
    raw = await service.predictions.recall_input(tenant, prediction_id)
    return SecondReviewItemResponse(
        prediction_id=prediction_id,
        at=kept.at_milliseconds,
        features=dict(zip(scored.names, scored.values.tolist(), strict=True)),
        input=await shown_input(raw),
        lease_until=until,
    )
