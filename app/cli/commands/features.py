"""`sluice features`: the features of one input, or of every input in a file."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.cli.options import add_reading
from app.cli.output import print_json, print_table
from app.cli.progress import progress_bar
from app.cli.single_pass import Pass, report_skipped
from app.datasets.batch import Batch
from app.datasets.errors import DatasetError
from app.datasets.mails.mail import LARGEST_MAIL_BYTES
from app.datasets.reader import read
from app.datasets.source import STDIN
from app.features.extraction import Extraction
from app.features.featurizer import Kind, features_of


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Show the features of an input; print those of a whole file as JSON lines, to train elsewhere."
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--url", metavar="URL")
    which.add_argument("--email", metavar="PATH", help="a raw message; - is standard input")
    which.add_argument("--text", metavar="TEXT")
    which.add_argument("--file", metavar="FILE", help="any file that `sluice evaluate` reads; prints JSON lines")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_reading(parser)
    parser.set_defaults(run=features)


def features(chosen: Namespace) -> None:
    """Run the command."""
    if chosen.file is not None:
        _print_file(chosen)
        return
    kind, raw = _input(chosen)
    found = features_of(kind, raw, chosen.featurizer)
    named = dict(zip(found.example.names, found.example.values.tolist(), strict=True))
    if chosen.json:
        print_json({"kind": kind, "featurizer": chosen.featurizer, "features": named, "cut": list(found.cut)})
    else:
        _print_features(found, named)


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


def _print_features(found: Extraction, named: dict[str, float]) -> None:
    if named:
        print_table(("feature", "value"), [(name, f"{value:.6g}") for name, value in named.items()])
    else:
        print("The input has no features.")
    print(
        f"\n{len(named):,} feature{'' if len(named) == 1 else 's'}",
        *(f"Note: {part}" for part in found.cut),
        sep="\n",
    )


def _print_file(chosen: Namespace) -> None:
    seen = Pass()
    with progress_bar(quiet=chosen.quiet) as watch:
        for batch in read(
            chosen.file,
            format=chosen.format,
            featurizer=chosen.featurizer,
            on_error=chosen.on_error,
            report=seen.report,
            observer=watch,
        ):
            sys.stdout.writelines(_lines(batch))
    report_skipped(seen)


def _lines(batch: Batch) -> Iterator[str]:
    values, starts = batch.values.tolist(), batch.starts.tolist()
    for number, label in enumerate(batch.labels.tolist()):
        features: dict[str, float] = {}
        for place in range(starts[number], starts[number + 1]):
            name = batch.name_at(place)
            features[name] = features.get(name, 0.0) + values[place]
        yield msgspec.json.encode({"label": int(label), "features": features}).decode() + "\n"
