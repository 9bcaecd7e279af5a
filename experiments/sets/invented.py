"""Invented streams, each from its seed: payments, sensors and log lines, with values as a caller gives them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.datasets.batch import Batch, BatchBuilder
from app.features.featurizer import features_of
from app.learning.example import example_of
from experiments.sets.source import Source, batch_of, first
from kernels.arrays import Floats

SEED: Final = 20_260
EXAMPLES: Final = 20_000
UNIT: Final = 1000.0  # amounts in thousandths from the middle of a stream
COUNTRIES: Final = ("de", "fr", "pl", "us", "br", "ng", "in", "cn")
TRADES: Final = ("grocer", "fuel", "travel", "games", "jewels", "gifts", "books", "rent")
COMPONENTS: Final = ("auth", "db", "cache", "proxy", "mailer", "queue")
LINES: Final = (
    "request {n} finished in {m} ms",
    "user u{n} logged in from 10.0.{a}.{b}",
    "connection {n} closed by peer",
    "retry {a} of job j{n}",
    "timeout after {m} ms on connection {n}",
    "compaction of segment {n} took {m} ms",
    "failed to reach host h{a}, retry in {b} s",
)
ODD_LINES: Final = (
    "failed login for root from 185.{a}.{b}.7 after {m} attempts",
    "checksum mismatch in segment {n}, {m} bytes lost",
    "timeout after {m} ms, giving up on job j{n}",
    "user u{n} added to group admin by u{m}",
)
LEVELS: Final = ("INFO", "INFO", "INFO", "WARN", "ERROR")

Numbers = NDArray[np.float64]
Drawn = tuple[Numbers, Floats]  # a row for each example, and the labels


def _labels(generator: np.random.Generator, share: float) -> Floats:
    return np.where(generator.random(EXAMPLES) < share, 1.0, -1.0)


def payments(generator: np.random.Generator) -> Drawn:
    """Frauds (2%) are larger, at night and tried more often, each of them only on the whole."""
    labels = _labels(generator, 0.02)
    odd = labels > 0.0
    amount = np.exp(generator.normal(np.where(odd, 4.8, 3.2), np.where(odd, 1.1, 1.0)))
    hour = np.floor(np.where(odd, generator.normal(2.0, 3.0, EXAMPLES), generator.normal(14.0, 4.0, EXAMPLES)) % 24.0)
    retries = generator.poisson(np.where(odd, 1.5, 0.2))
    return np.column_stack([amount.round(2), hour, retries]), labels


def two_tailed(generator: np.random.Generator) -> Drawn:
    """Anomalies (5%) are too low or too high in one number; two others say nothing."""
    labels = _labels(generator, 0.05)
    level = generator.normal(50.0, 10.0, EXAMPLES)
    far = 50.0 + generator.choice([-1.0, 1.0], EXAMPLES) * generator.uniform(22.0, 45.0, EXAMPLES)
    noise = generator.normal([200.0, 5.0], [40.0, 1.0], (EXAMPLES, 2))
    return np.column_stack([np.where(labels > 0.0, far, level), noise]), labels


def sensors(generator: np.random.Generator) -> Drawn:
    """Anomalies (3%) leave a narrow range on a large offset: 293 +- 4 kelvins, 101,325 +- 300 pascals."""
    labels = _labels(generator, 0.03)
    odd = labels > 0.0
    sides = generator.choice([-1.0, 1.0], EXAMPLES)
    kelvins = generator.normal(293.0, 4.0, EXAMPLES) + odd * sides * generator.uniform(6.0, 16.0, EXAMPLES)
    pascals = generator.normal(101_325.0, 300.0, EXAMPLES) + odd * generator.uniform(0.0, 900.0, EXAMPLES)
    return np.column_stack([kelvins, pascals, generator.normal(0.02, 0.005, EXAMPLES)]), labels


def units(generator: np.random.Generator) -> Drawn:
    """Payments whose amounts are a thousand times as large from the middle."""
    rows, labels = payments(generator)
    rows[EXAMPLES // 2 :, 0] *= UNIT
    return rows, labels


def _read(draw: Callable[[np.random.Generator], Drawn], names: tuple[str, ...], limit: int | None) -> Iterator[Batch]:
    rows, labels = draw(np.random.default_rng(SEED))
    yield from first([batch_of(rows, labels, names, with_zeros=True)], limit)


def _read_mixed(limit: int | None) -> Iterator[Batch]:
    """Payments with words: country and trade, of which some are more often those of frauds."""
    generator = np.random.default_rng([SEED, 1])
    rows, labels = payments(generator)
    skew = np.linspace(0.0, 1.6, len(COUNTRIES))
    builder = BatchBuilder()
    for (amount, hour, retries), label in zip(rows[:limit].tolist(), labels[:limit].tolist(), strict=True):
        chances = np.exp(skew if label > 0.0 else -skew)
        country, trade = generator.choice(len(COUNTRIES), 2, p=chances / chances.sum()).tolist()
        words = {f"country={COUNTRIES[country]}": 1.0, f"trade={TRADES[trade]}": 1.0}
        builder.add(label, example_of({"amount": amount, "hour": hour, "retries": retries, **words}))
    yield builder.batch()


def _read_logs(limit: int | None) -> Iterator[Batch]:
    """Log lines, of which 2% are of a kind that needs attention; errors and numbers are in the others too."""
    generator = np.random.default_rng([SEED, 2])
    builder = BatchBuilder()
    for label in _labels(generator, 0.02)[:limit].tolist():
        lines = ODD_LINES if label > 0.0 else LINES
        line, level, component, a, b, m, n = generator.integers(
            [len(lines), len(LEVELS), len(COMPONENTS), 256, 256, 5000, 100_000]
        ).tolist()
        text = f"{LEVELS[level]} {COMPONENTS[component]}: {lines[line].format(a=a, b=b, m=m, n=n)}"
        builder.add(label, features_of("text", text).example)
    yield builder.batch()


PAYING: Final = ("amount", "hour", "retries")
PAYMENTS: Final = Source("payments", "Payments", (), partial(_read, payments, PAYING))
TWO_TAILED: Final = Source("two-tailed", "Two tails", (), partial(_read, two_tailed, ("level", "a", "b")))
MIXED: Final = Source("mixed", "Payments with words", (), _read_mixed)
SENSORS: Final = Source("sensors", "Sensors", (), partial(_read, sensors, ("kelvins", "pascals", "vibration")))
UNITS: Final = Source("units", "Payments whose unit changes", (), partial(_read, units, PAYING))
LOGS: Final = Source("logs", "Log lines", (), _read_logs)
