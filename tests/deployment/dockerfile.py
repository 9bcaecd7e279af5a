"""A parser of the Dockerfile and .dockerignore, for the syntax that they use."""

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Instruction(NamedTuple):
    """An instruction such as RUN, and its arguments on one line."""

    name: str
    rest: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.rest)

    @property
    def exec_form(self) -> list[str]:
        """The words of `CMD ["a", "b"]`, also after the options of HEALTHCHECK."""
        words: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return words


class Stage(NamedTuple):
    """A build stage."""

    image: str
    name: str
    instructions: list[Instruction]

    def all_of(self, name: str) -> list[Instruction]:
        return [each for each in self.instructions if each.name == name]

    def one(self, name: str) -> Instruction:
        (found,) = self.all_of(name)
        return found

    def environment(self, outer: Mapping[str, str]) -> dict[str, str]:
        """The variables of all ENV lines."""
        found: dict[str, str] = {}
        for instruction in self.all_of("ENV"):
            pairs = (word.split("=", 1) for word in instruction.words)
            found |= {name: Template(value).substitute(outer) for name, value in pairs}
        return found


def read_stages() -> list[Stage]:
    """The stages of our Dockerfile, in order."""
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for instruction in _instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        match instruction:
            case Instruction("ARG", rest):
                name, value = rest.split("=", 1)
                arguments[name] = value
            case Instruction("FROM", rest):
                image, _, name = rest.partition(" AS ")
                stages.append(Stage(Template(image).substitute(arguments), name, []))
            case _:
                stages[-1].instructions.append(instruction)
    return stages


def _instructions(text: str) -> Iterator[Instruction]:
    without_comments = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    for line in without_comments.replace("\\\n", " ").splitlines():
        if line.strip():
            name, rest = line.split(None, 1)
            yield Instruction(name, rest.strip())


def context_files() -> Iterator[Path]:
    """The files of the repository in the build context."""
    rules = _rules((ROOT / ".dockerignore").read_text(encoding="utf-8"))
    again = [pattern for pattern, is_ignored in rules if not is_ignored]
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        folders[:] = [name for name in folders if not _is_ignored(rules, here / name) or _may_hold(again, here / name)]
        yield from (here / name for name in files if not _is_ignored(rules, here / name))


def _rules(text: str) -> list[tuple[str, bool]]:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.removeprefix("!"), not line.startswith("!")) for line in lines]


def _is_ignored(rules: list[tuple[str, bool]], path: Path) -> bool:
    """The last rule that matches the path, or a folder of it, decides."""
    ignored = False
    for pattern, is_ignored in rules:
        if any(_fits(pattern, each) for each in (path, *path.parents)):
            ignored = is_ignored
    return ignored


def _may_hold(patterns: list[str], folder: Path) -> bool:
    return any(pattern.startswith(f"{folder.as_posix()}/") for pattern in patterns)


def _fits(pattern: str, path: Path) -> bool:
    """`*` stays within a folder, `**/` is any number of folders, including none."""
    pieces = {"**/": "(.*/)?", "*": "[^/]*"}
    expression = re.sub(r"\*\*/|\*|[^*]+", lambda piece: pieces.get(piece[0], re.escape(piece[0])), pattern)
    return path != Path() and re.fullmatch(expression, path.as_posix()) is not None
