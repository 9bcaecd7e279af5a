"""Sluice itself, with the settings that it ships with: a service of its own for every row."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from load_tests.harness.processes import Service, ended
from load_tests.peers.client.jobs import Reading, Request
from load_tests.peers.contenders.contender import JSON, Contender, Place, post
from load_tests.peers.contenders.store import store
from load_tests.peers.examples import Example

TENANT = "peers"
NDJSON = b"application/x-ndjson"
MAIL = b"message/rfc822"


@dataclass(frozen=True)
class Ours(Contender):
    """`sluice serve`. Durable, as it ships: every label is on the disk before it is acknowledged."""

    durable: bool = True

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - as many as come
        """Start it, with its embedded Valkey or with one that writes nothing."""
        with ExitStack() as stack:
            settings: dict[str, object] = {}
            if not self.durable:
                settings["redis_url"] = f"redis://127.0.0.1:{stack.enter_context(store(folder, durable=False))}"
            service = stack.enter_context(ended(Service(folder, **settings).start()))
            yield Place(service.is_ready().port)


@dataclass(frozen=True)
class Features(Ours):
    """Single requests with feature dicts, the same as the others get."""

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """POST /predict."""
        return [Request(post("/predict", _body(_features(each))), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """POST /feedback."""
        return [Request(post("/feedback", _body(_features(each), each.label)), learns=True) for each in examples]


@dataclass(frozen=True)
class Urls(Ours):
    """Single requests with URLs as they are: Sluice makes the features."""

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """POST /predict."""
        return [Request(post("/predict", _body(_url(each))), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """POST /feedback."""
        return [Request(post("/feedback", _body(_url(each), each.label)), learns=True) for each in examples]


@dataclass(frozen=True)
class Mails(Ours):
    """Single requests with mails as they are: Sluice makes the features."""

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """POST /predict."""
        path = f"/predict?tenant={TENANT}"
        return [Request(post(path, each.raw, MAIL), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """POST /feedback."""
        path = f"/feedback?tenant={TENANT}&label="
        return [Request(post(f"{path}{each.label}", each.raw, MAIL), learns=True) for each in examples]


@dataclass(frozen=True)
class Batches(Ours):
    """Many examples in a request, as a JSON array or as NDJSON.

    To test, then train, feedback is enough: its answer tells each verdict from just before that label was learnt.
    """

    reading: ClassVar[Reading] = "predicted"
    ndjson: bool = False

    def played(self, examples: Sequence[Example]) -> list[Request]:
        """Feedback alone."""
        return [msgspec.structs.replace(request, judged=True) for request in self.learns(examples)]

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """POST /predict/batch."""
        return [Request(each) for each in self._posts("/predict/batch", [b"{%b}" % _features(e) for e in examples])]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """POST /feedback/batch."""
        items = [b'{"label":%d,%b}' % (each.label, _features(each)) for each in examples]
        return [Request(each, learns=True) for each in self._posts("/feedback/batch", items)]

    def _posts(self, path: str, items: Sequence[bytes]) -> Iterator[bytes]:
        for start in range(0, len(items), self.items):
            some = items[start : start + self.items]
            if self.ndjson:
                yield post(f"{path}?tenant={TENANT}", b"\n".join(some) + b"\n", NDJSON)
            else:
                yield post(path, b'{"tenant":"%b","items":[%b]}' % (TENANT.encode(), b",".join(some)), JSON)


def _features(example: Example) -> bytes:
    return b'"features":%b' % example.features


def _url(example: Example) -> bytes:
    return b'"url":%b' % msgspec.json.encode(example.raw.decode("utf-8", "replace"))


def _body(given: bytes, label: int | None = None) -> bytes:
    told = b"" if label is None else b',"label":%d' % label
    return b'{"tenant":"%b",%b%b}' % (TENANT.encode(), given, told)
