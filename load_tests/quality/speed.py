"""What features cost, beside what only takes the input apart; in one run, in turns, on inputs that are always new."""

import email
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeVar
from urllib.parse import urlsplit

from tldextract import TLDExtract

from app.features.featurizer import Kind, features_of
from app.learning.events import FeedbackGiven
from app.learning.state import TenantState, apply
from load_tests.quality.sources import Source, load_raw, urls

URLS = 24_000
URLS_PER_ROUND = 1000
MAILS = 480
MAILS_PER_ROUND = 20
READ_MAILS = 8000  # among which there are enough of that length
MAIL_BYTES = range(8_000, 12_500)
TAUGHT = 5_000  # inputs that the model knows, or all: looking a feature up takes longer in a larger model


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds per input of features and a score, and of taking it apart alone; and how long inputs are."""

    ours: float
    limit: float
    mean_length: float

    @property
    def ratio(self) -> float:
        """How many times the limit."""
        return self.ours / self.limit


def url_cost(source: Source) -> Cost:
    """A URL, beside `urlsplit` and `tldextract` alone."""
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None)

    def take_apart(url: str) -> None:
        urlsplit(url)
        extract(url)

    return _cost("url", urls(source, URLS), URLS_PER_ROUND, take_apart)


def mail_cost(source: Source) -> Cost:
    """A mail of about 10 KB, beside parsing and decoding its parts with the standard library."""
    mails = [raw for raw in load_raw(source, READ_MAILS).raws if len(raw) in MAIL_BYTES][:MAILS]
    return _cost("email", mails, MAILS_PER_ROUND, walk)


def walk(raw: bytes) -> None:
    """Parse a mail and decode every part."""
    for part in email.message_from_bytes(raw).walk():
        part.get_payload(decode=True)


Raw = TypeVar("Raw", str, bytes)


def _cost(kind: Kind, inputs: Sequence[Raw], per_round: int, take_apart: Callable[[Raw], None]) -> Cost:
    """The median over portions, in which both sides take turns: a noisy moment hits few of them."""
    state = _taught(kind, inputs)
    portions = [inputs[start : start + per_round] for start in range(0, len(inputs), per_round)]
    _seconds(portions[0], lambda raw: state.predict(features_of(kind, raw).example))
    ours, limit = [], []
    for portion in portions:
        ours.append(_seconds(portion, lambda raw: state.predict(features_of(kind, raw).example)))
        limit.append(_seconds(portion, take_apart))
    return Cost(1e6 * median(ours), 1e6 * median(limit), fmean(map(len, inputs)))


def _seconds(portion: Sequence[Raw], use: Callable[[Raw], object]) -> float:
    """Of each input."""
    start = time.perf_counter()
    for raw in portion:
        use(raw)
    return (time.perf_counter() - start) / len(portion)


def _taught(kind: Kind, inputs: Sequence[str | bytes]) -> TenantState:
    state = TenantState()
    for number, raw in enumerate(inputs[:TAUGHT]):
        apply(state, FeedbackGiven(features_of(kind, raw).example, label=1 if number % 2 else -1))
    return state
