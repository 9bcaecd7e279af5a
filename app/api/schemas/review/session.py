"""Bodies and answers of /session."""

from typing import Annotated

from pydantic import Field

from app.api.schemas.names import RequestModel, ResponseModel
from app.auth.keys import ALL, ROLES, Key


class SessionRequest(RequestModel):
    """A key to sign in with."""

    key: Annotated[str, Field(max_length=200, description="A key: sluice_...")]


class SessionResponse(ResponseModel):
    """Who is signed in, and what the key allows. `key_id` is null where no key is needed."""

    key_id: str | None
    name: str
    roles: list[str]
    tenants: list[str]
    moderator: Annotated[str | None, Field(description="Whose labels are given; null: the person that is named.")]
    speaks_for_others: bool
    expires_at: Annotated[int | None, Field(description="When the key expires, in milliseconds since 1970.")]

    @classmethod
    def of(cls, key: Key | None) -> "SessionResponse":
        """Return what a key allows; without one, everything is allowed."""
        if key is not None:
            return cls(key_id=key.id, **{name: getattr(key, name) for name in cls.model_fields if name != "key_id"})
        return cls(
            key_id=None,
            name="",
            roles=list(ROLES),
            tenants=[ALL],
            moderator=None,
            speaks_for_others=False,
            expires_at=None,
        )
