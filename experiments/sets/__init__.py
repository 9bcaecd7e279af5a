"""Every data set by its name; docs/reproduction.md describes them."""

from typing import Final

from experiments.sets.files import A9A, ELEC2, JPCERT, PCMAC, PDD, PHISHSTORM, PHISHTANK, W8A
from experiments.sets.mails import MAILS, TREC07P
from experiments.sets.news import NEWS
from experiments.sets.source import Source
from experiments.sets.synthetic import SYNTHETIC

SOURCES: Final[dict[str, Source]] = {
    source.name: source
    for source in (*(SYNTHETIC, PCMAC, NEWS, A9A, W8A), *(PHISHSTORM, PDD, PHISHTANK, JPCERT, TREC07P, MAILS, ELEC2))
}
