"""Every data set by its name; docs/reproduction.md describes them."""

from typing import Final

from experiments.sets.files import A9A, ELEC2, JPCERT, PCMAC, PDD, PHISHSTORM, PHISHTANK, W8A
from experiments.sets.invented import LOGS, MIXED, PAYMENTS, SENSORS, TWO_TAILED, UNITS
from experiments.sets.mails import ENRON, MAILS, SPAMASSASSIN, TREC07P
from experiments.sets.news import NEWS
from experiments.sets.shipped import BREAST_CANCER, DIGITS, WINE
from experiments.sets.source import Source
from experiments.sets.synthetic import SYNTHETIC
from experiments.sets.texts import LINGSPAM, SMS

SOURCES: Final[dict[str, Source]] = {
    source.name: source
    for source in (*(SYNTHETIC, PCMAC, NEWS, A9A, W8A), *(PHISHSTORM, PDD, PHISHTANK, JPCERT, TREC07P, MAILS, ELEC2))
}
# Sets of `make bench-quality` alone; docs/quality.md describes them.
QUALITY_SOURCES: Final[dict[str, Source]] = {
    source.name: source
    for source in (
        *(SPAMASSASSIN, ENRON, SMS, LINGSPAM, BREAST_CANCER, WINE, DIGITS),
        *(PAYMENTS, TWO_TAILED, MIXED, SENSORS, UNITS, LOGS),
    )
}
