"""Who labels, and what a second person says of a label."""

import msgspec


class Person(msgspec.Struct, frozen=True, order=True):
    """Who labels: a moderator, or else the holder of a key."""

    moderator: str | None = None
    key_id: str | None = None

    @classmethod
    def of(cls, moderator: str | None, key_id: str | None) -> "Person | None":
        """Return who gave a label; None if nobody is named."""
        if moderator is None and key_id is None:
            return None
        return cls(moderator) if moderator is not None else cls(None, key_id)


class SecondOpinion(msgspec.Struct, frozen=True):
    """What a second person said of a labelled prediction without knowing the label, which was of this version."""

    prediction_id: str
    version: int
    first: Person
    first_label: int
    second: Person
    label: int
    at_milliseconds: int
