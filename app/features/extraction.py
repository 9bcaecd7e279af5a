"""What an input was turned into."""

from collections.abc import Sequence

import msgspec

from app.learning.example import Example


class Found(msgspec.Struct, frozen=True):
    """The features of an input, and what of it was not looked at: a sentence each."""

    example: Example
    cut: Sequence[str] = ()
