"""What the reading of a dataset tells whoever waits for it."""

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """`progress(bytes_done, bytes_in_all)` comes often; `say(sentence)` where something takes long or is unusual."""

    progress: Progress = lambda _done, _total: None
    say: Callable[[str], None] = lambda _sentence: None
