"""POST /feedback: append a label to the log, and learn it."""

import asyncio
import math
from collections.abc import Sequence

import msgspec
from fastapi import APIRouter
from msgspec import UNSET
from starlette.requests import Request

from app.api import examples, problems
from app.api.backend import Backend
from app.api.context import CONTEXT, RequestContext
from app.api.dependencies import needs, tenants_of
from app.api.documentation import USING_TENANT, body, example, json_body, parameter, refusals
from app.api.errors import BadInput, ClientGone
from app.api.fast_path.http import Answer, FastRoute, decode, encode, read_input
from app.api.fast_path.inputs import (
    FEEDBACK_INPUTS,
    check_id,
    check_ids,
    check_tenant_name,
    example_from,
    kept_example,
    with_moderator,
)
from app.api.fast_path.mails import mail_with_label
from app.api.fast_path.messages import (
    EarlierLabel,
    FeedbackItem,
    LearntFeedback,
    ServedVerdict,
    feedback_decoder,
    kept_decoder,
)
from app.api.fast_path.raw_inputs import featurize
from app.api.fast_path.time_slice import TimeSlice
from app.api.routes.predict import FOR_MAIL, MAIL_BODY, MAIL_TENANT
from app.api.schemas.feedback import (
    FEEDBACK_ID_DESCRIPTION,
    LABEL_DESCRIPTION,
    MODERATOR_DESCRIPTION,
    FeedbackRequest,
    FeedbackResponse,
)
from app.api.schemas.names import ID_PATTERN
from app.learning.errors import SluiceError
from app.learning.events import Served
from app.learning.example import Example
from app.tenants.errors import PredictionExpired
from app.tenants.tenant import Feedback, FeedbackResult, Tenant

router = APIRouter(route_class=FastRoute, tags=["feedback"])
IDEMPOTENCY_KEY = b"idempotency-key"
NO_LOSS = "no loss: the score was already right by a margin"
NOT_FINITE = "the score is not finite: weights of the model have overflowed"
ID_SCHEMA = {"type": "string", "pattern": ID_PATTERN}

Parsed = FeedbackItem | Exception
Given = FeedbackResult | SluiceError
Resolved = Feedback | LearntFeedback | Exception  # to be learnt, answered already, or refused


@router.post(
    "/feedback",
    name="give_feedback",
    summary="Learn one label",
    description="Says what an input was. The answer comes when the label is in the log and learnt, so it cannot be "
    "lost. Send the input, as for `/predict`, or the `prediction_id` of its prediction. With a `feedback_id`, a retry "
    "is harmless. A second label for a prediction replaces the first, as if that had never been given.",
    dependencies=[needs("feedback")],
    response_model=FeedbackResponse,
    response_description="What the label did.",
    responses=example(examples.GIVEN)
    | refusals(
        *USING_TENANT,
        problems.FEEDBACK_CONFLICT,
        problems.FEEDBACK_FORGOTTEN,
        problems.LABEL_TOO_OLD,
        problems.NOT_THIS_MODERATOR,
        problems.PREDICTION_EXPIRED,
        problems.TOO_MANY_LABELS,
        problems.UPDATE_VETOED,
        problems.BAD_FEATURES,
    ),
    openapi_extra=body(
        json_body(
            {
                "features": examples.FEEDBACK,
                "url": examples.FEEDBACK_URL,
                "prediction_id": examples.FEEDBACK_BY_ID,
            },
            FeedbackRequest,
        ),
        MAIL_BODY,
        parameters=[
            parameter("Idempotency-Key", ID_SCHEMA, "The feedback_id, if the body has none.", where="header"),
            MAIL_TENANT,
            parameter("label", {"type": "integer", "enum": [1, -1]}, FOR_MAIL + LABEL_DESCRIPTION),
            parameter("feedback_id", ID_SCHEMA, FOR_MAIL + FEEDBACK_ID_DESCRIPTION),
            parameter("moderator", ID_SCHEMA, FOR_MAIL + MODERATOR_DESCRIPTION),
        ],
    ),
)
async def give_feedback(request: Request) -> Answer:
    """Learn one label."""
    backend: Backend = request.scope["app"].state.backend
    read = await read_input(request, backend.limits)
    message = decode(feedback_decoder, read) if isinstance(read, bytes) else mail_with_label(request, read)
    key = idempotency_key(request)
    if key is not None and message.feedback_id != key:
        if message.feedback_id is not None:
            raise BadInput(f"feedback_id {message.feedback_id!r} and the Idempotency-Key header {key!r} differ")
        message = msgspec.structs.replace(message, feedback_id=key)
    context: RequestContext = request.scope[CONTEXT]
    context.tenant = message.tenant
    tenants = backend.tenants if context.key is None else tenants_of(request)
    tenant = tenants.held(message.tenant) or await tenants.hold(check_tenant_name(message.tenant))
    [result] = await learn_all(backend, context, tenant, [message])
    if isinstance(result, Exception):
        raise result
    return Answer(encode(result))


