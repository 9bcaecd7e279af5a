"""POST /feedback: a label comes in, is logged, and is learnt."""

import asyncio
from collections.abc import Sequence

import msgspec
from fastapi import APIRouter
from msgspec import UNSET
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer, encode
from app.api.bodies import decoded, read_json
from app.api.errors import BadInput
from app.api.inputs import INPUTS, check_ids, checked_id, example_asked, tenant_asked
from app.api.pacing import Pace
from app.api.serving import DirectRoute, Serving, serving
from app.api.wire import FeedbackIn, FeedbackOut, ServedOut, feedback_decoder, predict_decoder
from app.learning.errors import SluiceError
from app.learning.events import Served
from app.learning.example import Example
from app.tenants.errors import PredictionExpired
from app.tenants.tenant import Feedback, Given, Tenant

router = APIRouter(route_class=DirectRoute)
IDEMPOTENCY_KEY = b"idempotency-key"
NO_LOSS = "no loss: the score was already right by a margin"


@router.post("/feedback", **operations.FEEDBACK)
async def give_feedback(request: Request) -> Answer:
    """Learn one label."""
    serve = serving(request)
    asked = decoded(feedback_decoder, await read_json(request, serve.limits.max_body_bytes))
    asked = _with_key(asked, idempotency_key(request))
    tenant = await serve.tenant(tenant_asked(asked, None))
    [result] = await give_all(serve, tenant, [asked])
    if isinstance(result, Exception):
        raise result
    return Answer(encode(result))


async def give_all(
    serve: Serving, tenant: Tenant, asked: Sequence[FeedbackIn | Exception]
) -> list[FeedbackOut | Exception]:
    """Give all that can be given in one call; whatever is wrong with an item stands in its place."""
    heard = await _heard(serve, tenant, asked)
    fit = [each for each in heard if isinstance(each, Feedback)]
    results = iter(await tenant.give(fit) if fit else ())
    return [
        _out(tenant, each.label, each.served, next(results)) if isinstance(each, Feedback) else each for each in heard
    ]


def asked_feedback(item: bytes, outside: str | None) -> FeedbackIn | Exception:
    """What an item of many asks for, or what is wrong with it."""
    try:
        asked = decoded(feedback_decoder, item)
        tenant_asked(asked, outside)
    except SluiceError as error:
        return error
    return asked


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key header, which stands for a feedback_id."""
    found = [value for name, value in request.scope["headers"] if name == IDEMPOTENCY_KEY]
    if not found:
        return None
    if len(found) > 1:
        raise BadInput("there is more than one Idempotency-Key header")
    try:
        return checked_id("Idempotency-Key", found[0].decode())
    except UnicodeDecodeError:
        raise BadInput("the Idempotency-Key header is not UTF-8") from None


def _with_key(asked: FeedbackIn, key: str | None) -> FeedbackIn:
    if key is None or asked.feedback_id == key:
        return asked
    if asked.feedback_id is not None:
        raise BadInput(f"feedback_id {asked.feedback_id!r} and the Idempotency-Key header {key!r} differ")
    return msgspec.structs.replace(asked, feedback_id=key)


async def _heard(
    serve: Serving, tenant: Tenant, asked: Sequence[FeedbackIn | Exception]
) -> Sequence[Feedback | FeedbackOut | Exception]:
    """What the items mean. Those by prediction_id are recalled side by side."""
    heard: list[Feedback | FeedbackOut | Exception | None] = []
    pace = Pace()
    for each in asked:
        heard.append(_heard_at_once(serve, each))
        if pace.is_over():
            await asyncio.sleep(0)
    absent = [index for index, each in enumerate(heard) if each is None]
    if not absent:
        return heard  # type: ignore[return-value]  # none is None
    recalled = await asyncio.gather(*(_recalled(serve, tenant, asked[index]) for index in absent))
    for index, found in zip(absent, recalled, strict=True):
        heard[index] = found
    return heard  # type: ignore[return-value]  # none is None now


def _heard_at_once(serve: Serving, asked: FeedbackIn | Exception) -> Feedback | Exception | None:
    """The feedback, if it brings its input along; None if that has to be recalled."""
    if isinstance(asked, Exception):
        return asked
    try:
        check_ids(asked)
        if asked.prediction_id is UNSET:
            return _feedback(asked, example_asked(asked, serve.limits.max_features_per_example))
        if asked.features or not (asked.url is asked.email is asked.text is UNSET):
            raise BadInput(f"there is a prediction_id and an input too; give one of {', '.join(INPUTS)}, prediction_id")
    except SluiceError as error:
        return error
    return None


async def _recalled(
    serve: Serving, tenant: Tenant, asked: FeedbackIn | Exception
) -> Feedback | FeedbackOut | Exception:
    assert isinstance(asked, FeedbackIn)
    assert isinstance(asked.prediction_id, str)
    try:
        kept = await serve.pending.recall(tenant.name, asked.prediction_id)
        example = example_asked(decoded(predict_decoder, kept.given), serve.limits.max_features_per_example)
    except PredictionExpired as expired:
        return await _answered_before(tenant, asked) or expired
    except SluiceError as error:
        return error
    return _feedback(asked, example, Served(kept.label, kept.score))


async def _answered_before(tenant: Tenant, asked: FeedbackIn) -> FeedbackOut | Exception | None:
    """A retry finds its answer also when the prediction has expired meanwhile."""
    if asked.feedback_id is None:
        return None
    try:
        found = await tenant.again(asked.feedback_id, asked.label)
    except SluiceError as error:
        return error
    return _out(tenant, asked.label, found[1], found[0]) if found else None


def _feedback(asked: FeedbackIn, example: Example, served: Served | None = None) -> Feedback:
    prediction_id = asked.prediction_id if isinstance(asked.prediction_id, str) else None
    return Feedback(asked.label, example, asked.feedback_id, asked.moderator, prediction_id, served)


def _out(tenant: Tenant, label: int, served: Served | None, given: Given | SluiceError) -> FeedbackOut | Exception:
    if isinstance(given, Exception):
        return given
    outcome = given.outcome
    return FeedbackOut(
        tenant=tenant.name,
        feedback_id=given.feedback_id,
        version=outcome.version,
        label=label,  # type: ignore[arg-type]  # 1 or -1
        predicted=outcome.predicted,  # type: ignore[arg-type]  # 1 or -1
        score=outcome.score,
        loss=outcome.loss,
        updated=outcome.updated,
        duplicate=given.duplicate,
        reason=None if outcome.updated else outcome.refused or NO_LOSS,
        served=ServedOut(served.label, served.score) if served else None,  # type: ignore[arg-type]  # 1 or -1
    )
