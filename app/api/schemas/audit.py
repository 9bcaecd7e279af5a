"""Answers of /audit."""

from app.api.schemas.names import ResponseModel


class AuditEntryResponse(ResponseModel):
    """A change: what was done when (milliseconds since 1970), with which key, to which tenant."""

    id: str
    at: int
    action: str
    key_id: str | None
    tenant: str | None
    request_id: str | None
    detail: str | None


class AuditResponse(ResponseModel):
    """A page of the audit, the newest first. `next` is the `before` of the next page."""

    entries: list[AuditEntryResponse]
    next: str | None
