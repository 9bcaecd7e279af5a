"""Figures that several steps tell."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from load_tests.harness.client import call as ask_well
from load_tests.harness.processes import Service

HELD = re.compile(r"^sluice_tenants_held\{[^}]*\} (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Latency:
    """In milliseconds; None where nothing was measured."""

    p50: float
    p99: float
    worst: float


def latency(seconds: Iterable[float]) -> Latency | None:
    """Of some requests."""
    found = 1e3 * np.array(list(seconds))
    return Latency(*np.percentile(found, [50, 99, 100]).tolist()) if found.size else None


def tenants_held(service: Service) -> int:
    """How many a service has in memory, by its own metrics."""
    return held_in(ask_well(service.port, "GET", "/metrics").decode())


def held_in(metrics: str) -> int:
    """The same, of all workers together, from the text."""
    return sum(int(float(value)) for value in HELD.findall(metrics))
