"""The result of turning an input into features."""

from collections.abc import Sequence

import msgspec

from app.learning.example import Example


class Extraction(msgspec.Struct, frozen=True):
    """The features of an input; `cut` has a sentence for each part that was ignored because of a limit."""

    example: Example
    cut: Sequence[str] = ()
