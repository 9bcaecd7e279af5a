"""Why a caller is refused. No message reveals anything about other callers."""

from app.learning.errors import SluiceError, short_repr


class Unauthenticated(SluiceError):
    """The request has no valid key."""


class Forbidden(SluiceError):
    """The key does not allow this."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)

    @classmethod
    def missing_role(cls, role: str) -> "Forbidden":
        """The key does not have the role."""
        return cls(f"this needs a key with the role {role}")

    @classmethod
    def tenant(cls, name: str) -> "Forbidden":
        """The key is not for this tenant, whether or not the tenant exists."""
        return cls(f"this key is not for tenant {short_repr(name)}")


class NotThisModerator(SluiceError):
    """The key carries the name of another moderator than the request."""

    def __init__(self, named: str, moderator: str) -> None:
        super().__init__(f"this key carries the name {short_repr(moderator)}, and cannot speak for {short_repr(named)}")


class KeyUnknown(SluiceError):
    """The key does not exist, or the caller may not see it."""

    def __init__(self, identity: str) -> None:
        super().__init__(f"there is no key {short_repr(identity)}")


class KeysUnread(SluiceError):
    """The keys could not be read from the store yet."""

    def __init__(self) -> None:
        super().__init__("the keys could not be read from the store yet")


class TooManyLabels(SluiceError):
    """A moderator labels faster than a person can."""

    def __init__(self, labeller: str, per_minute: int) -> None:
        super().__init__(
            f"{labeller} has given {per_minute:,} labels within a minute, which is the limit "
            "(SLUICE_LABELS_PER_MODERATOR_PER_MINUTE)"
        )
