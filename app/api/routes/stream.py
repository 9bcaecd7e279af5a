"""Batches as NDJSON: every line gets exactly one line in the answer, in order."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import groupby

import msgspec
from msgspec import UNSET
from starlette.requests import Request

from app.api.backend import Backend, TenantRegistry
from app.api.context import RequestContext
from app.api.dependencies import backend_of, context_of, tenants_of
from app.api.errors import ClientGone, TooLarge
from app.api.fast_path.batch_scores import predict_together, slices
from app.api.fast_path.http import decode, encode_lines
from app.api.fast_path.inputs import check_tenant_name, tenant_of
from app.api.fast_path.messages import (
    FeedbackItem,
    LearntFeedback,
    Prediction,
    PredictItem,
    feedback_item_decoder,
    named_tenant_decoder,
    predict_item_decoder,
)
from app.api.fast_path.ndjson import Line, LineStream, TooLong
from app.api.fast_path.time_slice import one_by_one
from app.api.parameters import query_of
from app.api.responses import ItemError, item_error
from app.api.routes.feedback import learn_all
from app.api.routes.predict import predict_features, predict_raw_input
from app.auth.errors import Forbidden
from app.auth.keys import ALL
from app.learning.errors import SluiceError
from app.tenants.errors import Abandoned

LEARNT_TOGETHER = 256  # lines


def query_tenant(request: Request) -> str | None:
    """Return the tenant in the query, which lines may then leave out."""
    name = query_of(request, "tenant").get("tenant")
    return None if name is None else check_tenant_name(name)


def predict_stream(request: Request) -> LineStream:
    """Answer every line with its verdict."""
    tenants, tenant = tenants_of(request), _own_query_tenant(request)
    scorer = _LineScorer(backend_of(request), tenants, tenant, context_of(request).request_id)

    async def answers(lines: Sequence[Line]) -> AsyncIterator[bytes]:
        for some in slices(lines, [0 if isinstance(line, TooLong) else len(line) for line in lines]):
            yield encode_lines(await scorer.predict(some))
            await scorer.backend.predictions.give_way()

    return LineStream(answers, scorer.backend.limits.max_line_bytes, _first_line_check(request, tenant))


def feedback_stream(request: Request) -> LineStream:
    """Learn lines that have arrived together in one call per tenant."""
    tenants, tenant = tenants_of(request), _own_query_tenant(request)
    learner = _LineLearner(backend_of(request), tenants, tenant, context_of(request))

    async def answers(lines: Sequence[Line]) -> AsyncIterator[bytes]:
        for start in range(0, len(lines), LEARNT_TOGETHER):
            yield encode_lines(await learner.learn(lines[start : start + LEARNT_TOGETHER]))

    return LineStream(answers, learner.max_line_bytes, _first_line_check(request, tenant))


def _own_query_tenant(request: Request) -> str | None:
    """Return the tenant in the query; Forbidden if the caller's key is not for it."""
    name, key = query_tenant(request), context_of(request).key
    if name is not None and key is not None and not key.covers(name):
        raise Forbidden.tenant(name)
    return name


def _first_line_check(request: Request, tenant: str | None) -> Callable[[Line], None] | None:
    """Return what refuses the whole stream if its first line names a tenant of others.

    None if no line can do so, or the query names the tenant: then the answer begins before the first line arrives.
    """
    key = context_of(request).key
    if key is None or ALL in key.tenants or tenant is not None:
        return None

    def check(line: Line) -> None:
        try:
            name = named_tenant_decoder.decode(line).tenant  # type: ignore[arg-type]  # one beyond the limit has no bytes
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError):
            return  # it gets an error in its place
        if name is not UNSET and not key.covers(name):
            raise Forbidden.tenant(name)

    return check


def parse_feedback(item: bytes, batch_tenant: str | None) -> FeedbackItem | Exception:
    """Return an item of many, or the error that it causes."""
    try:
        feedback = decode(feedback_item_decoder, item)
        tenant_of(feedback, batch_tenant)
    except SluiceError as error:
        return error
    return feedback


