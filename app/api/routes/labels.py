"""The routes about a tenant's labels: who gave which, and taking them back."""

import asyncio
import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import BeforeValidator

from app.api import examples, problems
from app.api.backend import Backend
from app.api.dependencies import Context, OwnTenant, Service, Tenants, needs
from app.api.documentation import (
    LINES_SCHEMA,
    NDJSON,
    WITH_TENANT,
    answer_in,
    example,
    json_body,
    other_body,
    refusals,
)
from app.api.errors import BadInput
from app.api.json_route import ApiRoute
from app.api.parameters import KnownQuery, flag_of, time_of, whole_number
from app.api.responses import Pieces
from app.api.routes.tenants import TenantPath
from app.api.schemas.labels import LabelListResponse, LabelResponse, ListedLabelResponse
from app.api.schemas.names import ID_PATTERN
from app.api.schemas.retractions import RetractionRequest, RetractionResponse
from app.api.schemas.review.reasons import excerpt_of
from app.learning.errors import short_repr
from app.tenants.labels.retraction import Asked
from app.tenants.labels.stored_labels import LabelFilter, Retraction, StoredLabel

router = APIRouter(route_class=ApiRoute, tags=["labels"], dependencies=[KnownQuery])
MAX_PAGE = 1000
MAX_VERSION = 10**15
ROWS_AT_ONCE = 500
TYPES = {"csv": b"text/csv; charset=utf-8", "jsonl": NDJSON.encode()}
COLUMNS = [name for name in LabelResponse.model_fields if name not in {"replaced", "retracted"}]
FORMULAS = ("=", "+", "-", "@")
OF_REPLACED = ("version", "label", "feedback_id", "moderator")
OF_RETRACTION = ("version", "at", "reason", "moderator", "key_id")


def _label(text: object) -> int:
    if text not in {"1", "-1"}:
        raise BadInput(f"label is {short_repr(text)}; it must be 1 (anomaly) or -1 (normal)")
    return int(str(text))


PageSize = Annotated[
    int,
    BeforeValidator(lambda text: whole_number("limit", str(text), 1, MAX_PAGE)),
    Query(ge=1, le=MAX_PAGE, description="Labels on a page."),
]
Before = Annotated[
    int | None,
    BeforeValidator(lambda text: whole_number("before", str(text), 1, MAX_VERSION)),
    Query(ge=1, le=MAX_VERSION, description="Only labels with a smaller version."),
]
Format = Annotated[Literal["csv", "jsonl"] | None, Query(description="All labels as a file instead of a page.")]
IsRetracted = Annotated[
    bool | None,
    flag_of("retracted"),
    Query(description="Only labels that were taken back, or only those that stand."),
]
Disagreements = Annotated[
    bool | None,
    flag_of("disagreements"),
    Query(description="Only labels that replaced the opposite label of the same prediction, or all others."),
]
WithInputs = Annotated[
    bool,
    flag_of("inputs"),
    Query(description="Whether to show how each input that is kept begins: `excerpt`. Not with `format`."),
]
IdQuery = Annotated[str | None, Query(pattern=ID_PATTERN)]


def filter_of(  # noqa: PLR0913, PLR0917 - query parameters
    moderator: IdQuery = None,
    key_id: IdQuery = None,
    feedback_id: IdQuery = None,
    prediction_id: IdQuery = None,
    label: Annotated[int | None, BeforeValidator(_label), Query(description="1 or -1.")] = None,
    since: Annotated[int | None, time_of("since"), Query(description="From this time on, with its zone.")] = None,
    until: Annotated[int | None, time_of("until"), Query(description="Before this time, with its zone.")] = None,
) -> LabelFilter:
    """Return which labels are asked for."""
    return LabelFilter(
        feedback_ids=frozenset() if feedback_id is None else frozenset([feedback_id]),
        prediction_id=prediction_id,
        moderator=moderator,
        key_id=key_id,
        label=label,
        since=since,
        until=until,
    )


