"""POST /feedback: a label comes in, is logged, and is learnt."""

from collections.abc import Sequence

import msgspec
from fastapi import APIRouter
from starlette.requests import Request

from app.api import operations
from app.api.answers import Answer, encode
from app.api.bodies import decoded, read_input
from app.api.errors import BadInput
from app.api.hearing import Heard, heard_all
from app.api.inputs import checked_id, tenant_asked
from app.api.mails import mail_with_label
from app.api.serving import DirectRoute, Serving, serving_labels
from app.api.telling import told
from app.api.wire import FeedbackIn, FeedbackOut, feedback_decoder
from app.learning.errors import SluiceError
from app.tenants.tenant import Feedback, Tenant

router = APIRouter(route_class=DirectRoute)
IDEMPOTENCY_KEY = b"idempotency-key"


@router.post("/feedback", **operations.FEEDBACK)
async def give_feedback(request: Request) -> Answer:
    """Learn one label."""
    serve = serving_labels(request)
    body = await read_input(request, serve.limits)
    asked = decoded(feedback_decoder, body) if isinstance(body, bytes) else mail_with_label(request, body)
    asked = _with_key(asked, idempotency_key(request))
    request.scope["tenant"] = name = tenant_asked(asked, None)
    tenant = await serve.tenant(name)
    [result] = await give_all(serve, tenant, [asked])
    if isinstance(result, Exception):
        raise result
    return Answer(encode(result))


async def give_all(
    serve: Serving, tenant: Tenant, asked: Sequence[FeedbackIn | Exception]
) -> list[FeedbackOut | Exception]:
    """Give all that can be given in one call; whatever is wrong with an item stands in its place."""
    heard, cuts = await heard_all(serve, tenant, asked)
    if serve.label_rates.at_most:
        heard = [_at_a_fair_rate(serve, tenant, each) for each in heard]
    fit = [each for each in heard if isinstance(each, Feedback)]
    results = iter(await tenant.give(fit) if fit else ())
    given = [
        told(tenant, each.label, each.served, next(results)) if isinstance(each, Feedback) else each for each in heard
    ]
    for index, cut in cuts.items():
        given[index] = _with_cut(given[index], cut)
    return given


def _at_a_fair_rate(serve: Serving, tenant: Tenant, heard: Heard) -> Heard:
    """What was heard; or the refusal, if whoever gave it has given too much lately."""
    who = (heard.moderator or heard.key_id) if isinstance(heard, Feedback) else None
    if who is not None:
        try:
            serve.label_rates.take(tenant.name, who)
        except SluiceError as refused:
            return refused
    return heard


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


def _with_cut(given: FeedbackOut | Exception, cut: Sequence[str]) -> FeedbackOut | Exception:
    return msgspec.structs.replace(given, cut=cut) if isinstance(given, FeedbackOut) else given