def idempotency_key(request: Request) -> str | None:
    """Return the Idempotency-Key header, which stands for a feedback_id."""
    found = [value for name, value in request.scope["headers"] if name == IDEMPOTENCY_KEY]
    if not found:
        return None
    if len(found) > 1:
        raise BadInput("there is more than one Idempotency-Key header")
    try:
        return check_id("Idempotency-Key", found[0].decode())
    except UnicodeDecodeError:
        raise BadInput("the Idempotency-Key header is not UTF-8") from None


async def learn_all(
    backend: Backend, context: RequestContext, tenant: Tenant, items: Sequence[Parsed]
) -> list[LearntFeedback | Exception]:
    """Learn all valid items in one call; the error of a refused item stands in its place."""
    if context.key is not None and context.key.moderator is not None:
        items = [with_moderator(item, context.key) for item in items]
    cuts: dict[int, Sequence[str]] = {}
    resolved = await _resolve_all(backend, context, tenant, items, cuts)
    if backend.label_rates.per_minute:
        resolved = [_check_label_rate(backend, tenant, each) for each in resolved]
    valid = [each for each in resolved if isinstance(each, Feedback)]
    results = iter(await tenant.give(valid, context) if valid else ())
    answers = [
        _answer(tenant, each.label, each.served, next(results), each.chosen_with)
        if isinstance(each, Feedback)
        else each
        for each in resolved
    ]
    for index, cut in cuts.items():
        answer = answers[index]
        if isinstance(answer, LearntFeedback):
            answers[index] = msgspec.structs.replace(answer, cut=cut)
    return answers


async def _resolve_all(
    backend: Backend,
    context: RequestContext,
    tenant: Tenant,
    items: Sequence[Parsed],
    cuts: dict[int, Sequence[str]],
) -> list[Resolved]:
    """Find the example of every item; note in `cuts` what was not read. Kept predictions are read concurrently."""
    resolved: list[Resolved | None] = []
    time_slice = TimeSlice() if len(items) > 1 else None
    for index, item in enumerate(items):
        found = _resolve_at_once(backend, context, item)
        if found is None and isinstance(item, FeedbackItem) and item.prediction_id is UNSET:
            try:
                features = await featurize(backend, item, tenant.state.config.featurizer)
            except Exception as error:  # noqa: BLE001 - it stands in the item's place, and is logged if unexpected
                found = error
            else:
                found = _feedback(context, item, features.example)
                if features.cut:
                    cuts[index] = features.cut
        resolved.append(found)
        if time_slice is not None and time_slice.is_over():
            await asyncio.sleep(0)
            if context.is_client_gone:
                raise ClientGone
    absent = [index for index, each in enumerate(resolved) if each is None]
    recalls = [_recall(backend, context, tenant, items[index]) for index in absent]
    # A single one needs no task, which would have to wait for its turn.
    recalled = await asyncio.gather(*recalls) if len(recalls) > 1 else [await each for each in recalls]
    for index, feedback in zip(absent, recalled, strict=True):
        resolved[index] = feedback
    return resolved  # type: ignore[return-value]  # none is None now


