"""The limit: a FastAPI route that reads its body and answers a constant. It knows nothing and learns nothing."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from load_tests.harness.processes import ended, limit_server
from load_tests.peers.client.jobs import Request
from load_tests.peers.contenders.contender import Contender, Place, post
from load_tests.peers.examples import Example


@dataclass(frozen=True)
class Limit(Contender):
    """What FastAPI costs without any work."""

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - as many as come
        """Start it."""
        with ended(limit_server(folder).start()) as server:
            server.wait_for("POST", "/predict", b"{}")
            yield Place(server.port)

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """The bodies that Sluice gets."""
        return [Request(post("/predict", b'{"features":%b}' % each.features), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """The same route: there is only one."""
        bodies = (b'{"label":%d,"features":%b}' % (each.label, each.features) for each in examples)
        return [Request(post("/predict", body), learns=True) for body in bodies]
