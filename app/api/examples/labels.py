"""Examples of labels: who gave them, how they are taken back, what other settings make of them, what is reviewed."""

from typing import Any

from app.api.examples.inputs import TENANT
from app.api.examples.tenants import RATES

RETRACTIONS = {
    "ids": {"feedback_ids": ["f-17", "f-18"], "reason": "wrong key pressed"},
    "moderator": {"moderator": "ann", "since": "2026-11-18T09:00:00Z", "dry_run": True},
    "key": {"key_id": "1f0c9a7be2d4", "reason": "stolen"},
}
LABEL: dict[str, Any] = {
    "version": 1230,
    "at": 1_794_880_000_000,
    "label": 1,
    "feedback_id": "f-17",
    "prediction_id": "9f2c41d07a6b-1-0",
    "moderator": "ann",
    "key_id": "1f0c9a7be2d4",
    "request_id": "9f2c41d07a6b-2a",
    "served_label": -1,
    "served_score": -0.2,
    "served_at": 1_794_879_990_000,
    "chosen_with": 0.25,
    "replaced": {"version": 1221, "label": -1, "feedback_id": "f-12", "moderator": "bob"},
    "retracted": None,
}
TAKEN_BACK = {
    "version": 1236,
    "at": 1_794_880_900_000,
    "reason": "stolen",
    "moderator": None,
    "key_id": "7eefaec9f8ab",
    "is_replacement": False,
}
LABELS = {
    "labels": [LABEL | {"retracted": TAKEN_BACK, "excerpt": "http://example.org/login"}],
    "next": None,
}
RETRACTED = {
    "tenant": TENANT,
    "version": 1236,
    "dry_run": False,
    "retracted": 1,
    "restored": 0,
    "already_retracted": 0,
    "labels": [LABEL],
    "before": RATES,
    "after": RATES | {"examples": 999, "balanced_accuracy": 0.93, "sensitivity": 0.92},
}
WHAT_IFS = {
    "settings": {"settings": {"objective": "cost", "cost_positive": 20, "cost_negative": 1}},
    "algorithm": {"settings": {"algorithm": "cs-ssol"}, "since": "2026-11-01T00:00:00Z", "flips": 100},
    "model": {"model_of": "acme-trial"},
}
JUDGED: dict[str, Any] = {
    "labels": 1230,
    "true_positives": 260,
    "false_positives": 31,
    "true_negatives": 909,
    "false_negatives": 30,
    "balanced_accuracy": 0.932,
    "sensitivity": 0.897,
    "specificity": 0.967,
    "error": 0.05,
    "config": {"algorithm": "cs-sol", "threshold": "auto", "objective": "balanced", "max_features": 4_194_304},
}
COMPARED = {
    "tenant": TENANT,
    "version": 1234,
    "start_version": 0,
    "labels": 1230,
    "refused": 0,
    "actual": JUDGED,
    "other": JUDGED
    | {"true_positives": 281, "false_positives": 92, "true_negatives": 848, "false_negatives": 9}
    | {"balanced_accuracy": 0.936, "sensitivity": 0.969, "specificity": 0.902, "error": 0.082}
    | {"config": {"algorithm": "cs-sol", "threshold": "auto", "objective": "cost", "cost_positive": 20.0}},
    "difference": {"balanced_accuracy": 0.004, "sensitivity": 0.072, "specificity": -0.065, "error": 0.032},
    "flipped": 82,
    "corrected": 21,
    "spoilt": 61,
    "flips": [
        {
            "version": 1230,
            "at": 1_794_880_000_000,
            "label": 1,
            "feedback_id": "f-17",
            "prediction_id": "9f2c41d07a6b-1-0",
            "moderator": "ann",
            "actual": {"label": -1, "score": -0.2},
            "other": {"label": 1, "score": 0.3},
        }
    ],
}
EXPLAINED = {
    "label": -1,
    "score": -0.2,
    "probability": 0.08,
    "version": 1220,
    "explanation": [{"feature": "path:login", "contribution": 0.31}],
    "reasons": [
        {
            "text": 'path word "login"',
            "contribution": 0.52,
            "features": ["path:login", "path4:logi", "path4:ogin"],
            "places": [{"part": "url", "start": 19, "end": 24}],
        }
    ],
}
PREDICTION = {
    "prediction_id": LABEL["prediction_id"],
    "tenant": TENANT,
    "label": -1,
    "score": -0.2,
    "version": 1220,
    "at": 1_794_879_990_000,
    "chosen_with": 0.25,
    "review_reason": "uncertain",
    "features": {"path:login": 1.0},
    "input": {"kind": "url", "url": "http://example.org/login"},
    "then": EXPLAINED,
    "then_unknown": None,
    "now": EXPLAINED | {"label": 1, "score": 0.6, "probability": 0.7, "version": 1236},
    "labels": [LABEL],
}
SIMILAR = {
    "prediction_id": LABEL["prediction_id"],
    "tenant": TENANT,
    "compared": 1230,
    "anomalies": 3,
    "normal": 0,
    "labels": [
        {
            "similarity": 0.82,
            "label": 1,
            "at": 1_794_880_000_000,
            "version": 1230,
            "moderator": "ann",
            "prediction_id": "9f2c41d07a6b-0-7",
            "shared": ["host:login.example.org", "path:verify"],
            "input": {"kind": "url", "url": "http://login.example.org/account/verify?id=8"},
        }
    ],
}
EXPLANATIONS = {"url": {"url": "http://example.org/login", "explain": 5}, "features": {"features": {"token:free": 1}}}
EXPLANATION = EXPLAINED | {
    "tenant": TENANT,
    "algorithm": "cs-sol",
    "threshold": 0.03125,
    "has_no_opinion": False,
    "features": 24,
    "cut": [],
    "input": PREDICTION["input"],
}
REVIEW_ITEM = PREDICTION | {
    "labels": [],
    "chosen_with": 1.0,
    "cost": 0.42,
    "age_seconds": 95.2,
    "unsure": 0,
    "lease": "5e0f2a9c41d7",
    "lease_until": 1_794_880_300_000,
}
REVIEW = {"tenant": TENANT, "waiting": 41, "leased": 3, "items": [REVIEW_ITEM]}
REVIEW_ACTIONS = {
    "skip": {"action": "skip", "moderator": "kim"},
    "renew": {"action": "renew", "lease": "5e0f2a9c41d7", "lease_seconds": 600},
}
REVIEW_ACTION = {
    "tenant": TENANT,
    "prediction_id": LABEL["prediction_id"],
    "action": "skip",
    "lease_until": None,
    "waiting": 42,
    "leased": 2,
}
