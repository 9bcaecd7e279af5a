"""Vowpal Wabbit's daemon, rspamd's Bayes and bogofilter."""

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import msgspec

from load_tests.harness.jobs import Verdict, Wire
from load_tests.harness.processes import Server, ended, free_port, valkey
from load_tests.harness.traffic import post
from load_tests.peers.contenders import MAIL, Contender, Place
from load_tests.peers.examples import Example

BITS = "22"  # hardly any two features collide
SPECIAL = str.maketrans({":": "%c", "|": "%p", "%": "%%", " ": "%s", "\n": "%n", "\r": "%r", "\t": "%t"})
RSPAMD_SECONDS = 90.0  # it compiles the public suffixes at every first start
MEMORY = Path("/dev/shm")  # noqa: S108 - it writes its word list through to the disk at every mail
BOGOFILTER = b"bogofilter %b -C -d words --db-transaction=no\n%b"

# The classifier is that of Debian's statistic.conf; `filters`, the plugins and the rules are empty.
RSPAMD = """
options {{
  pidfile = "{folder}/rspamd.pid"; cache_file = "{folder}/symbols.cache"; dynamic_conf = "{folder}/dynamic";
  history_file = "{folder}/history"; control_socket = "{folder}/control.sock mode=0600"; hs_cache_dir = "{folder}";
  tempdir = "{folder}"; url_tld = "${{SHAREDIR}}/effective_tld_names.dat";
  filters = ""; allow_raw_input = true; words_decay = 600; explicit_modules = ["settings", "bayes_expiry"];
  classify_headers = ["User-Agent", "X-Mailer", "Content-Type", "X-MimeOLE"];
  dns {{ nameserver = ["127.0.0.1:9"]; }}  # without a listener
}}
logging {{ type = "file"; filename = "{folder}/rspamd.log"; level = "error"; }}
worker "controller" {{ bind_socket = "127.0.0.1:{port}"; count = 1; secure_ip = "127.0.0.1"; }}
lua = "{folder}/rules.lua";
modules {{ path = "{folder}/plugins"; }}
actions {{ reject = 15; add_header = 6; greylist = 4; }}
group "statistics" {{ symbols {{ "BAYES_SPAM" {{ weight = 5.1; }} "BAYES_HAM" {{ weight = -3.0; }} }} }}
classifier "bayes" {{
  tokenizer {{ name = "osb"; }}
  cache {{ }}
  new_schema = true; store_tokens = false; signatures = false; min_tokens = 11; min_learns = 200;
  backend = "redis"; servers = "127.0.0.1:{store_port}";
  statfile {{ symbol = "BAYES_HAM"; spam = false; }}
  statfile {{ symbol = "BAYES_SPAM"; spam = true; }}
  learn_condition = 'return require("lua_bayes_learn").can_learn';
}}
"""


@dataclass(frozen=True)
class VowpalWabbit(Contender):
    """Its daemon over TCP: a line for a verdict, a line with a label to learn; `weight` is that of an anomaly."""

    wire: ClassVar[Wire] = "lines"
    verdict: ClassVar[Verdict] = "sign"
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

        with ended(Server(command, port, folder / "vw.log", terminates=True).start()) as daemon:
            yield Place(daemon.wait_until(answers).port)

    def predict(self, example: Example) -> bytes:
        return _line(b"", example)

    def learn(self, example: Example) -> bytes:
        return _line(b"1 %g " % self.weight if example.label > 0 else b"-1 ", example)

    def absent(self) -> str | None:
        return None if find_spec("vowpalwabbit") else "the Python package vowpalwabbit is not installed"


def _line(head: bytes, example: Example) -> bytes:
    features: dict[str, float] = msgspec.json.decode(example.features)
    pairs = (f"{name.translate(SPECIAL)}:{value:g}" for name, value in features.items())
    return b"%b| %b\n" % (head, " ".join(pairs).encode())


@dataclass(frozen=True)
class Rspamd(Contender):
    """Only its Bayes, by its controller over HTTP: no rules, no lookups. Its words are in a Valkey of its own."""

    verdict: ClassVar[Verdict] = "bayes"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - any number
        port = free_port()
        (folder / "plugins").mkdir()
        (folder / "rules.lua").touch()
        configuration = folder / "rspamd.conf"
        insecure = ["--insecure"] if os.geteuid() == 0 else []  # it refuses to run as root without it
        command = ["rspamd", "--no-fork", *insecure, "--config", str(configuration)]
        with valkey(folder, durable=False) as store_port:
            text = RSPAMD.format(folder=folder, port=port, store_port=store_port)
            configuration.write_text(text, encoding="utf-8")
            with ended(Server(command, port, folder / "daemon.log", terminates=True).start()) as daemon:
                yield Place(daemon.wait_for("GET", "/ping", patience_seconds=RSPAMD_SECONDS).port)

    def predict(self, example: Example) -> bytes:
        return post("/checkv2", example.raw, MAIL)

    def learn(self, example: Example) -> bytes:
        return post("/learnspam" if example.label > 0 else "/learnham", example.raw, MAIL)

    def absent(self) -> str | None:
        return _not_installed("rspamd")


@dataclass(frozen=True)
class Bogofilter(Contender):
    """Under its defaults, a process to test each raw mail and one to register it, as mail delivery runs it."""

    wire: ClassVar[Wire] = "programs"
    verdict: ClassVar[Verdict] = "probability"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - there is no server
        with TemporaryDirectory(prefix="sluice-peers-", dir=MEMORY if MEMORY.is_dir() else folder) as place:
            (Path(place) / "words").mkdir()
            yield Place(folder=place)

    def predict(self, example: Example) -> bytes:
        return BOGOFILTER % (b"-T", example.raw)

    def learn(self, example: Example) -> bytes:
        return BOGOFILTER % (b"-s" if example.label > 0 else b"-n", example.raw)

    def absent(self) -> str | None:
        return _not_installed("bogofilter")


def _not_installed(program: str) -> str | None:
    return None if shutil.which(program) else f"{program} is not installed: on Debian, `apt-get install {program}`"
