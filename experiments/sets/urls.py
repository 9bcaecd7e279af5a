"""Lists of URLs, malicious ones and others, by the features that the service makes of them."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from app.datasets.batch import Batch
from app.datasets.reader import read
from experiments.sets.source import Source, first, located

TWO_ORIGINS: Final = (
    "The two classes come from different sites, which makes them easier to tell apart than in production. In order of "
    "time, so a part that is held out at random lies between examples that were learnt."
)


def _source(name: str, title: str, file: str, text: str) -> Source:
    return Source(name, title, text, (file,), partial(_read, file))


def _read(file: str, limit: int | None) -> Iterator[Batch]:
    return first(read(located(file), format="urls"), limit)


PHISHSTORM: Final = _source(
    "phishstorm",
    "PhishStorm",
    "urls/phishstorm.tsv.xz",
    "PhishStorm's list, half of it phishing (1), shuffled: the cleanest of the lists of URLs here.",
)
PDD: Final = _source(
    "pdd",
    "PDD",
    "urls/pdd.tsv.xz",
    "Phishing URLs (1) and others, shuffled. 2% of the phishing ones begin with https and 37% of the others do, but "
    "the features do not look at the scheme.",
)
PHISHTANK: Final = _source(
    "phishtank",
    "PhishTank and Lobsters",
    "urls/phishtank-lobsters-2018-10_2019-10.tsv.xz",
    f"Reports to PhishTank (1), ten times as many as links from Lobsters (-1), of one year. {TWO_ORIGINS}",
)
JPCERT: Final = _source(
    "jpcert",
    "JPCERT and Lobsters",
    "urls/jpcert-lobsters-2019_2021.tsv.xz",
    f"Phishing URLs that JPCERT published (1) and links from Lobsters (-1), of three years. {TWO_ORIGINS}",
)
