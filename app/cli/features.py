"""`sluice features`: what an input turns into, or every input of a file."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from app.cli.learning import Pass, say_skipped
from app.cli.options import add_reading
from app.cli.showing import table
from app.cli.waiting import watched
from app.datasets.batch import Batch
from app.datasets.errors import DatasetError
from app.datasets.mails.mail import LARGEST_MAIL_BYTES
from app.datasets.reader import read
from app.datasets.source import STDIN
from app.features.extraction import Extraction
from app.features.featurizer import Kind, features_of


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser: ArgumentParser = commands.add_parser(
        "features",
        help="show what a URL, a mail or a text turns into",
        description="Show the features of an input; of a whole file as JSON lines, to train on elsewhere.",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--url", metavar="URL")
    which.add_argument("--email", metavar="PATH", help="a raw message; - is standard input")
    which.add_argument("--text", metavar="TEXT")
    which.add_argument("--file", metavar="FILE", help="all that `sluice evaluate` takes; answers with JSON lines")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    add_reading(parser)
    parser.set_defaults(run=features)


def features(chosen: Namespace) -> None:
    """Run the command."""
    if chosen.file is not None:
        _print_all(chosen)
        return
    kind, raw = _input(chosen)
    found = features_of(kind, raw, chosen.featurizer)
    if chosen.json:
        answer = {"kind": kind, "featurizer": chosen.featurizer, "features": _named(found), "cut": list(found.cut)}
        print(msgspec.json.format(msgspec.json.encode(answer)).decode())
    else:
        print(_text(found))


def _input(chosen: Namespace) -> tuple[Kind, str | bytes]:
    if chosen.url is not None:
        return "url", chosen.url
    if chosen.text is not None:
        return "text", chosen.text
    return "email", _mail(chosen.email)


def _mail(path: str) -> bytes:
    if path == STDIN:
        raw = sys.stdin.buffer.read(LARGEST_MAIL_BYTES + 1)
    else:
        with Path(path).open("rb") as file:
            raw = file.read(LARGEST_MAIL_BYTES + 1)
    if len(raw) > LARGEST_MAIL_BYTES:
        raise DatasetError(path, f"has more than {LARGEST_MAIL_BYTES:,} bytes")
    return raw


def _named(found: Extraction) -> dict[str, float]:
    return dict(zip(found.example.names, found.example.values.tolist(), strict=True))


def _text(found: Extraction) -> str:
    named = _named(found)
    rows = [[_printable(name), f"{value:.6g}"] for name, value in named.items()]
    listed = table(("feature", "value"), rows) if rows else "There is nothing in it to learn from."
    count = f"{len(named):,} feature{'' if len(named) == 1 else 's'}"
    return "\n".join([listed, "", count, *(f"Not looked at: {sentence}" for sentence in found.cut)])


def _printable(name: str) -> str:
    """The name on one line: an input must not be able to move the cursor."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)


def _print_all(chosen: Namespace) -> None:
    seen = Pass()
    with watched(quiet=chosen.quiet) as watch:
        for batch in read(
            chosen.file,
            format=chosen.format,
            featurizer=chosen.featurizer,
            on_error=chosen.on_error,
            report=seen.report,
            observer=watch,
        ):
            sys.stdout.writelines(_lines(batch))
    say_skipped(seen)


def _lines(batch: Batch) -> Iterator[str]:
    values, starts = batch.values.tolist(), batch.starts.tolist()
    for number, label in enumerate(batch.labels.tolist()):
        places = range(starts[number], starts[number + 1])
        line = {"label": int(label), "features": {batch.name_at(place): values[place] for place in places}}
        yield msgspec.json.encode(line).decode() + "\n"
