"""A Python library behind the same FastAPI: river's FTRL, scikit-learn's SGD."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import msgspec

from load_tests.harness.processes import Server, ended, free_port
from load_tests.peers.client.jobs import Request
from load_tests.peers.contenders.contender import Contender, Place, post
from load_tests.peers.contenders.store import store
from load_tests.peers.examples import Example


@dataclass(frozen=True)
class Library(Contender):
    """A learner of `load_tests.peers.learners` in a process of its own."""

    module: str = ""
    package: str = ""
    options: Mapping[str, float | str] = field(default_factory=dict)
    durable: bool = (
        False  # whether labels are logged before they are learnt, so that none that was acknowledged is lost
    )

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - as many as come
        """Start it, with a log if it has one."""
        port = free_port()
        options = msgspec.json.encode(self.options).decode()
        command = [sys.executable, "-m", f"load_tests.peers.learners.{self.module}", str(port), options]
        with ExitStack() as stack:
            if self.durable:
                command.append(str(stack.enter_context(store(folder, durable=True))))
            server = stack.enter_context(ended(Server(command, port, folder / f"{self.module}.log").start()))
            server.wait_for("POST", "/predict", b'{"features":{}}')
            yield Place(port)

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """POST /predict."""
        return [Request(post("/predict", b'{"features":%b}' % each.features), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """POST /learn."""
        bodies = (b'{"label":%d,"features":%b}' % (each.label, each.features) for each in examples)
        return [Request(post("/learn", body), learns=True) for body in bodies]

    def absent(self) -> str | None:
        """Its package may be missing."""
        return None if find_spec(self.package) else f"the Python package {self.package} is not installed"
