"""The steps of a run. What each has found is kept at once, so that a run that breaks off can be resumed."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from load_tests.scale.results import Results
from load_tests.scale.sizes import Sizes

Measure = Callable[[Path, Sizes], Any]


@dataclass(frozen=True, slots=True)
class Steps:
    """Measurements in their order, each in a folder of its own below `work`; what they find is written to `kept`."""

    work: Path
    kept: Path
    sizes: Sizes
    say: Callable[[str], None]
    resumed: list[str] = field(default_factory=list)  # texts of those that a run before had done

    def begin(self, *, resume: bool) -> "Steps":
        """Forget what an earlier run has left, unless it is to be gone on with."""
        if not resume:
            shutil.rmtree(self.kept, ignore_errors=True)
        self.kept.mkdir(parents=True, exist_ok=True)
        return self

    def take(self, name: str, text: str, measure: Measure) -> Any:  # noqa: ANN401 - what the field of that name holds
        """Measure what the field of this name in the results shall hold, or read what was found before."""
        path = self.kept / f"{name}.json"
        if path.exists():
            self.say(f"{text}: as measured before")
            self.resumed.append(text)
            return msgspec.json.decode(path.read_bytes(), type=get_type_hints(Results)[name])
        self.say(text)
        found = measure(self.work / name, self.sizes)
        aside = path.with_suffix(".new")
        aside.write_bytes(msgspec.json.encode(found))
        aside.replace(path)
        return found
