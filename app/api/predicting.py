"""POST /predict: one question, one verdict."""

import math
from collections.abc import Sequence

from fastapi import APIRouter
from msgspec import UNSET
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer, encode
from app.api.bodies import decoded, read_input
from app.api.inputs import example_asked, tenant_asked
from app.api.mails import mail_to_predict
from app.api.raw import found_in, kept_form
from app.api.serving import DirectRoute, Serving, serving
from app.api.wire import Contribution, PredictIn, PredictOut, predict_decoder
from app.tenants.tenant import Tenant, Verdict

router = APIRouter(route_class=DirectRoute)
TIE = 1e-12


@router.post("/predict", **operations.PREDICT)
async def predict(request: Request) -> Answer:
    """Score one input."""
    serve = serving(request)
    body = await read_input(request, serve.limits)
    if not isinstance(body, bytes):
        return await _predict_mail(request, serve, mail_to_predict(request, body))
    asked = decoded(predict_decoder, body)
    request.scope["tenant"] = name = tenant_asked(asked, None)
    tenant = serve.tenants.held(name) or await serve.tenant(name)
    if not asked.features:
        return Answer(encode(await predicted_raw(serve, tenant, asked)))
    return Answer(encode(predicted(serve, tenant, asked, body)))


async def _predict_mail(request: Request, serve: Serving, asked: PredictIn) -> Answer:
    request.scope["tenant"] = name = tenant_asked(asked, None)
    tenant = await serve.tenant(name)
    return Answer(encode(await predicted_raw(serve, tenant, asked)))


def predicted(serve: Serving, tenant: Tenant, asked: PredictIn, given: bytes) -> PredictOut:
    """Ask the tenant about features, and keep what was asked for feedback by prediction_id."""
    limits = serve.limits
    example = example_asked(asked, limits.max_features_per_example, limits.max_feature_name_bytes)
    verdict = tenant.predict(example, asked.explain)
    return verdict_out(tenant, verdict, serve.pending.keep(tenant, given, verdict) if asked.keep else None)


async def predicted_raw(serve: Serving, tenant: Tenant, asked: PredictIn) -> PredictOut:
    """Ask the tenant about a raw input, and keep its features."""
    found = await found_in(serve, asked, tenant.state.config.featurizer)
    verdict = tenant.predict(found.example, asked.explain)
    kept = serve.pending.keep(tenant, kept_form(found.example), verdict) if asked.keep else None
    return verdict_out(tenant, verdict, kept, found.cut)


def verdict_out(tenant: Tenant, verdict: Verdict, prediction_id: str | None, cut: Sequence[str] = ()) -> PredictOut:
    """A verdict as it is answered."""
    return PredictOut(
        prediction_id,
        tenant.name,
        verdict.label,  # type: ignore[arg-type]  # 1 or -1
        verdict.score,
        verdict.version,
        verdict.algorithm,
        needs_review(tenant, verdict),
        [Contribution(*each) for each in verdict.contributions] if verdict.contributions else (),
        cut or UNSET,
    )


def needs_review(tenant: Tenant, verdict: Verdict) -> bool:
    """Whether a person should look: so far, where the model has no opinion. The review policy refines this."""
    away = abs(verdict.score - tenant.state.model.threshold)
    return verdict.version == 0 or not TIE <= away < math.inf  # what is not finite is no opinion
