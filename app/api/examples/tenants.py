"""Examples of tenants: settings, figures, weights."""

from typing import Any

from app.api.examples.inputs import TENANT

SETTINGS = {"algorithm": "cs-ssol", "eta": 0.5, "threshold": 0.1}
RATES = {"examples": 1000, "balanced_accuracy": 0.91, "sensitivity": 0.88, "specificity": 0.94}


def _rate(value: float, low: float, high: float, labels: float) -> dict[str, float | None]:
    return {"value": value, "low": low, "high": high, "labels": labels, "reason": None}


HONEST = {
    "labels": 640.0,
    "items": 21_500.0,
    "balanced_accuracy": _rate(0.86, 0.79, 0.91, 88.2),
    "sensitivity": _rate(0.76, 0.61, 0.86, 24.1),
    "specificity": _rate(0.96, 0.95, 0.97, 215.0),
    "precision": _rate(0.41, 0.36, 0.46, 370.5),
    "flagged": _rate(0.05, 0.04, 0.06, 240.3),
}
PERIOD = {
    "since": 1_794_992_400_000,
    "until": 1_794_996_000_000,
    "anomalies": 12,
    "normal": 148,
    "served": RATES | {"examples": 151},
    "honest": {name: HONEST[name] for name in ("labels", "balanced_accuracy", "sensitivity", "specificity")},
    "delay": {"labels": 151, "median_seconds": 340.0, "p90_seconds": 5210.5},
}
TIMELINE = {
    "tenant": TENANT,
    "version": 1235,
    "labels": 1234,
    "first_at": 1_794_900_000_000,
    "complete": True,
    "period_seconds": 3600.0,
    "whole": PERIOD,
    "periods": [PERIOD],
    "marks": [{"at": 1_794_993_000_000, "kind": "drift", "what": ["anomaly"]}],
}
OVERVIEW = {
    "tenants": [
        {
            "tenant": TENANT,
            "loaded": True,
            "damaged": False,
            "version": 1235,
            "algorithm": "cs-ssol",
            "health": "good",
            "honest": HONEST["balanced_accuracy"],
            "recent": RATES,
            "labels": 1234,
            "events_last_day": 160,
            "queue": {"waiting": 41, "leased": 2, "oldest_age_seconds": 5130.5},
            "rebuilding": None,
        }
    ],
    "total": 812,
    "loaded": 640,
    "next": 1,
}
EVENT = {"event": "state", "data": '{"tenant": "acme", "version": 1235, "threshold": 0.03125, ...}'}
SHOWN: dict[str, Any] = {
    "tenant": TENANT,
    "version": 1235,
    "algorithm": "cs-ssol",
    "config": {"algorithm": "cs-ssol", "eta": 1.0, "r": 1.0, "lambda": 0.0, "threshold": "auto"},
    "threshold": 0.03125,
    "health": {
        "status": "good",
        "detail": "Of the last 29 anomalies 72% were found, and of the last 854 normal inputs 4% were flagged.",
        "suggestions": [],
    },
    "counts": {"examples": 1235, "positives": 61, "negatives": 1174},
    "balanced_accuracy": 0.9,
    "sensitivity": 0.87,
    "specificity": 0.93,
    "recent": RATES,
    "served": RATES | {"examples": 512},
    "honest": {"ever": HONEST, "lately": HONEST},
    "target": {
        "name": "false_positive_rate",
        "value": 0.04,
        "followed": True,
        "reason": None,
        "realised": _rate(0.04, 0.03, 0.05, 215.0),
    },
    "drift": {
        "anomaly": {"worse": 1, "better": 0, "labels": 29, "error": 0.28, "last_worse_at": 1107},
        "normal": {"worse": 0, "better": 1, "labels": 854, "error": 0.04, "last_worse_at": None},
    },
    "features": 20481,
    "nonzero_weights": 9120,
    "sparsity": 0.55,
    "dropped_features": 0,
    "memory_bytes": 1310720,
    "digest": "b0a1c2d3e4f5061728394a5b6c7d8e9f",
    "rebuilding": None,
    "review": {"waiting": 41, "leased": 2, "oldest_age_seconds": 5130.5, "by_reason": {"uncertain": 31, "random": 12}},
}
ALL_SETTINGS = {
    "settings": [
        {
            "name": "review_random",
            "meaning": "Share of all predictions that is to be reviewed, whatever their score.",
            "allowed": "0, or a number from 0.000001 to 1",
            "choices": [],
        }
    ],
    "algorithms": {
        "cs-sol": {
            "summary": "CS-SOL: adaptive dual averaging with the squared hinge.",
            "defaults": {"algorithm": "cs-sol", "eta": 0.35, "review_random": 0.0},
        }
    },
    "new_tenants": {"algorithm": "cs-sol", "eta": 0.35, "review_random": 0.01},
}
LISTED = {"tenants": [{"tenant": TENANT, "version": 1235, "loaded": True}], "next": None}
WEIGHTS = {
    "tenant": TENANT,
    "version": 1235,
    "weights": [{"feature": "token:free", "text": "token:free", "weight": 0.71, "evidence": 12.5}],
}
CURVE_POINT = {"threshold": 0.03125} | {
    name: HONEST[name] for name in ("sensitivity", "specificity", "precision", "flagged")
}
CURVE = {
    "tenant": TENANT,
    "version": 1235,
    "threshold": 0.03125,
    "weighted": True,
    "anomalies": 61,
    "normal": 579,
    "now": CURVE_POINT,
    "points": [CURVE_POINT],
    "reason": None,
}
