"""The commands that the pages of the manual show, and what they print there."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
PROGRAMS = {  # a line of code that begins with one of them is a command, as is one that begins with "$ "
    "apt", "apt-get", "cp", "curl", "docker", "export", "git", "helm", "kill", "kubectl", "make", "npm",
    "openapi-python-client", "pip", "printf", "python", "python3", "redis-cli", "sluice", "sudo", "systemctl", "tar",
    "uv", "valkey-cli",
}  # fmt: skip
CODE = re.compile(r" {4}(.*\S.*)")
ASSIGNMENTS = re.compile(r"(?:[A-Z_]+=\S* )*")
INLINE = re.compile(r"`((?:make|sluice|docker) [^`]+)`")


@dataclass
class Step:
    """A command, and the lines that a page shows as its output."""

    command: str
    shown: list[str] = field(default_factory=list)

    @property
    def program(self) -> str:
        return program_of(self.command)

    @property
    def answer(self) -> dict[str, Any] | None:
        """The JSON object that is shown, without what `...` stands for."""
        text = "\n".join(self.shown)
        if not text.startswith("{"):
            return None
        found: dict[str, Any] = json.loads(re.sub(r",?\s*\.\.\.(?=\s*[}\]])", "", text))
        return found


def steps_of(page: Path) -> list[Step]:
    """Return the commands in the code blocks of a page, in order."""
    steps: list[Step] = []
    is_output = False  # whether lines of code belong to the last command
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        code = CODE.match(line)
        if code is None:
            is_output = is_output and not line.strip()  # prose ends the output
        elif code[1].startswith("$ ") or program_of(code[1]) in PROGRAMS:
            steps.append(Step(re.sub(r" {2,}", " ", code[1].removeprefix("$ "))))
            is_output = True
        elif is_output:
            steps[-1].shown.append(code[1])
    return steps


def inline_commands(page: Path) -> list[str]:
    """Return the commands within the prose of a page."""
    return [re.sub(r"\s+", " ", found) for found in INLINE.findall(page.read_text(encoding="utf-8"))]


def program_of(command: str) -> str:
    words = ASSIGNMENTS.sub("", command, count=1).split(maxsplit=1)
    return words[0].removeprefix(".venv/bin/") if words else ""
