"""Bodies and answers of /keys."""

from typing import Annotated

from pydantic import Field

from app.api.schemas.names import RequestModel, ResponseModel
from app.auth.keys import MODERATOR, NAME, PATTERN, ROLES, Key

# `app.auth.keys` checks these fields, with a sentence for each; the document has the same rules.
Roles = Annotated[list[str], Field(json_schema_extra={"items": {"type": "string", "enum": list(ROLES)}, "minItems": 1})]
TenantPatterns = Annotated[
    list[str],
    Field(json_schema_extra={"items": {"type": "string", "pattern": f"^(?:{PATTERN.pattern})$"}, "minItems": 1}),
]

Moderator = Annotated[str, Field(json_schema_extra={"pattern": f"^{MODERATOR.pattern}$"})]
MODERATOR_DESCRIPTION = "Whose labels are given with it; a request that names somebody else is refused."
SPEAKS_DESCRIPTION = "Whether a request may name another moderator all the same. Only with `moderator`."


class KeyRequest(RequestModel):
    """A key to create."""

    roles: Roles
    tenants: Annotated[TenantPatterns, Field(description="Names, prefixes such as `acme-*`, or `*` for all.")]
    name: Annotated[str, Field(json_schema_extra={"pattern": f"^{NAME.pattern}$"})] = ""
    expires_in_seconds: Annotated[int, Field(ge=1, le=315_360_000)] | None = None
    moderator: Annotated[Moderator | None, Field(description=MODERATOR_DESCRIPTION)] = None
    speaks_for_others: Annotated[bool, Field(description=SPEAKS_DESCRIPTION)] = False


class RotationRequest(RequestModel):
    """How long the old key stays valid beside the new one."""

    overlap_seconds: Annotated[int, Field(ge=0, le=31_536_000)] = 86_400


class KeyResponse(ResponseModel):
    """A key without its secret. Times are milliseconds since 1970."""

    id: str
    name: str
    roles: list[str]
    tenants: list[str]
    created_at: int
    expires_at: int | None
    made_by: Annotated[str | None, Field(description="The id of the key that made it, and with which it ends.")]
    moderator: Annotated[str | None, Field(description=MODERATOR_DESCRIPTION)]
    speaks_for_others: Annotated[bool, Field(description=SPEAKS_DESCRIPTION)]


class KeyCreatedResponse(ResponseModel):
    """A new key. `secret` is what its owner sends; only this answer has it."""

    secret: str
    key: KeyResponse

    @classmethod
    def of(cls, key: Key, secret: str) -> "KeyCreatedResponse":
        """Return a key with its secret."""
        return cls(secret=secret, key=KeyResponse.model_validate(key))


class KeyListResponse(ResponseModel):
    """Keys, the oldest first."""

    keys: list[KeyResponse]
