"""What feedback means: its input is read, turned into features, or recalled by the id of its prediction."""

import asyncio
from collections.abc import Sequence

from msgspec import UNSET

from app.api.bodies import decoded
from app.api.errors import BadInput
from app.api.inputs import INPUTS, check_ids, example_asked
from app.api.pacing import Pace
from app.api.raw import found_in
from app.api.serving import Serving
from app.api.telling import told
from app.api.wire import FeedbackIn, FeedbackOut, predict_decoder
from app.learning.errors import SluiceError
from app.learning.events import Served
from app.learning.example import Example
from app.tenants.errors import PredictionExpired
from app.tenants.tenant import Feedback, Tenant

Asked = FeedbackIn | Exception
Heard = Feedback | FeedbackOut | Exception
Cuts = dict[int, Sequence[str]]  # what was not looked at, by the place of its item


async def heard_all(serve: Serving, tenant: Tenant, asked: Sequence[Asked]) -> tuple[Sequence[Heard], Cuts]:
    """What the items mean, and which of them were cut. Those by prediction_id are recalled side by side."""
    heard: list[Heard | None] = []
    cuts: Cuts = {}
    pace = Pace()
    for each in asked:
        found = _at_once(serve, each)
        if found is None and each.prediction_id is UNSET:  # type: ignore[union-attr]  # an error is there at once
            found, cut = await _featurized(serve, tenant, each)
            if cut:
                cuts[len(heard)] = cut
        heard.append(found)
        if pace.is_over():
            await asyncio.sleep(0)
    absent = [index for index, each in enumerate(heard) if each is None]
    if absent:
        # One alone needs no task, which would have to wait for its turn.
        recalling = [_recalled(serve, tenant, asked[index]) for index in absent]
        recalled = await asyncio.gather(*recalling) if len(recalling) > 1 else [await recalling[0]]
        for index, back in zip(absent, recalled, strict=True):
            heard[index] = back
    return heard, cuts  # type: ignore[return-value]  # none is None now


def _at_once(serve: Serving, asked: Asked) -> Feedback | Exception | None:
    """The feedback, if it brings its features along; None if they have to be found."""
    if isinstance(asked, Exception):
        return asked
    try:
        check_ids(asked)
        if asked.prediction_id is UNSET:
            longest = serve.limits.max_feature_name_bytes
            return _feedback(serve, asked, example_asked(asked, _at_most(serve), longest)) if asked.features else None
        if asked.features or not (asked.url is asked.email is asked.text is UNSET):
            raise BadInput(f"there is a prediction_id and an input too; give one of {', '.join(INPUTS)}, prediction_id")
    except SluiceError as error:
        return error
    return None


async def _featurized(serve: Serving, tenant: Tenant, asked: Asked) -> tuple[Feedback | Exception, Sequence[str]]:
    assert isinstance(asked, FeedbackIn)
    try:
        found = await found_in(serve, asked, tenant.state.config.featurizer)
    except Exception as error:  # noqa: BLE001 - told in the item's place, and logged if it is a mistake of ours
        return error, ()
    return _feedback(serve, asked, found.example), found.cut


async def _recalled(serve: Serving, tenant: Tenant, asked: Asked) -> Heard:
    assert isinstance(asked, FeedbackIn)
    assert isinstance(asked.prediction_id, str)
    try:
        kept = await serve.pending.recall(tenant.name, asked.prediction_id)
        example = example_asked(decoded(predict_decoder, kept.given), _at_most(serve))
    except PredictionExpired as expired:
        return await _answered_before(tenant, asked) or expired
    except SluiceError as error:
        return error
    return _feedback(serve, asked, example, Served(kept.label, kept.score), kept.at_milliseconds)


async def _answered_before(tenant: Tenant, asked: FeedbackIn) -> FeedbackOut | Exception | None:
    """A retry finds its answer also when the prediction has expired meanwhile."""
    if asked.feedback_id is None:
        return None
    try:
        found = await tenant.earlier_answer(asked.feedback_id, asked.label)
    except SluiceError as error:
        return error
    return told(tenant, asked.label, found[1], found[0]) if found else None


def _feedback(
    serve: Serving, asked: FeedbackIn, example: Example, served: Served | None = None, served_at: int | None = None
) -> Feedback:
    return Feedback(
        asked.label,
        example,
        asked.feedback_id,
        asked.moderator,
        asked.prediction_id if isinstance(asked.prediction_id, str) else None,
        served,
        served_at,
        *serve.caller,
    )


def _at_most(serve: Serving) -> int:
    return serve.limits.max_features_per_example
