"""What features cost: time beside parsing alone, and the peak memory of a mail of 25 MB."""

import email
import subprocess
import sys
import time
from base64 import encodebytes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np
from tldextract import TLDExtract

from app.features.featurizer import Kind, features_of
from app.learning.events import FeedbackGiven
from app.learning.state import TenantState, apply
from experiments.kernels.fresh_process import reset_peak, resident_bytes
from experiments.sets.files import PHISHSTORM, raw_urls
from experiments.sets.mails import TREC07P, raw_mails

URLS, URLS_PER_ROUND = 24_000, 1000
MAILS, MAILS_PER_ROUND = 480, 20
READ_MAILS = 8000  # among which there are enough of that length
MAIL_BYTES = range(8_000, 12_500)
TAUGHT = 5_000  # inputs that the model has learnt: a lookup takes longer in a larger model
LARGE_BYTES = 25_000_000
HEAD = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: large\r\nMIME-Version: 1.0\r\n"
SMALL_MAIL = HEAD + b"Content-Type: text/html\r\n\r\n<p>hello</p>\r\n"
SHAPES = ("words", "HTML", "an attachment")

Raw = TypeVar("Raw", str, bytes)


@dataclass(frozen=True, slots=True)
class Cost:
    """Microseconds per input of features and a score, and of parsing alone; and the mean length of inputs."""

    ours: float
    limit: float
    mean_length: float

    @property
    def ratio(self) -> float:
        return self.ours / self.limit


def url_cost() -> Cost:
    """A URL, beside `urlsplit` and `tldextract` alone."""
    extract = TLDExtract(suffix_list_urls=(), cache_dir=None)

    def parse(url: str) -> None:
        urlsplit(url)
        extract(url)

    return _cost("url", [url.decode() for _, url in raw_urls(PHISHSTORM, URLS)], URLS_PER_ROUND, parse)


def mail_cost() -> Cost:
    """A mail of about 10 KB, beside parsing and decoding its parts with the standard library."""

    def parse(raw: bytes) -> None:
        for part in email.message_from_bytes(raw).walk():
            part.get_payload(decode=True)

    mails = [raw for _, raw in raw_mails(TREC07P, READ_MAILS) if len(raw) in MAIL_BYTES][:MAILS]
    return _cost("email", mails, MAILS_PER_ROUND, parse)


def peak_ratio(shape: str) -> float:
    """Return the peak memory of a large mail as a multiple of its size, the mail included, in a fresh process."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mail"
        path.write_bytes(large_mail(shape))
        answer = subprocess.run([sys.executable, "-m", __name__, str(path)], capture_output=True, check=True)  # noqa: S603 - our own module
    return float(answer.stdout) / LARGE_BYTES


def large_mail(shape: str, size: int = LARGE_BYTES) -> bytes:
    """Make a mail of that many bytes, nearly all of it random words, HTML or a base64 attachment."""
    rng = np.random.default_rng(0)
    if shape == "an attachment":
        kind, body = "application/octet-stream\r\nContent-Transfer-Encoding: base64", encodebytes(rng.bytes(size))
    elif shape == "HTML":
        kind, body = "text/html; charset=utf-8", b"<html><body>" + _words(rng, size).replace(b"e ", b"<b>x</b> ")
    else:
        kind, body = "text/plain; charset=utf-8", _words(rng, size)
    return (HEAD + f"Content-Type: {kind}\r\n\r\n".encode() + body)[:size]


def _cost(kind: Kind, inputs: Sequence[Raw], per_round: int, parse: Callable[[Raw], None]) -> Cost:
    """Return medians over portions, in which both sides take turns, on inputs that are always new."""
    state = TenantState()
    for number, raw in enumerate(inputs[:TAUGHT]):
        apply(state, FeedbackGiven(features_of(kind, raw).example, label=1 if number % 2 else -1))

    def predict(raw: Raw) -> None:
        state.predict(features_of(kind, raw).example)

    portions = [inputs[start : start + per_round] for start in range(0, len(inputs), per_round)]
    _seconds(portions[0], predict)
    taken = [(_seconds(portion, predict), _seconds(portion, parse)) for portion in portions]
    ours, limit = zip(*taken, strict=True)
    return Cost(1e6 * median(ours), 1e6 * median(limit), fmean(map(len, inputs)))


def _seconds(portion: Sequence[Raw], use: Callable[[Raw], None]) -> float:
    start = time.perf_counter()
    for raw in portion:
        use(raw)
    return (time.perf_counter() - start) / len(portion)


def _words(rng: np.random.Generator, size: int) -> bytes:
    letters = rng.integers(ord("a"), ord("z") + 1, size, np.uint8)
    letters[rng.integers(0, size, size // 7)] = ord(" ")
    letters[::70] = ord("\n")
    return letters.tobytes()


def main(path: Path) -> None:
    features_of("email", SMALL_MAIL)
    reset_peak()
    before = resident_bytes("VmRSS")
    features_of("email", path.read_bytes())
    print(resident_bytes("VmHWM") - before)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