@router.post(
    "/tenants/{tenant}/retract",
    summary="Take labels back",
    description="Afterwards the model is as if these labels had never been given, on every worker. Predictions "
    "continue meanwhile. A key without the role admin can take back the labels that it gave itself.",
    dependencies=[needs("feedback"), OwnTenant],
    response_description="What was taken back.",
    responses=example(examples.RETRACTED)
    | refusals(
        *WITH_TENANT, problems.NOT_THIS_MODERATOR, problems.UNKNOWN_LABEL, problems.LABEL_TOO_OLD, problems.LOG_REPLACED
    ),
    openapi_extra={"requestBody": {"content": json_body(examples.RETRACTIONS)}},
)
async def retract_labels(
    tenant: TenantPath, wanted: RetractionRequest, tenants: Tenants, service: Service, context: Context
) -> RetractionResponse:
    """Take labels back, or say what that would do."""
    key = context.key
    asked = Asked(
        wanted.reason,
        key.moderator_for(wanted.by) if key else wanted.by,
        key.id if key else None,
        context.request_id,
        only_own=key is not None and "admin" not in key.roles,
    )
    if not wanted.dry_run:
        await tenants.hold(tenant, create=False)  # nothing is noted about an unknown one
        await service.audit.note(
            "retract_labels", key_id=asked.key_id, tenant=tenant, request_id=asked.request_id, detail=wanted.summary
        )
    found = await tenants.retract(tenant, wanted.wanted, asked, dry_run=wanted.dry_run)
    return RetractionResponse.of(tenant, found, dry_run=wanted.dry_run)


@router.get(
    "/tenants/{tenant}/labels",
    summary="Show who labelled what",
    description="The newest first, page by page: `next` of an answer is `before` of the next request. It reaches back "
    "as far as the log. With `format`, all labels that fit come as one file.",
    dependencies=[needs("review")],
    response_model=LabelListResponse,
    response_description="A page of labels.",
    responses=answer_in(
        example(examples.LABELS)[200]["content"],
        other_body("text/csv", {"type": "string"}, "version,at,label,feedback_id,..."),
        other_body(NDJSON, LINES_SCHEMA, '{"version": 1230, ...}'),
    )
    | refusals(*WITH_TENANT),
)
async def list_labels(  # noqa: PLR0913, PLR0917 - query parameters
    tenant: TenantPath,
    tenants: Tenants,
    service: Service,
    wanted: Annotated[LabelFilter, Depends(filter_of)],
    retracted: IsRetracted = None,
    disagreements: Disagreements = None,
    inputs: WithInputs = False,  # noqa: FBT002 - the name of the parameter
    limit: PageSize = 100,
    before: Before = None,
    format: Format = None,  # noqa: A002 - the name of the parameter
) -> Any:  # noqa: ANN401 - a page, or a file
    """Show the labels of a tenant."""
    found = _chosen(await tenants.labels(tenant, wanted, before), is_retracted=retracted, is_disagreement=disagreements)
    if format is not None:
        rows = _rows(found, format)
        return Pieces(await anext(rows), rows, TYPES[format])
    page: list[LabelResponse] = []
    following = None
    async for label in found:
        if len(page) == limit:
            following = page[-1].version
            break
        page.append(label)
    excerpts = await _excerpts(service, tenant, page) if inputs else [None] * len(page)
    labels = [
        ListedLabelResponse(**dict(label), excerpt=excerpt) for label, excerpt in zip(page, excerpts, strict=True)
    ]
    return LabelListResponse(labels=labels, next=following)


async def _excerpts(service: Backend, tenant: str, page: Sequence[LabelResponse]) -> list[str | None]:
    """Return how the inputs begin that are kept."""

    async def excerpt(prediction_id: str | None) -> str | None:
        if prediction_id is None:
            return None
        return await excerpt_of(await service.predictions.recall_input(tenant, prediction_id))

    return await asyncio.gather(*(excerpt(label.prediction_id) for label in page))


async def _chosen(
    found: AsyncIterator[tuple[StoredLabel, Retraction | None]],
    *,
    is_retracted: bool | None,
    is_disagreement: bool | None,
) -> AsyncIterator[LabelResponse]:
    """Yield labels as the API shows them: all, or only those that were taken back, that stand, that disagree."""
    async for label, retraction in found:
        disagrees = label.replaces is not None and label.replaces.label != label.label
        if is_retracted in {None, retraction is not None} and is_disagreement in {None, disagrees}:
            yield LabelResponse.of(label, retraction)


async def _rows(found: AsyncIterator[LabelResponse], kind: str) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a file, many at a time."""
    text = io.StringIO()
    writer = csv.writer(text)
    if kind == "csv":
        replaced = (f"replaced_{name}" for name in OF_REPLACED)
        writer.writerow([*COLUMNS, *replaced, *(f"retracted_{name}" for name in OF_RETRACTION)])
    count = 0
    async for label in found:
        if kind == "csv":
            row = [getattr(label, name) for name in COLUMNS]
            row += [getattr(label.replaced, name, None) for name in OF_REPLACED]
            row += [getattr(label.retracted, name, None) for name in OF_RETRACTION]
            writer.writerow(map(_cell, row))
        else:
            text.write(label.model_dump_json() + "\n")
        count += 1
        if count % ROWS_AT_ONCE == 0:
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode()


def _cell(value: object) -> object:
    """Return a value for CSV: a text that a spreadsheet would run as a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
