"""Why somebody is not let in, told in sentences that tell nothing about others."""

from app.learning.errors import SluiceError, short_repr


class Unauthenticated(SluiceError):
    """Who is asking is not known."""


class Forbidden(SluiceError):
    """It is known who asks, and that this is not allowed."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)

    @classmethod
    def for_want_of(cls, role: str) -> "Forbidden":
        """The key has not the role."""
        return cls(f"this needs a key with the role {role}")

    @classmethod
    def tenant(cls, name: str) -> "Forbidden":
        """The key is not for this tenant, whether or not there is one."""
        return cls(f"this key is not for tenant {short_repr(name)}")


class KeyUnknown(SluiceError):
    """There is no such key, or it is not the asker's business."""

    def __init__(self, identity: str) -> None:
        super().__init__(f"there is no key {short_repr(identity)}")


class KeysUnread(SluiceError):
    """The keys could not be read from the store yet."""

    def __init__(self) -> None:
        super().__init__("the keys of this service could not be read from the store yet")


class TooManyLabels(SluiceError):
    """A moderator labels faster than a person can."""

    def __init__(self, who: str, at_most: int) -> None:
        super().__init__(
            f"{who} has given {at_most:,} labels within a minute, and no more are taken "
            "(SLUICE_LABELS_PER_MODERATOR_PER_MINUTE)"
        )
