"""How much one request may ask for. Every limit has a setting; these are its defaults."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused with 413 beyond these sizes."""

    max_body_bytes: int = 16 * MIB
    max_mail_bytes: int = 25 * MIB
    max_import_bytes: int = 1024 * MIB
    max_batch_items: int = 1_000
    max_line_bytes: int = 4 * MIB
    max_features_per_example: int = 100_000
