"""Figures as people read them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.learning.state import TenantState


def figures(state: TenantState) -> dict[str, Any]:
    """What a state amounts to, for machines; rates are null until they are defined."""
    counts = state.prequential.lifetime
    survey = state.model.survey()
    nonzero = int(np.count_nonzero(survey.weights))
    features = state.model.features
    return {
        "algorithm": state.config.values["algorithm"],
        "examples": int(counts.examples),
        "positives": int(counts.positives),
        "negatives": int(counts.negatives),
        "error": counts.error,
        "balanced_accuracy": counts.balanced_accuracy,
        "balanced_accuracy_margin": counts.balanced_accuracy_margin,
        "sensitivity": counts.sensitivity,
        "specificity": counts.specificity,
        "features": features,
        "nonzero_weights": nonzero,
        "sparsity": 1.0 - nonzero / features if features else None,
        "dropped_features": state.model.dropped,
        "memory_bytes": state.model.bytes,
        "version": state.version,
        "digest": state.digest,
        "config": dict(state.config.values),
    }


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent, or a dash where it is undefined."""
    return "-" if share is None else f"{100.0 * share:.{digits}f}"


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns under their heads: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(_line(line, widths) for line in (head, rule, *lines))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()
