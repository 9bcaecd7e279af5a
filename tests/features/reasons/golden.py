"""Reasons of real inputs, for people to read: `python -m tests.features.reasons.golden` rewrites them."""

import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from app.datasets.errors import LineErrors
from app.datasets.mails.corpus import open_mails
from app.datasets.source import Observer
from app.features.featurizer import Kind, features_of
from app.features.reasons import parts_of, reasons_of
from app.learning.config import config_of
from app.learning.model import Model
from tests.data import shared_data

FILE = Path(__file__).parents[2] / "fixtures" / "reasons.txt"
LEARNT, SHOWN = 0, 1
URLS = {"urls/phishstorm.tsv.xz": (4000, 25), "urls/pdd.tsv.xz": (4000, 25)}
MAILS = {"email/trec07p-1-25000.tar.xz": (1200, 10), "email/spamassassin.tar.xz": (1200, 10)}
URL_REASONS, MAIL_REASONS = 6, 8
STEP = {"url": 1, "email": 4, "text": 1}  # neighbours in a corpus of mails are much the same
LONGEST_URL = 100
MOST_WORDS = 2

Labelled = tuple[int, str | bytes]


def lines() -> Iterator[str]:
    """The reasons of every input, with the words that they point at."""
    for name, sizes in URLS.items():
        yield from _inputs("url", _urls(name), sizes, URL_REASONS)
    for name, sizes in MAILS.items():
        yield from _inputs("email", _mails(name), sizes, MAIL_REASONS)


def _inputs(kind: Kind, inputs: Iterator[Labelled], sizes: tuple[int, int], most: int) -> Iterator[str]:
    model = Model(config_of({"algorithm": "cs-sol"}))
    for label, raw in islice(inputs, sizes[LEARNT]):
        model.learn(features_of(kind, raw).example, label)
    for number, (label, raw) in enumerate(islice(inputs, 0, STEP[kind] * sizes[SHOWN], STEP[kind]), 1):
        example = features_of(kind, raw).example
        score, keys, contributions = model.explain(example)
        names = dict(zip(example.keys.tolist(), example.names, strict=True))
        given = [(names[key], value) for key, value in zip(keys.tolist(), contributions.tolist(), strict=True) if value]
        title = str(raw)[:LONGEST_URL] if kind == "url" else f"mail {number}"
        yield f"{'anomaly' if label > 0 else 'normal'}, score {score:+.2f}: {title}"
        parts = parts_of(kind, raw)
        for reason in reasons_of(kind, raw, given, most):
            shown = dict.fromkeys(repr(parts[each.part][each.start : each.end]) for each in reason.places)
            words = f"  <{' | '.join(islice(shown, MOST_WORDS))}>" if shown else ""
            yield f"  {reason.contribution:+.2f} {reason.text}{words}"


def _urls(name: str) -> Iterator[Labelled]:
    with lzma.open(shared_data(name), "rt", encoding="utf-8") as file:
        for line in file:
            _, label, url = line.rstrip("\n").split("\t", 2)
            yield int(label), url


def _mails(name: str) -> Iterator[Labelled]:
    with open_mails(shared_data(name), LineErrors(name, "stop", None), Observer()) as mails:
        for mail in mails:
            yield int(mail.label), mail.raw


if __name__ == "__main__":
    FILE.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
