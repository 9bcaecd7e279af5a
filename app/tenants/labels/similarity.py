"""Labels of similar inputs: how people have labelled before what looks like an input."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec
import numpy as np

from app.learning.errors import SluiceError
from app.learning.events import FeedbackGiven
from app.learning.example import Example, in_csr
from app.learning.parts.names import Names
from app.storage.event_codec import decode, is_retraction
from app.storage.event_log import Entry, EventLog
from app.tenants.labels.stored_labels import READ_AT_ONCE, StoredLabel, label_of, retractions_of
from app.tenants.tenant import Tenant
from kernels.arrays import Floats, Ints, Keys

MOST_LABELS = 2000  # the newest ones of a tenant that are compared
MOST_FEATURES = 600_000  # of all these labels together, about 10 MB
MOST_TENANTS = 4  # whose labels a worker keeps in memory
MOST_SHARED = 5  # features of a label that are named
BUCKET = np.uint64((1 << 20) - 1)  # features are counted by their last bits: keys are hashes
ALIKE = 0.5  # from this similarity on, a label counts as that of an input that looks alike


class SimilarLabel(msgspec.Struct, frozen=True):
    """A label, how similar its input is (0 to 1), and the rarest features that both have."""

    label: StoredLabel
    similarity: float
    shared: Sequence[str]


class SimilarLabels(msgspec.Struct, frozen=True):
    """The most similar labels, how many were compared, and how those of inputs that look alike divide."""

    labels: Sequence[SimilarLabel]
    compared: int
    anomalies: int
    normal: int


class Known(msgspec.Struct, frozen=True):
    """A label and what was labelled: keys in order, each once."""

    label: StoredLabel
    keys: Keys
    values: Floats


class RecentLabels:
    """The newest labels of one incarnation of a tenant, the oldest first; it reads only what the log has added."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._last: Entry | None = None
        self._labels: list[Known] = []
        self._retracted: set[bytes] = set()  # those of the labels that do not stand

    async def update(self, log: EventLog, name: str) -> list[Known]:
        """Return the labels that stand."""
        new, is_behind = await self._new_entries(log, name)
        if not is_behind:
            self._labels, self._retracted = [], set()
        if new:
            self._last = new[0]
        for entry in reversed(new):
            if is_retraction(entry.payload):
                for retraction in retractions_of([entry]).values():
                    self._retracted = (self._retracted | retraction.labels) - retraction.restores
            elif (known := _known(entry)) is not None:
                self._labels.append(known)
        self._forget()
        return [each for each in self._labels if each.label.hash not in self._retracted]

    async def _new_entries(self, log: EventLog, name: str) -> tuple[list[Entry], bool]:
        """Return the entries behind the last one that is known, the newest first, and whether they follow on it."""
        found: list[Entry] = []
        version: int | None = None
        while entries := await log.read_back(name, version, READ_AT_ONCE):
            version = entries[-1].version
            for entry in entries:
                if self._last is not None and entry.version <= self._last.version:
                    if entry.chain == self._last.chain:
                        return found, True
                    self._last = None  # a failover has replaced what was known
                found.append(entry)
            if len(found) >= 2 * MOST_LABELS:
                break
        return found, False

    def _forget(self) -> None:
        """Keep the newest labels: so many, and with so many features."""
        kept, features = 0, 0
        for known in reversed(self._labels):
            features += known.keys.size
            if kept == MOST_LABELS or (kept and features > MOST_FEATURES):
                break
            kept += 1
        self._labels = self._labels[len(self._labels) - kept :]
        self._retracted &= {each.label.hash for each in self._labels}


