"""POST /predict/batch and /feedback/batch: many items at once, as JSON or as a stream of lines."""

from collections.abc import Sequence

from fastapi import APIRouter
from msgspec import UNSET, Raw
from starlette.requests import Request
from starlette.responses import Response

from app.api import operations
from app.api.answers import Answer, encode
from app.api.bodies import decoded, is_lines, read_json
from app.api.errors import BadInput, TooLarge
from app.api.giving import asked_feedback, give_all, idempotency_key
from app.api.inputs import input_bytes, tenant_asked
from app.api.pacing import one_by_one
from app.api.predicting import predicted, predicted_raw
from app.api.problems import ItemRefused, refused
from app.api.serving import DirectRoute, Serving, serving, serving_labels
from app.api.streams import feedback_stream, predict_stream, tenant_of_all
from app.api.together import predicted_together, slices
from app.api.wire import (
    BatchIn,
    FeedbackBatchOut,
    PredictBatchIn,
    PredictBatchOut,
    PredictIn,
    PredictOut,
    batch_decoder,
    predict_batch_decoder,
    predict_decoder,
)
from app.learning.errors import SluiceError, short_repr
from app.tenants.tenant import Tenant

router = APIRouter(route_class=DirectRoute)


@router.post("/predict/batch", **operations.PREDICT_BATCH)
async def predict_batch(request: Request) -> Response:
    """Score many inputs."""
    serve = serving(request)
    if is_lines(request):
        return predict_stream(request, serve)
    asked = _questions(await read_json(request, serve.limits.max_body_bytes), serve)
    _check_tenant(asked, request)
    request.scope["tenant"] = asked.tenant
    tenant = await serve.tenant(asked.tenant)
    request_id = request.scope["request_id"]
    results: list[PredictOut | ItemRefused] = []
    items: Sequence[PredictIn | Raw] = asked.items
    for some in slices(items, [len(item if isinstance(item, Raw) else item.features) for item in items]):
        results += await _predicted_all(serve, tenant, some, request_id)
        await serve.pending.give_way()
    return Answer(encode(PredictBatchOut(results)))


@router.post("/feedback/batch", **operations.FEEDBACK_BATCH)
async def give_feedback_batch(request: Request) -> Response:
    """Learn many labels."""
    serve = serving_labels(request)
    if idempotency_key(request) is not None:
        raise BadInput("an Idempotency-Key header cannot stand for many items: give each its feedback_id")
    if is_lines(request):
        return feedback_stream(request, serve)
    asked = decoded(batch_decoder, await read_json(request, serve.limits.max_body_bytes))
    _check_size(asked, serve)
    _check_tenant(asked, request)
    request.scope["tenant"] = asked.tenant
    tenant = await serve.tenant(asked.tenant)
    given = await give_all(serve, tenant, [asked_feedback(bytes(item), tenant.name) for item in asked.items])
    request_id = request.scope["request_id"]
    return Answer(
        encode(FeedbackBatchOut([refused(each, request_id) if isinstance(each, Exception) else each for each in given]))
    )


def _questions(body: bytes, serve: Serving) -> BatchIn | PredictBatchIn:
    """All items in one go; one by one if one of them is bad, to find out which."""
    asked: BatchIn | PredictBatchIn
    try:
        asked = decoded(predict_batch_decoder, body)
    except SluiceError:
        asked = decoded(batch_decoder, body)
    _check_size(asked, serve)
    return asked


def _check_tenant(asked: BatchIn | PredictBatchIn, request: Request) -> None:
    """The query is for lines; who names the tenant there too must mean the same."""
    named = tenant_of_all(request)
    if named not in {None, asked.tenant}:
        raise BadInput(f"the batch is of tenant {short_repr(asked.tenant)}, but the query names tenant {named!r}")


def _check_size(asked: BatchIn | PredictBatchIn, serve: Serving) -> None:
    at_most = serve.limits.max_batch_items
    if len(asked.items) > at_most:
        raise TooLarge(f"the batch has {len(asked.items):,} items", at_most, "items", "SLUICE_MAX_BATCH_ITEMS")


async def _predicted_all(
    serve: Serving, tenant: Tenant, items: Sequence[PredictIn | Raw], request_id: str
) -> Sequence[PredictOut | ItemRefused]:
    """All in one go if there is nothing unusual about them, else one by one."""
    asked = [
        item for item in items if isinstance(item, PredictIn) and (item.tenant is UNSET or item.tenant == tenant.name)
    ]
    results = predicted_together(serve, tenant, asked) if len(asked) == len(items) else None
    return results or await one_by_one(_predicted(serve, tenant, item, request_id) for item in items)


async def _predicted(
    serve: Serving, tenant: Tenant, item: PredictIn | Raw, request_id: str
) -> PredictOut | ItemRefused:
    try:
        asked = decoded(predict_decoder, item) if isinstance(item, Raw) else item
        tenant_asked(asked, tenant.name)
        if not asked.features:
            return await predicted_raw(serve, tenant, asked)
        return predicted(serve, tenant, asked, input_bytes(asked))
    except Exception as error:  # noqa: BLE001 - told in the item's place, and logged if it is a mistake of ours
        return refused(error, request_id)
