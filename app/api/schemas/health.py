"""Answers of /livez and /readyz."""

from typing import Literal

from app.api.schemas.names import ResponseModel


class LiveResponse(ResponseModel):
    """The process answers."""

    status: Literal["alive"] = "alive"


class ReadyPart(ResponseModel):
    """A dependency of the service."""

    ok: bool
    detail: str


class ReadyResponse(ResponseModel):
    """Whether requests should be sent to this worker."""

    status: Literal["ready", "not ready"]
    parts: dict[str, ReadyPart]
