"""The inputs of sets as they are, before features are made of them."""

from itertools import islice

from app.datasets.errors import LineErrors
from app.datasets.mails.corpus import open_mails
from app.datasets.source import Observer, open_source
from experiments.sets.source import Source, located

Labelled = list[tuple[int, bytes]]  # 1 for an anomaly and -1 for a normal input


def raw_urls(source: Source, count: int) -> Labelled:
    with open_source(located(source.files[0])) as file:
        lines = b"".join(iter(lambda: file.read(1 << 20), b"")).splitlines()
    fields = (line.split(b"\t") for line in lines[:count])
    return [(1 if label in {b"1", b"+1"} else -1, url) for _, label, url in fields]


def raw_mails(source: Source, count: int) -> Labelled:
    with open_mails(located(source.files[0]), LineErrors(source.files[0]), Observer()) as mails:
        return [(int(mail.label), mail.raw) for mail in islice(mails, count)]
