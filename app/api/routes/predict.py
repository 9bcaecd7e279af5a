"""POST /predict: score one input."""

from collections.abc import Sequence
from functools import partial

from fastapi import APIRouter
from msgspec import UNSET
from starlette.requests import Request

from app.api import examples, problems
from app.api.backend import Backend
from app.api.context import CONTEXT, RequestContext
from app.api.dependencies import needs, tenants_of
from app.api.documentation import (
    BINARY_SCHEMA,
    MAIL,
    USING_TENANT,
    body,
    example,
    json_body,
    other_body,
    parameter,
    refusals,
)
from app.api.fast_path.http import Answer, FastRoute, decode, encode, read_input
from app.api.fast_path.inputs import check_example, check_tenant_name, raw_input_of
from app.api.fast_path.mails import mail_to_predict
from app.api.fast_path.messages import Contribution, Prediction, PredictItem, predict_decoder
from app.api.fast_path.raw_inputs import featurize, kept_form
from app.api.schemas.names import TENANT_PATTERN
from app.api.schemas.predictions import (
    EXPLAIN_DESCRIPTION,
    KEEP_DESCRIPTION,
    MAX_EXPLAINED,
    PredictRequest,
    PredictResponse,
)
from app.learning.example import example_of_json
from app.learning.review import REASONS
from app.tenants.predictions.blocks import Kept
from app.tenants.tenant import Tenant, Verdict
from kernels.evaluation.review import UNKNOWN

router = APIRouter(route_class=FastRoute, tags=["predict"])
FOR_MAIL = "For message/rfc822. "
MAIL_BODY = other_body(MAIL, BINARY_SCHEMA, examples.MAIL)
MAIL_TENANT = parameter("tenant", {"type": "string", "pattern": TENANT_PATTERN}, FOR_MAIL + "The tenant.")


@router.post(
    "/predict",
    summary="Score one input",
    description="Says whether an input is an anomaly. Nothing is learnt, and the store is not used. Send `features`, "
    "one of `url`, `email` and `text`, or both. An e-mail may also be the whole body, as `message/rfc822`: then the "
    "query has the other fields. With JSON, send no query parameters.",
    dependencies=[needs("predict")],
    response_model=PredictResponse,
    response_description="The verdict.",
    responses=example(examples.PREDICTED) | refusals(*USING_TENANT, problems.BAD_FEATURES),
    openapi_extra=body(
        json_body(
            {
                "features": examples.PREDICT,
                "url": examples.PREDICT_URL,
                "email": examples.PREDICT_EMAIL,
                "email_bytes": examples.PREDICT_EMAIL_BYTES,
                "text": examples.PREDICT_TEXT,
            },
            PredictRequest,
        ),
        MAIL_BODY,
        parameters=[
            MAIL_TENANT,
            parameter(
                "explain",
                {"type": "integer", "minimum": 0, "maximum": MAX_EXPLAINED},
                FOR_MAIL + EXPLAIN_DESCRIPTION,
            ),
            parameter("keep", {"type": "boolean"}, FOR_MAIL + KEEP_DESCRIPTION),
        ],
    ),
)
async def predict(request: Request) -> Answer:
    """Score one input."""
    backend: Backend = request.scope["app"].state.backend
    read = await read_input(request, backend.limits)
    message = decode(predict_decoder, read) if isinstance(read, bytes) else mail_to_predict(request, read)
    context: RequestContext = request.scope[CONTEXT]
    context.tenant = message.tenant
    tenants = backend.tenants if context.key is None else tenants_of(request)
    tenant = tenants.held(message.tenant) or await tenants.hold(check_tenant_name(message.tenant))
    if message.features and message.url is message.email is message.text is UNSET:
        assert isinstance(read, bytes)
        return Answer(encode(predict_features(backend, tenant, message, read)))
    return Answer(encode(await predict_raw_input(backend, tenant, message)))


def predict_features(backend: Backend, tenant: Tenant, item: PredictItem, given: bytes) -> Prediction:
    """Score features, and keep what was given for feedback by prediction_id."""
    limits = backend.limits
    example = example_of_json(item.features)
    max_features, max_name_bytes = limits.max_features_per_example, limits.max_feature_name_bytes
    if not 0 < example.keys.size <= max_features or len(item.features) > max_name_bytes:
        check_example(item, example, max_features, max_name_bytes)
    verdict = tenant.predict(example, item.explain)
    return prediction_of(tenant, verdict, backend.predictions.keep(tenant, given, verdict) if item.keep else None)


async def predict_raw_input(backend: Backend, tenant: Tenant, item: PredictItem) -> Prediction:
    """Score a raw input, with the features beside it if there are any, and keep its features."""
    config = tenant.state.config
    found = await featurize(backend, item, config.featurizer)
    verdict = tenant.predict(found.example, item.explain)
    kept = None
    if item.keep:
        form = kept_form(found.example, item.features, encodes_numbers=config.encodes_numbers)
        kept = backend.predictions.keep(tenant, form, verdict, partial(raw_input_of, item))
    return prediction_of(tenant, verdict, kept, found.cut)


def prediction_of(tenant: Tenant, verdict: Verdict, kept: Kept | None, cut: Sequence[str] = ()) -> Prediction:
    """Return a verdict as it is answered."""
    # A person should look at what the policy chose, and where the model has no opinion.
    if kept is not None and kept.chosen is not None:
        reason = kept.chosen.reason
    else:
        reason = UNKNOWN if tenant.state.has_no_opinion(verdict.score) else 0
    return Prediction(
        None if kept is None else kept.prediction_id,
        tenant.name,
        verdict.label,  # type: ignore[arg-type]  # 1 or -1
        verdict.score,
        verdict.version,
        verdict.algorithm,
        reason != 0,
        verdict.probability,
        [Contribution(*each) for each in verdict.contributions] if verdict.contributions else (),
        cut or UNSET,
        REASONS[reason] if reason else UNSET,
    )
