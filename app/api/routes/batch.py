"""POST /predict/batch and /feedback/batch: many items at once, as JSON or as a stream of lines."""

from collections.abc import Sequence

from fastapi import APIRouter
from msgspec import UNSET, Raw
from starlette.requests import Request
from starlette.responses import Response

from app.api import examples
from app.api.backend import Backend
from app.api.context import RequestContext
from app.api.dependencies import backend_of, context_of, needs, tenants_of
from app.api.documentation import (
    LINES_SCHEMA,
    NDJSON,
    USING_TENANT,
    answer_in,
    body,
    json_body,
    other_body,
    parameter,
    refusals,
)
from app.api.errors import BadInput, ClientGone, TooLarge
from app.api.fast_path.batch_scores import predict_together, slices
from app.api.fast_path.http import Answer, FastRoute, decode, encode, read_json, sends_lines
from app.api.fast_path.inputs import check_tenant_name, input_bytes, tenant_of
from app.api.fast_path.messages import (
    BatchMessage,
    LearntBatch,
    PredictBatchMessage,
    Prediction,
    Predictions,
    PredictItem,
    batch_decoder,
    predict_batch_decoder,
    predict_item_decoder,
)
from app.api.fast_path.time_slice import one_by_one
from app.api.responses import ItemError, item_error
from app.api.routes.feedback import idempotency_key, learn_all
from app.api.routes.predict import predict_features, predict_raw_input
from app.api.routes.stream import feedback_stream, parse_feedback, predict_stream, query_tenant
from app.api.schemas.feedback import FeedbackBatchRequest, FeedbackBatchResponse
from app.api.schemas.names import TENANT_PATTERN
from app.api.schemas.predictions import PredictBatchRequest, PredictBatchResponse
from app.learning.errors import SluiceError, short_repr
from app.tenants.tenant import Tenant

router = APIRouter(route_class=FastRoute)
LINES_TENANT = parameter(
    "tenant",
    {"type": "string", "pattern": TENANT_PATTERN},
    "For NDJSON: the tenant of all lines, which may then leave it out.",
)
LINES_ANSWER = other_body(NDJSON, LINES_SCHEMA, "")


@router.post(
    "/predict/batch",
    tags=["predict"],
    summary="Score many inputs",
    description="Results are in the order of the items; a bad item gets an `error` in its place. As "
    "`application/x-ndjson`, lines are answered while they arrive; read the answer while you send.",
    dependencies=[needs("predict")],
    response_model=PredictBatchResponse,
    response_description="A result for every item.",
    responses=answer_in(json_body({"results": examples.PREDICTED_BATCH}), LINES_ANSWER) | refusals(*USING_TENANT),
    openapi_extra=body(
        json_body({"items": examples.PREDICT_BATCH}, PredictBatchRequest),
        other_body(NDJSON, LINES_SCHEMA, '{"tenant":"acme","features":{"token:free":1}}\n'),
        parameters=[LINES_TENANT],
    ),
)
async def predict_batch(request: Request) -> Response:
    """Score many inputs."""
    backend, context = backend_of(request), context_of(request)
    if sends_lines(request):
        return predict_stream(request)
    read = await read_json(request, backend.limits.max_body_bytes)
    batch: BatchMessage | PredictBatchMessage
    try:
        batch = decode(predict_batch_decoder, read)
    except SluiceError:  # an item is bad: decode each alone, to find out which
        batch = decode(batch_decoder, read)
    tenant = await _tenant(request, backend, context, batch)
    results: list[Prediction | ItemError] = []
    items: Sequence[PredictItem | Raw] = batch.items
    for some in slices(items, [len(item if isinstance(item, Raw) else item.features) for item in items]):
        results += await _predict_some(backend, tenant, some, context.request_id)
        await backend.predictions.give_way()
        if context.is_client_gone:
            raise ClientGone
    return Answer(encode(Predictions(results)))


@router.post(
    "/feedback/batch",
    name="give_feedback_batch",
    tags=["feedback"],
    summary="Learn many labels",
    description="As `/feedback` for every item; results are in the order of the items, and a bad item gets an `error` "
    "in its place. As `application/x-ndjson`, lines are learnt while they arrive. There is no `Idempotency-Key`: each "
    "item has its `feedback_id`.",
    dependencies=[needs("feedback")],
    response_model=FeedbackBatchResponse,
    response_description="A result for every item.",
    responses=answer_in(json_body({"results": examples.GIVEN_BATCH}), LINES_ANSWER) | refusals(*USING_TENANT),
    openapi_extra=body(
        json_body({"items": examples.FEEDBACK_BATCH}, FeedbackBatchRequest),
        other_body(NDJSON, LINES_SCHEMA, '{"tenant":"acme","features":{"token:free":1},"label":1}\n'),
        parameters=[LINES_TENANT],
    ),
)
async def give_feedback_batch(request: Request) -> Response:
    """Learn many labels."""
    backend, context = backend_of(request), context_of(request)
    if idempotency_key(request) is not None:
        raise BadInput("an Idempotency-Key header cannot stand for many items: give each item its feedback_id")
    if sends_lines(request):
        return feedback_stream(request)
    batch = decode(batch_decoder, await read_json(request, backend.limits.max_body_bytes))
    tenant = await _tenant(request, backend, context, batch)
    items = [parse_feedback(bytes(item), tenant.name) for item in batch.items]
    results = await learn_all(backend, context, tenant, items)
    return Answer(
        encode(
            LearntBatch(
                [item_error(each, context.request_id) if isinstance(each, Exception) else each for each in results]
            )
        )
    )


async def _tenant(
    request: Request, backend: Backend, context: RequestContext, batch: BatchMessage | PredictBatchMessage
) -> Tenant:
    """Check the batch's size and the query, and return the batch's tenant."""
    limit = backend.limits.max_batch_items
    if len(batch.items) > limit:
        raise TooLarge(f"the batch has {len(batch.items):,} items", limit, "items", "SLUICE_MAX_BATCH_ITEMS")
    named = query_tenant(request)  # for lines; in a JSON request it must name the same tenant
    if named not in {None, batch.tenant}:
        raise BadInput(f"the batch belongs to tenant {short_repr(batch.tenant)}, but the query names tenant {named!r}")
    context.tenant = batch.tenant
    tenants = tenants_of(request)
    return tenants.held(batch.tenant) or await tenants.hold(check_tenant_name(batch.tenant))


async def _predict_some(
    backend: Backend, tenant: Tenant, items: Sequence[PredictItem | Raw], request_id: str
) -> Sequence[Prediction | ItemError]:
    """Score all items in one call if none of them is unusual, else one by one."""
    usual = [
        item for item in items if isinstance(item, PredictItem) and (item.tenant is UNSET or item.tenant == tenant.name)
    ]
    results = predict_together(backend, tenant, usual) if len(usual) == len(items) else None
    return results or await one_by_one(_predict_one(backend, tenant, item, request_id) for item in items)


async def _predict_one(
    backend: Backend, tenant: Tenant, given: PredictItem | Raw, request_id: str
) -> Prediction | ItemError:
    try:
        item = decode(predict_item_decoder, given) if isinstance(given, Raw) else given
        tenant_of(item, tenant.name)
        if item.features and item.url is item.email is item.text is UNSET:
            return predict_features(backend, tenant, item, input_bytes(item))
        return await predict_raw_input(backend, tenant, item)
    except Exception as error:  # noqa: BLE001 - it stands in the item's place, and is logged if unexpected
        return item_error(error, request_id)
