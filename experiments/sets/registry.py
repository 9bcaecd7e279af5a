"""Every set by its name."""

from typing import Final

from experiments.sets.elec2 import ELEC2
from experiments.sets.libsvm import A9A, W8A
from experiments.sets.mails import MAILS, TREC07P
from experiments.sets.news import NEWS
from experiments.sets.pcmac import PCMAC
from experiments.sets.source import Source
from experiments.sets.synthetic import synthetic
from experiments.sets.urls import JPCERT, PDD, PHISHSTORM, PHISHTANK

SOURCES: Final[dict[str, Source]] = {
    source.name: source
    for source in (
        synthetic(),
        *(PCMAC, NEWS, A9A, W8A),
        *(PHISHSTORM, PDD, PHISHTANK, JPCERT),
        *(TREC07P, MAILS),
        ELEC2,
    )
}
