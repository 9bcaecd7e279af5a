"""What a contender is; Sluice, the limit, and Python libraries behind the same FastAPI."""

import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from load_tests.harness.jobs import ClosedLoop, Request, Verdict, Wire
from load_tests.harness.processes import Server, Service, limit_server
from load_tests.harness.traffic import NDJSON, parts, post
from load_tests.peers.examples import Example
from tests.servers import DURABLE, free_port, valkey_server

PREDICT, LEARN = "predict", "learn"
TENANT = "peers"
MAIL = "message/rfc822"
IN_MEMORY = ("--appendonly", "no", "--save", "")  # options of Valkey


class Group(Enum):
    """What may be compared with what."""

    LIMIT = "the limit"
    OURS = "Sluice"
    PYTHON = "a Python service"
    DAEMON = "a daemon"
    MAIL = "a mail filter"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a running contender takes requests: a port, or a folder for programs."""

    port: int = 0
    folder: str = ""


@dataclass(frozen=True)
class Contender(ABC):
    """A system that scores examples and learns their labels."""

    wire: ClassVar[Wire] = "http"
    verdict: ClassVar[Verdict] = "label"
    program: ClassVar[str] = ""  # that it needs

    name: str
    group: Group
    beside: str  # the row of Sluice with the same inputs
    same_work: str = ""  # the row of Sluice that also keeps labels as it does: on the disk, or in memory only
    about: str = ""  # a remark for its row
    items: int = 1  # examples in a request
    package: str = ""  # of Python, that it needs

    @abstractmethod
    def served(self, folder: Path, connections: int) -> AbstractContextManager[Place]:
        """Start it untrained, for so many connections; it ends with the block."""

    @abstractmethod
    def predict(self, example: Example) -> bytes:
        """The request for a verdict."""

    @abstractmethod
    def learn(self, example: Example) -> bytes:
        """The request that teaches a label."""

    def job(self, place: Place, requests: list[Request], connections: int = 1, seconds: float = 0.0) -> ClosedLoop:
        return ClosedLoop(
            requests=requests,
            port=place.port,
            connections=connections,
            seconds=seconds,
            marks=0,
            wire=self.wire,
            verdict=self.verdict,
            folder=place.folder,
        )

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        return [Request(self.predict(each), kind=PREDICT, judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        return [Request(self.learn(each), kind=LEARN) for each in examples]

    def played(self, examples: Sequence[Example]) -> list[Request]:
        pairs = zip(self.predicts(examples), self.learns(examples), strict=True)
        return [request for pair in pairs for request in pair]

    @property
    def is_ours(self) -> bool:
        return self.group is Group.OURS

    def absent(self) -> str:
        """Why it cannot take part, in a sentence."""
        if self.program and not shutil.which(self.program):
            return f"{self.program} is not installed: on Debian, `apt-get install {self.program}`"
        if self.package and not find_spec(self.package):
            return f"the Python package {self.package} is not installed"
        return ""


@dataclass(frozen=True)
class Limit(Contender):
    """A FastAPI route that reads its body and answers a constant: the cost of FastAPI without any work."""

    learn_path: ClassVar[str] = "/predict"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - any number
        with limit_server(folder) as server:
            yield Place(server.port)

    def predict(self, example: Example) -> bytes:
        return post("/predict", b'{"features":%b}' % example.features)

    def learn(self, example: Example) -> bytes:
        return post(self.learn_path, b'{"label":%d,"features":%b}' % (example.label, example.features))


@dataclass(frozen=True)
class Library(Limit):
    """A learner of `load_tests.peers.learners` in a process of its own."""

    learn_path: ClassVar[str] = "/learn"
    learner: str = ""
    options: Mapping[str, float | str] = field(default_factory=dict)
    durable: bool = False  # whether a label is in a log on the disk before it is learnt and acknowledged

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - any number
        port = free_port()
        options = msgspec.json.encode(self.options).decode()
        command = [sys.executable, "-m", "load_tests.peers.learners", self.learner, str(port), options]
        with ExitStack() as stack:
            if self.durable:
                command.append(str(stack.enter_context(valkey_server(folder / "store", *DURABLE)).port))
            server = stack.enter_context(Server(command, port, folder / "learner.log").start())
            yield Place(server.wait_for("POST", "/predict", b'{"features":{}}').port)


@dataclass(frozen=True)
class Sluice(Contender):
    """`sluice serve` with the settings that it ships with; raw inputs become features inside Sluice."""

    input: Literal["features", "url", "mail"] = "features"
    durable: bool = True  # as it ships: a label is on the disk before it is acknowledged

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - any number
        with ExitStack() as stack:
            settings: dict[str, object] = {}
            if not self.durable:
                settings["redis_url"] = stack.enter_context(valkey_server(folder / "store", *IN_MEMORY)).url
                settings["allow_unsafe_redis"] = True  # labels in memory only, like the rivals
            yield Place(stack.enter_context(Service(folder, **settings).running()).port)

    def predict(self, example: Example) -> bytes:
        if self.input == "mail":
            return post(f"/predict?tenant={TENANT}", example.raw, MAIL)
        return post("/predict", b'{"tenant":"%b",%b}' % (TENANT.encode(), self._given(example)))

    def learn(self, example: Example) -> bytes:
        if self.input == "mail":
            return post(f"/feedback?tenant={TENANT}&label={example.label}", example.raw, MAIL)
        given = self._given(example)
        return post("/feedback", b'{"tenant":"%b",%b,"label":%d}' % (TENANT.encode(), given, example.label))

    def _given(self, example: Example) -> bytes:
        if self.input == "url":
            return b'"url":%b' % msgspec.json.encode(example.raw.decode("utf-8", "replace"))
        return b'"features":%b' % example.features


@dataclass(frozen=True)
class Batches(Sluice):
    """Many examples in a request; the answer to feedback holds each verdict from just before its label was learnt."""

    verdict: ClassVar[Verdict] = "predicted"
    ndjson: bool = False

    def played(self, examples: Sequence[Example]) -> list[Request]:
        return [msgspec.structs.replace(request, judged=True) for request in self.learns(examples)]

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        items = [b"{%b}" % self._given(each) for each in examples]
        return [Request(each, kind=PREDICT) for each in self._posts("/predict/batch", items)]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        items = [b'{"label":%d,%b}' % (each.label, self._given(each)) for each in examples]
        return [Request(each, kind=LEARN) for each in self._posts("/feedback/batch", items)]

    def _posts(self, path: str, items: Sequence[bytes]) -> Iterator[bytes]:
        for some in parts(items, self.items):
            if self.ndjson:
                yield post(f"{path}?tenant={TENANT}", b"\n".join(some) + b"\n", NDJSON)
            else:
                yield post(path, b'{"tenant":"%b","items":[%b]}' % (TENANT.encode(), b",".join(some)))
