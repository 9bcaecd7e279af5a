"""A piece of the study: it can be done apart from all others, and what it finds is kept."""

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

ROOT: Final = Path(__file__).parents[1]
# Whatever is changed here may change what is found; besides, there is the code of the study itself.
SHARED: Final = (
    *("kernels", "app/learning", "app/datasets", "app/features", "experiments/sets"),
    *("experiments/learners.py", "experiments/playing.py", "experiments/splits.py", "experiments/stored.py"),
)


@dataclass(frozen=True, slots=True)
class Task:
    """`run(**arguments)`, in any process, finds the same numbers on every run, but for fields named `seconds`."""

    study: str
    name: str  # unique in its study
    seconds: float  # how long it takes on one core, about
    run: Callable[..., msgspec.Struct]
    arguments: dict[str, Any]  # as JSON can hold them

    @property
    def key(self) -> str:
        """A name for what it finds: another one once its arguments or the code are changed."""
        text = msgspec.json.encode([self.study, self.name, self.arguments], order="sorted")
        slug = re.sub(r"[^a-z0-9]+", "-", f"{self.study} {self.name}".lower()).strip("-")
        return f"{slug}-{hashlib.sha256(text + code(SHARED + self._own()).encode()).hexdigest()[:12]}"

    def _own(self) -> tuple[str, ...]:
        """The file that it is in, and the modules of `experiments` that this one imports."""
        module = sys.modules[self.run.__module__]
        used = {getattr(value, "__module__", None) or "" for value in vars(module).values()} | {module.__name__}
        return tuple(sorted(f"{name.replace('.', '/')}.py" for name in used if name.startswith("experiments.")))


@cache
def code(paths: tuple[str, ...]) -> str:
    """A hash of the code in these files and folders."""
    digest = hashlib.sha256()
    for path in _sources(paths):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _sources(paths: tuple[str, ...]) -> Iterator[Path]:
    for path in paths:
        yield from sorted((ROOT / path).rglob("*.py")) if (ROOT / path).is_dir() else [ROOT / path]