class SimilarInputs:
    """Finds the labels of a tenant whose inputs are the most similar to one."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._recent: OrderedDict[tuple[str, str], RecentLabels] = OrderedDict()

    async def find(self, tenant: Tenant, example: Example, limit: int, but: str) -> SimilarLabels:
        """Return the labels that are the most similar to an example, but not those of one prediction."""
        recent = self._recent.setdefault((tenant.name, tenant.incarnation), RecentLabels())
        self._recent.move_to_end((tenant.name, tenant.incarnation))
        if len(self._recent) > MOST_TENANTS:
            self._recent.popitem(last=False)
        async with recent.turn:
            labels = await recent.update(self._log, tenant.name)
        others = [each for each in labels if each.label.prediction_id != but]
        return await asyncio.to_thread(most_similar, example, others, tenant.state.names, limit)


def most_similar(example: Example, labels: Sequence[Known], names: Names, limit: int) -> SimilarLabels:
    """Compare an example with labels. Of equally similar ones, the newest comes first.

    The similarity is a weighted Jaccard index: of all features that either has, the share that both have. A feature
    weighs more the fewer labels have it. With different values it counts as the smaller value over the larger one, and
    with different signs not at all.
    """
    keys, values = canonical(example)
    if not labels or not keys.size:
        return SimilarLabels([], len(labels), 0, 0)
    starts, others = in_csr([each.keys for each in labels])
    owners = np.repeat(np.arange(len(labels)), np.diff(starts))
    counts = np.bincount((others & BUCKET).astype(np.int64), minlength=int(BUCKET) + 1)
    own_weights, weights = (_rarities(each, counts, len(labels)) for each in (keys, others))
    sizes = np.bincount(owners, weights, len(labels))
    places = np.minimum(keys.searchsorted(others), keys.size - 1)
    common = np.flatnonzero(keys[places] == others)
    places, owners, weights = places[common], owners[common], weights[common]
    shares = _shares(values[places], np.concatenate([each.values for each in labels])[common])
    union = sizes + own_weights.sum() - np.bincount(owners, weights, len(labels))
    found = np.minimum(np.bincount(owners, weights * shares, len(labels)) / union, 1.0)
    verdicts = np.array([each.label.label for each in labels])
    versions = np.array([each.label.version for each in labels])
    best = [k for k in np.lexsort((-versions, -found))[:limit].tolist() if found[k] > 0.0]
    return SimilarLabels(
        [
            SimilarLabel(labels[k].label, float(found[k]), _named(keys, places[owners == k], own_weights, names))
            for k in best
        ],
        len(labels),
        int(((found >= ALIKE) & (verdicts == 1)).sum()),
        int(((found >= ALIKE) & (verdicts == -1)).sum()),
    )


def canonical(example: Example) -> tuple[Keys, Floats]:
    """Return keys in order and their values; a repeated key has the sum, and zeros are left out."""
    keys, places = np.unique(example.keys, return_inverse=True)
    values = np.bincount(places, example.values, keys.size)
    present = values != 0.0
    return keys[present], values[present]


def _known(entry: Entry) -> Known | None:
    """Return the label of an entry; None if it has none."""
    label = label_of(entry)
    try:
        event = decode(entry.payload) if label is not None else None
    except (ValueError, SluiceError):
        return None  # damage is reported when the tenant is loaded
    return Known(label, *canonical(event.example)) if label is not None and isinstance(event, FeedbackGiven) else None


def _rarities(keys: Keys, counts: Ints, labels: int) -> Floats:
    """Return what features weigh; `counts` says how many of so many labels have a key with the same last bits."""
    found: Floats = np.log1p((labels + 1) / (counts[(keys & BUCKET).astype(np.int64)] + 1))
    return found


def _shares(some: Floats, others: Floats) -> Floats:
    """Return how much of a feature two examples have in common: from 0 to 1."""
    low, high = np.minimum(abs(some), abs(others)), np.maximum(abs(some), abs(others))
    return np.where(some * others > 0.0, low / high, 0.0)


def _named(keys: Keys, shared: Ints, weights: Floats, names: Names) -> list[str]:
    """Return the names of the rarest shared features, as far as they are known."""
    ordered: Iterable[int] = shared[np.argsort(-weights[shared], kind="stable")].tolist()
    known = (name for place in ordered if (name := names.name_of(key := int(keys[place]))) != f"#{key:016x}")
    return list(islice(known, MOST_SHARED))