class _LineScorer:
    """Scores lines, which may belong to several tenants."""

    def __init__(self, backend: Backend, tenants: TenantRegistry, batch_tenant: str | None, request_id: str) -> None:
        self.backend = backend
        self._tenants = tenants
        self._batch_tenant = batch_tenant
        self._request_id = request_id

    async def predict(self, lines: Sequence[Line]) -> list[Prediction | ItemError]:
        """Score runs of usual lines of one tenant in one call; every other line alone."""
        results: list[Prediction | ItemError] = []
        items = [self._parse(line) for line in lines]
        for name, run in groupby(range(len(lines)), lambda index: items[index][0]):
            places = list(run)
            some = [lines[index] for index in places]
            together = self._predict_run(name, [items[index][1] for index in places], some)
            results += together or await one_by_one(self._predict_line(line) for line in some)
        return results

    def _parse(self, line: Line) -> tuple[str | None, PredictItem | None]:
        """Return the line's tenant and item; nothing if it is to be refused, which `_predict_line` finds again."""
        try:
            item = predict_item_decoder.decode(line)  # type: ignore[arg-type]  # a line beyond the limit has no bytes
            return tenant_of(item, self._batch_tenant), item
        except Exception:  # noqa: BLE001 - the line is read again, alone
            return None, None

    def _predict_run(
        self, name: str | None, items: Sequence[PredictItem | None], lines: Sequence[Line]
    ) -> list[Prediction] | None:
        if name is None:
            return None
        try:
            tenant = self._tenants.held(name)
        except Exception:  # noqa: BLE001 - the lines are read again, each alone
            return None
        if tenant is None:
            return None
        return predict_together(self.backend, tenant, items, lines)  # type: ignore[arg-type]  # all were decoded

    async def _predict_line(self, line: Line) -> Prediction | ItemError:
        try:
            given = _within_limit(line, self.backend.limits.max_line_bytes)
            item = decode(predict_item_decoder, given)
            name = tenant_of(item, self._batch_tenant)
            tenant = self._tenants.held(name) or await self._tenants.hold(check_tenant_name(name))
            if item.features and item.url is item.email is item.text is UNSET:
                return predict_features(self.backend, tenant, item, given)
            return await predict_raw_input(self.backend, tenant, item)
        except Exception as error:  # noqa: BLE001 - it stands in the line's place, and is logged if unexpected
            return item_error(error, self._request_id)


class _LineLearner:
    """Learns lines, which may belong to several tenants."""

    def __init__(
        self, backend: Backend, tenants: TenantRegistry, batch_tenant: str | None, context: RequestContext
    ) -> None:
        self.max_line_bytes = backend.limits.max_line_bytes
        self._backend = backend
        self._tenants = tenants
        self._batch_tenant = batch_tenant
        self._context = context

    async def learn(self, lines: Sequence[Line]) -> list[LearntFeedback | ItemError]:
        """Learn the lines of each tenant, the tenants concurrently; return the results in the order of the lines."""
        items = [self._parse(line) for line in lines]
        results: list[LearntFeedback | Exception | None] = [
            each if isinstance(each, Exception) else None for each in items
        ]
        places: dict[str, list[int]] = {}
        for index, item in enumerate(items):
            if isinstance(item, FeedbackItem):
                places.setdefault(tenant_of(item, self._batch_tenant), []).append(index)
        parts = [self._learn_part(name, [items[index] for index in part]) for name, part in places.items()]
        for part, answers in zip(places.values(), await asyncio.gather(*parts), strict=True):
            for index, answer in zip(part, answers, strict=True):
                results[index] = answer
        return [
            item_error(each, self._context.request_id) if isinstance(each, Exception) else each  # type: ignore[misc]  # none is None now
            for each in results
        ]

    def _parse(self, line: Line) -> FeedbackItem | Exception:
        try:
            return parse_feedback(_within_limit(line, self.max_line_bytes), self._batch_tenant)
        except TooLarge as error:
            return error

    async def _learn_part(
        self, name: str, items: Sequence[FeedbackItem | Exception]
    ) -> Sequence[LearntFeedback | Exception]:
        try:
            tenant = self._tenants.held(name) or await self._tenants.hold(check_tenant_name(name))
            return await learn_all(self._backend, self._context, tenant, items)
        except (ClientGone, Abandoned):
            raise
        except Exception as error:  # noqa: BLE001 - it stands in the place of every line that it stopped
            return [error] * len(items)


def _within_limit(line: Line, limit: int) -> bytes:
    if isinstance(line, TooLong):
        raise TooLarge("the line is too long", limit, "bytes", "SLUICE_MAX_LINE_BYTES")
    return line
