"""Short messages and mailing-list posts, featurised as texts."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from app.datasets.batch import Batch, BatchBuilder
from app.datasets.mails.tar_members import members
from app.datasets.reader import read
from app.datasets.source import open_source
from app.features.featurizer import features_of
from experiments.sets.source import Source, first, located

SMS_FILE: Final = "text/sms-spam-collection.tsv.xz"
LINGSPAM_FILE: Final = "text/lingspam-bare.tar.xz"
BARE: Final = "/bare/"  # the archive also holds lemmatised copies
SPAM: Final = "spmsg"  # the beginning of the file name
SEED: Final = 1


def _read_lingspam(limit: int | None) -> Iterator[Batch]:
    """Shuffle: the archive is in order of class within each part."""
    with open_source(located(LINGSPAM_FILE)) as source:
        found = [
            (1.0 if member.path.rpartition("/")[2].startswith(SPAM) else -1.0, member.read())
            for member in members(source)
            if BARE in member.path and member.path.endswith(".txt")
        ]
    builder = BatchBuilder()
    for place in np.random.default_rng(SEED).permutation(len(found))[:limit].tolist():
        label, raw = found[place]
        builder.add(label, features_of("text", raw).example)
    yield builder.batch()


SMS: Final = Source(
    "sms", "SMS Spam Collection", (SMS_FILE,), lambda limit: first(read(located(SMS_FILE), format="texts"), limit)
)
LINGSPAM: Final = Source("lingspam", "Ling-Spam", (LINGSPAM_FILE,), _read_lingspam)
