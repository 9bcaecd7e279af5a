"""rspamd's Bayes, and nothing else of it: no rules, no lookups, no network. Its words are in a Valkey of its own."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from load_tests.harness.client import send as ask
from load_tests.harness.processes import ended, free_port
from load_tests.peers.client.jobs import Reading, Request
from load_tests.peers.contenders.contender import Contender, Place, post
from load_tests.peers.contenders.families import Family
from load_tests.peers.contenders.store import store
from load_tests.peers.examples import Example

PROGRAM = "rspamd"
PATIENCE_SECONDS = 90.0  # it compiles the public suffixes at every first start
MAIL = b"message/rfc822"

# The classifier is that of Debian's statistic.conf; `filters`, the plugins and the rules are empty.
CONFIGURATION = """
options {{
  pidfile = "{folder}/rspamd.pid"; cache_file = "{folder}/symbols.cache"; dynamic_conf = "{folder}/dynamic";
  history_file = "{folder}/history"; control_socket = "{folder}/control.sock mode=0600"; hs_cache_dir = "{folder}";
  tempdir = "{folder}"; url_tld = "${{SHAREDIR}}/effective_tld_names.dat";
  filters = ""; allow_raw_input = true; words_decay = 600; explicit_modules = ["settings", "bayes_expiry"];
  classify_headers = ["User-Agent", "X-Mailer", "Content-Type", "X-MimeOLE"];
  dns {{ nameserver = ["127.0.0.1:9"]; }}  # nobody listens there
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
class Rspamd(Contender):
    """Mails are checked and learnt over HTTP by its controller, which can do both."""

    reading: ClassVar[Reading] = "bayes"

    @contextmanager
    def served(self, folder: Path, connections: int) -> Iterator[Place]:  # noqa: ARG002 - as many as come
        """Start its store, then the daemon."""
        port = free_port()
        with (
            store(folder, durable=False) as store_port,
            ended(_daemon(folder, port, store_port).start()) as daemon,
        ):
            daemon.wait_until(partial(_answers, port), PATIENCE_SECONDS)
            yield Place(port)

    def predicts(self, examples: Sequence[Example]) -> list[Request]:
        """POST /checkv2."""
        return [Request(post("/checkv2", each.raw, MAIL), judged=True) for each in examples]

    def learns(self, examples: Sequence[Example]) -> list[Request]:
        """POST /learnspam or /learnham."""
        paths = {1: "/learnspam", -1: "/learnham"}
        return [Request(post(paths[each.label], each.raw, MAIL), learns=True) for each in examples]

    def absent(self) -> str | None:
        """The program may be missing."""
        return None if shutil.which(PROGRAM) else "rspamd is not installed: on Debian, `apt-get install rspamd`"


def _daemon(folder: Path, port: int, store_port: int) -> Family:
    (folder / "plugins").mkdir()
    (folder / "rules.lua").touch()
    configuration = folder / "rspamd.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, store_port=store_port), encoding="utf-8")
    insecure = ["--insecure"] if os.geteuid() == 0 else []  # it does not want to be root, and need not be
    return Family([PROGRAM, "--no-fork", *insecure, "--config", str(configuration)], port, folder / "daemon.log")


def _answers(port: int) -> bool:
    try:
        return ask(port, "GET", "/ping").status == 200
    except OSError:
        return False
