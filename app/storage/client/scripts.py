"""The Lua scripts, and how several calls of them travel together."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from redis.exceptions import NoScriptError

from app.storage.client.commands import exchanged
from app.storage.client.connection import Connection, store_errors
from app.storage.client.transport import Argument

FOLDER = Path(__file__).parent.parent / "lua"


@dataclass(frozen=True, slots=True)
class Script:
    """A script, and the hash that Redis knows it by."""

    name: str
    text: str
    sha: str


def _read(name: str) -> Script:
    text = (FOLDER / f"{name}.lua").read_text(encoding="utf-8")
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


APPEND, CREATE, SEED, DELETE = map(_read, ("append", "create", "seed", "delete"))
COMMIT, RELEASE, KEEP, KEYRING = map(_read, ("commit", "release", "keep", "keyring"))


class Call(msgspec.Struct, frozen=True):
    """One call of a script."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[Argument]

    def command(self, how: str) -> tuple[Argument, ...]:
        """The command that Redis gets: EVALSHA, or EVAL where it does not know the script yet."""
        source = self.script.sha if how == "EVALSHA" else self.script.text
        return (how, source, len(self.keys), *self.keys, *self.arguments)


async def run(connection: Connection, call: Call) -> Any:  # noqa: ANN401 - each script has an answer of its own
    """Call one script."""
    (answer,) = await run_all(connection, [call])
    if isinstance(answer, BaseException):
        with store_errors(connection.shown):
            raise answer
    return answer


async def run_all(connection: Connection, calls: Sequence[Call]) -> list[Any]:
    """Call several scripts in one journey; an exception stands in place of an answer that failed."""
    with connection.timed(calls[0].script.name if calls else "none") as timed:
        answers = await _run_all(connection, calls)
        timed.failed = any(isinstance(answer, BaseException) for answer in answers)
        return answers


async def _run_all(connection: Connection, calls: Sequence[Call]) -> list[Any]:
    answers = await _send(connection, calls, "EVALSHA")
    unknown = [index for index, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
    if unknown:  # the server is new: nothing of these calls has happened yet
        again = await _send(connection, [calls[index] for index in unknown], "EVAL")
        for index, answer in zip(unknown, again, strict=True):
            answers[index] = answer
    return answers


async def _send(connection: Connection, calls: Sequence[Call], how: str) -> list[Any]:
    with store_errors(connection.shown):
        return await exchanged(connection, [call.keys[0] for call in calls], [call.command(how) for call in calls])
