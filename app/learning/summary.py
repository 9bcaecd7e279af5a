"""What a state amounts to, for people and machines. Looking at a large model takes long: it reads every row."""

from typing import Any

import numpy as np

from app.learning.state import TenantState


def figures(state: TenantState) -> dict[str, Any]:
    """All figures of a state; rates are None until they are defined."""
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
    }


def top_weights(state: TenantState, count: int) -> list[dict[str, Any]]:
    """The weights of the largest size; ties by key, so that two looks show the same."""
    survey = state.model.survey()
    order = np.lexsort((survey.keys, -np.abs(survey.weights)))[:count]
    return [
        {
            "feature": state.names.name_of(int(survey.keys[i])),
            "weight": float(survey.weights[i]),
            "evidence": float(survey.evidence[i]),
        }
        for i in order
        if survey.weights[i] != 0.0
    ]
