"""Vowpal Wabbit's daemon, rspamd's Bayes and bogofilter."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import ClassVar

import msgspec

from load_tests.harness.jobs import Verdict, Wire
from load_tests.harness.processes import Daemon
from load_tests.harness.traffic import post
from load_tests.peers.contenders import IN_MEMORY, MAIL, Contender, Place
from load_tests.peers.examples import Example
from tests.servers import free_port, valkey_server

BITS = "22"  # hardly any two features collide
SPECIAL = str.maketrans({":": "%c", "|": "%p", "%": "%%", " ": "%s", "\n": "%n", "\r": "%r", "\t": "%t"})
RSPAMD = Path(__file__).with_name("rspamd.conf")
RSPAMD_SECONDS = 90.0  # it compiles the public suffixes at every first start
MEMORY = Path("/dev/shm")  # noqa: S108 - it writes its word list through to the disk at every mail
BOGOFILTER = b"bogofilter %b -C -d words --db-transaction=no\n%b"


@dataclass(frozen=True)
class VowpalWabbit(Contender):
    """Its daemon over TCP: a line for a verdict, a line with a label to learn; `weight` is that of an anomaly."""

    wire: ClassVar[Wire] = "lines"
    verdict: ClassVar[Verdict] = "sign"
    package: str = "vowpalwabbit"
    options: tuple[str, ...] = ()
    weight: float = 1.0

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:
        """Start it with a child for every connection: a child serves one at a time. They share the weights."""
        port = free_port()
        own = ["--port", str(port), "--num_children", str(connections), "--bit_precision", BITS, "--quiet"]
        command = [sys.executable, "-m", "load_tests.peers.learners", "vw", *own, *self.options]

        def answers() -> bool:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
                connection.sendall(b"|\n")
                return bool(connection.recv(100))
            return False

        with Daemon(command, port, folder / "vw.log").start() as daemon:
            yield Place(daemon.wait_until(answers).port)

    def predict(self, example: Example) -> bytes:
        return _line(b"", example)

    def learn(self, example: Example) -> bytes:
        return _line(b"1 %g " % self.weight if example.label > 0 else b"-1 ", example)


def _line(head: bytes, example: Example) -> bytes:
    features: dict[str, float] = msgspec.json.decode(example.features)
    pairs = (f"{name.translate(SPECIAL)}:{value:g}" for name, value in features.items())
    return b"%b| %b\n" % (head, " ".join(pairs).encode())


@dataclass(frozen=True)
class Rspamd(Contender):
    """Only its Bayes, by its controller over HTTP: no rules, no lookups. Its words are in a Valkey of its own."""

    verdict: ClassVar[Verdict] = "bayes"
    program: ClassVar[str] = "rspamd"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - any number
        port = free_port()
        (folder / "plugins").mkdir()
        (folder / "rules.lua").touch()
        configuration = folder / "rspamd.conf"
        insecure = ["--insecure"] if os.geteuid() == 0 else []  # it refuses to run as root without it
        command = ["rspamd", "--no-fork", *insecure, "--config", str(configuration)]
        with valkey_server(folder / "store", *IN_MEMORY) as store:
            given = Template(RSPAMD.read_text(encoding="utf-8"))  # it fills in SHAREDIR itself
            text = given.safe_substitute(folder=folder, port=port, store_port=store.port)
            configuration.write_text(text, encoding="utf-8")
            with Daemon(command, port, folder / "daemon.log").start() as daemon:
                yield Place(daemon.wait_for("GET", "/ping", patience_seconds=RSPAMD_SECONDS).port)

    def predict(self, example: Example) -> bytes:
        return post("/checkv2", example.raw, MAIL)

    def learn(self, example: Example) -> bytes:
        return post("/learnspam" if example.label > 0 else "/learnham", example.raw, MAIL)


@dataclass(frozen=True)
class Bogofilter(Contender):
    """Under its defaults, a process to test each raw mail and one to register it, as mail delivery runs it."""

    wire: ClassVar[Wire] = "programs"
    verdict: ClassVar[Verdict] = "probability"
    program: ClassVar[str] = "bogofilter"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - there is no server
        with TemporaryDirectory(prefix="sluice-peers-", dir=MEMORY if MEMORY.is_dir() else folder) as place:
            (Path(place) / "words").mkdir()
            yield Place(folder=place)

    def predict(self, example: Example) -> bytes:
        return BOGOFILTER % (b"-T", example.raw)

    def learn(self, example: Example) -> bytes:
        return BOGOFILTER % (b"-s" if example.label > 0 else b"-n", example.raw)
