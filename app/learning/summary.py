"""Summaries of a state for the API and the command line. They read every row, which is slow for a large model."""

from functools import partial
from typing import Any

import numpy as np

from app.learning.health import health_of
from app.learning.parts.numbers import name_of_weight
from app.learning.state import TenantState


def summarise(state: TenantState) -> dict[str, Any]:
    """Return the configuration, counts and rates of a state; rates are None until they are defined."""
    counts = state.prequential.lifetime
    nonzero = int(np.count_nonzero(state.model.survey().weights))
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
        "memory_bytes": state.bytes,
        "version": state.version,
        "digest": state.digest,
        "config": dict(state.config.values),
        "threshold": state.model.threshold,
        "health": health_of(state),
    }


def top_weights(state: TenantState, count: int) -> list[dict[str, Any]]:
    """Return the weights of the largest magnitude; ties are broken by key, so that the order is stable."""
    survey = state.model.survey()
    name_of = state.names.name_of if state.model.numbers is None else partial(name_of_weight, state.names)
    order = np.lexsort((survey.keys, -np.abs(survey.weights)))[:count]
    return [
        {
            "feature": name_of(int(survey.keys[i])),
            "weight": float(survey.weights[i]),
            "evidence": float(survey.evidence[i]),
        }
        for i in order
        if survey.weights[i] != 0.0
    ]