def _resolve_at_once(backend: Backend, context: RequestContext, item: Parsed) -> Feedback | Exception | None:
    """Return the feedback if it carries its features; None if they have to be found."""
    if isinstance(item, Exception):
        return item
    try:
        check_ids(item)
        if item.prediction_id is UNSET:
            if not item.features or not (item.url is item.email is item.text is UNSET):
                return None
            limits = backend.limits
            example = example_from(item, limits.max_features_per_example, limits.max_feature_name_bytes)
            return _feedback(context, item, example)
        if item.features or not (item.url is item.email is item.text is UNSET):
            raise BadInput(f"both a prediction_id and an input are given; send {FEEDBACK_INPUTS}")
    except SluiceError as error:
        return error
    return None


async def _recall(backend: Backend, context: RequestContext, tenant: Tenant, item: Parsed) -> Resolved:
    """Find the features of a kept prediction."""
    assert isinstance(item, FeedbackItem)
    assert isinstance(item.prediction_id, str)
    try:
        kept = await backend.predictions.recall(tenant.name, item.prediction_id)
        given = decode(kept_decoder, kept.given)
        example = kept_example(given, backend.limits.max_features_per_example)
    except PredictionExpired as expired:
        return await _answer_again(context, tenant, item) or expired
    except SluiceError as error:
        return error
    feedback = _feedback(context, item, example, Served(kept.label, kept.score), kept.at_milliseconds)
    return msgspec.structs.replace(feedback, chosen_with=kept.chosen_with) if kept.chosen_with else feedback


async def _answer_again(
    context: RequestContext, tenant: Tenant, item: FeedbackItem
) -> LearntFeedback | Exception | None:
    """Answer a retry also when its prediction has expired since."""
    if item.feedback_id is None:
        return None
    try:
        found = await tenant.earlier_answer(item.feedback_id, item.label, context)
    except SluiceError as error:
        return error
    return _answer(tenant, item.label, found[1], found[0]) if found else None


def _feedback(
    context: RequestContext,
    item: FeedbackItem,
    example: Example,
    served: Served | None = None,
    served_at: int | None = None,
) -> Feedback:
    return Feedback(
        item.label,
        example,
        item.feedback_id,
        item.moderator,
        item.prediction_id if isinstance(item.prediction_id, str) else None,
        served,
        served_at,
        context.key.id if context.key else None,
        context.request_id,
    )


def _check_label_rate(backend: Backend, tenant: Tenant, resolved: Resolved) -> Resolved:
    """Refuse a label of a moderator, or of a key, that labels too fast."""
    labeller = (resolved.moderator or resolved.key_id) if isinstance(resolved, Feedback) else None
    if labeller is not None:
        try:
            backend.label_rates.take(tenant.name, labeller)
        except SluiceError as refused:
            return refused
    return resolved


def _answer(
    tenant: Tenant, label: int, served: Served | None, given: Given, chosen_with: float | None = None
) -> LearntFeedback | Exception:
    if isinstance(given, Exception):
        return given
    outcome = given.outcome
    is_finite = outcome.score is None or math.isfinite(outcome.score)
    return LearntFeedback(
        tenant=tenant.name,
        feedback_id=given.feedback_id,
        version=outcome.version,
        label=label,  # type: ignore[arg-type]  # 1 or -1
        predicted=outcome.predicted,  # type: ignore[arg-type]  # 1 or -1
        score=outcome.score,
        loss=outcome.loss,
        updated=outcome.updated,
        duplicate=given.duplicate,
        reason=None if outcome.updated else outcome.refused or (NO_LOSS if is_finite else NOT_FINITE),
        served=ServedVerdict(served.label, served.score) if served else None,  # type: ignore[arg-type]  # 1 or -1
        chosen_with=UNSET if chosen_with is None else chosen_with,
        replaced=EarlierLabel(*msgspec.structs.astuple(outcome.replaced)) if outcome.replaced else UNSET,
    )
