"""How much a request or a connection may ask for. Every limit has a setting; these are its defaults."""

from dataclasses import dataclass
from typing import Final

KIB = 1024
MIB = 1024 * KIB
SPARE_CONNECTIONS: Final = 250  # beyond the limit: so many are told that there are too many; more are closed
ALWAYS_HEARD: Final = frozenset({"/livez", "/readyz", "/metrics"})  # most of all while others are refused


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused with 413 beyond these sizes, and with 408 after this time."""

    max_body_bytes: int = 16 * MIB
    max_mail_bytes: int = 25 * MIB
    max_import_bytes: int = 1024 * MIB
    max_batch_items: int = 1_000
    max_line_bytes: int = 4 * MIB
    max_features_per_example: int = 100_000
    max_feature_name_bytes: int = 8 * MIB
    body_idle_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """When a connection is closed: no head in this time, too large a head, nothing taken of an answer in this time.

    And how many of them a worker has; beyond it each may ask for health or metrics, once, and anything else is refused.
    """

    head_seconds: float = 10.0
    max_head_bytes: int = 64 * KIB
    reader_seconds: float = 300.0
    max_connections: int = 10_000
