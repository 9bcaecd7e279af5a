"""Errors as clients receive them (RFC 9457)."""

from app.api.schemas.names import ResponseModel


class Problem(ResponseModel):
    """An error: `type` is stable, `detail` says what to correct."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    instance: str


class ItemProblem(ResponseModel):
    """An error of one item of a batch."""

    type: str
    title: str
    status: int
    detail: str


class ItemErrorResponse(ResponseModel):
    """Stands in place of the result of an item that was refused."""

    error: ItemProblem


class ProblemTypeResponse(ResponseModel):
    """What a problem's type means, and what to do about it."""

    type: str
    title: str
    status: int
    remedy: str
