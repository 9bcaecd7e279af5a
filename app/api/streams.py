"""Batches as NDJSON: every line in gets exactly one line out, in order, whatever happens to it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import groupby

from starlette.requests import Request

from app.api.answers import encode_lines
from app.api.bodies import decoded
from app.api.errors import TooLarge
from app.api.giving import asked_feedback, give_all
from app.api.inputs import tenant_asked, tenant_name
from app.api.lines import Line, LineStream, TooLong
from app.api.pacing import one_by_one
from app.api.predicting import predicted, predicted_raw
from app.api.problems import ItemRefused, refused
from app.api.queries import query
from app.api.serving import Serving
from app.api.together import predicted_together, slices
from app.api.wire import FeedbackIn, FeedbackOut, PredictIn, PredictOut, predict_decoder

GIVEN_AT_ONCE = 256


def predict_stream(request: Request, serve: Serving) -> LineStream:
    """The verdict of every line as soon as it is there."""
    outside, request_id = tenant_of_all(request), request.scope["request_id"]

    async def answers(lines: Sequence[Line]) -> AsyncIterator[bytes]:
        for some in slices(lines, [0 if isinstance(line, TooLong) else len(line) for line in lines]):
            yield encode_lines(await _predicted_all(serve, some, outside, request_id))
            await serve.pending.give_way()

    return LineStream(answers, serve.limits.max_line_bytes)


def feedback_stream(request: Request, serve: Serving) -> LineStream:
    """Lines that have arrived together are given together, each tenant's in one call."""
    outside, request_id = tenant_of_all(request), request.scope["request_id"]

    async def answers(lines: Sequence[Line]) -> AsyncIterator[bytes]:
        for start in range(0, len(lines), GIVEN_AT_ONCE):
            asked = [_asked(serve, line, outside) for line in lines[start : start + GIVEN_AT_ONCE]]
            given = await _given(serve, asked, outside)
            yield encode_lines([refused(each, request_id) if isinstance(each, Exception) else each for each in given])

    return LineStream(answers, serve.limits.max_line_bytes)


def tenant_of_all(request: Request) -> str | None:
    """The tenant in the query, which lines may then leave out."""
    name = query(request, "tenant").get("tenant")
    return None if name is None else tenant_name(name)


async def _predicted_all(
    serve: Serving, lines: Sequence[Line], outside: str | None, request_id: str
) -> list[PredictOut | ItemRefused]:
    """Runs of usual lines of one tenant in one go; whatever else there is, line by line."""
    results: list[PredictOut | ItemRefused] = []
    questions = [_question(line, outside) for line in lines]
    for name, run in groupby(range(len(lines)), lambda index: questions[index][0]):
        places = list(run)
        some = [lines[index] for index in places]
        together = _predicted_together(serve, name, [questions[index][1] for index in places], some)
        results += together or await one_by_one(_answered(serve, line, outside, request_id) for line in some)
    return results


def _question(line: Line, outside: str | None) -> tuple[str | None, PredictIn | None]:
    """Whom the line asks and what; nobody if there is something to refuse, which is then found out once more."""
    try:
        asked = predict_decoder.decode(line)  # type: ignore[arg-type]  # a line that is too long is no bytes
        return tenant_asked(asked, outside), asked
    except Exception:  # noqa: BLE001 - the line is looked at again, alone
        return None, None


def _predicted_together(
    serve: Serving, name: str | None, asked: Sequence[PredictIn | None], given: Sequence[Line]
) -> list[PredictOut] | None:
    if name is None:
        return None
    try:
        tenant = serve.tenants.held(name)
    except Exception:  # noqa: BLE001 - the lines are looked at again, each alone
        return None
    if tenant is None:
        return None
    return predicted_together(serve, tenant, asked, given)  # type: ignore[arg-type]  # all of them could be decoded


async def _answered(serve: Serving, line: Line, outside: str | None, request_id: str) -> PredictOut | ItemRefused:
    try:
        return await _predicted(serve, line, outside)
    except Exception as error:  # noqa: BLE001 - told in the line's place, and logged if it is a mistake of ours
        return refused(error, request_id)


async def _predicted(serve: Serving, line: Line, outside: str | None) -> PredictOut:
    given = _whole(serve, line)
    asked = decoded(predict_decoder, given)
    name = tenant_asked(asked, outside)
    tenant = serve.tenants.held(name) or await serve.tenant(name)
    return predicted(serve, tenant, asked, given) if asked.features else await predicted_raw(serve, tenant, asked)


def _asked(serve: Serving, line: Line, outside: str | None) -> FeedbackIn | Exception:
    try:
        return asked_feedback(_whole(serve, line), outside)
    except TooLarge as error:
        return error


async def _given(
    serve: Serving, asked: Sequence[FeedbackIn | Exception], outside: str | None
) -> list[FeedbackOut | Exception]:
    """Give each tenant its part, side by side, and put the results where their lines were."""
    given: list[FeedbackOut | Exception | None] = [each if isinstance(each, Exception) else None for each in asked]
    places: dict[str, list[int]] = {}
    for index, each in enumerate(asked):
        if isinstance(each, FeedbackIn):
            places.setdefault(tenant_asked(each, outside), []).append(index)
    parts = [_given_to(serve, name, [asked[index] for index in part]) for name, part in places.items()]
    for part, results in zip(places.values(), await asyncio.gather(*parts), strict=True):
        for index, result in zip(part, results, strict=True):
            given[index] = result
    return given  # type: ignore[return-value]  # none is None now


async def _given_to(
    serve: Serving, name: str, asked: Sequence[FeedbackIn | Exception]
) -> Sequence[FeedbackOut | Exception]:
    try:
        return await give_all(serve, await serve.tenant(name), asked)
    except Exception as error:  # noqa: BLE001 - told in the place of every line that it stopped
        return [error] * len(asked)


def _whole(serve: Serving, line: Line) -> bytes:
    if isinstance(line, TooLong):
        raise TooLarge("the line is too long", serve.limits.max_line_bytes, "bytes", "SLUICE_MAX_LINE_BYTES")
    return line
