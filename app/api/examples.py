"""Requests and answers as the OpenAPI document shows them; a test sends every request and checks every shape."""

from typing import Any

TENANT = "acme"
FEATURES = {"token:free": 1, "token:winner": 1, "len": 0.4}
PREDICT = {"tenant": TENANT, "features": FEATURES, "explain": 2}
URL = "http://login.example.org/account/verify?id=7"
MAIL = "From: prizes@example.org\r\nTo: kim@example.com\r\nSubject: You have won\r\n\r\nClaim your free prize now.\r\n"
PREDICT_URL = {"tenant": TENANT, "url": URL, "explain": 5}
PREDICT_EMAIL = {"tenant": TENANT, "email": MAIL, "explain": 5}
PREDICT_EMAIL_BYTES = {"tenant": TENANT, "email": {"base64": "U3ViamVjdDogaGkNCg0KaGkNCg=="}}
PREDICT_TEXT = {"tenant": TENANT, "text": "Claim your free prize now."}
PREDICTED = {
    "prediction_id": "9f2c41d07a6b-1-0",
    "tenant": TENANT,
    "label": 1,
    "score": 0.83,
    "version": 1234,
    "algorithm": "cs-ssol",
    "needs_review": False,
    "probability": 0.93,
    "explanation": [
        {"feature": "token:free", "contribution": 0.41},
        {"feature": "token:winner", "contribution": 0.37},
    ],
}
FEEDBACK = {"tenant": TENANT, "features": FEATURES, "label": 1, "feedback_id": "ticket-4711", "moderator": "kim"}
FEEDBACK_URL = {"tenant": TENANT, "url": URL, "label": 1}
FEEDBACK_BY_ID = {"tenant": TENANT, "prediction_id": "9f2c41d07a6b-1-0", "label": 1}
GIVEN = {
    "tenant": TENANT,
    "feedback_id": "ticket-4711",
    "version": 1235,
    "label": 1,
    "predicted": -1,
    "score": -0.2,
    "loss": 1.2,
    "updated": True,
    "duplicate": False,
    "reason": None,
    "served": None,
}
REFUSED = {
    "error": {
        "type": "/problems/bad-features",
        "title": "The features are not valid",
        "status": 422,
        "detail": "no features were found in the text",
    }
}
PREDICT_BATCH = {"tenant": TENANT, "items": [{"features": FEATURES}, {"text": ""}]}
PREDICTED_BATCH = {"results": [PREDICTED, REFUSED]}
FEEDBACK_BATCH = {"tenant": TENANT, "items": [{"features": FEATURES, "label": 1}, {"text": "", "label": -1}]}
GIVEN_BATCH = {"results": [GIVEN, REFUSED]}
FEATURES_OF_URL = {"url": URL}
FEATURES_FOUND = {
    "kind": "text",
    "featurizer": 1,
    "features": {"word:claim": 1.0, "word:free": 1.0},
    "cut": ["the text has 2,000,000 characters; those after 1,000,000 were not read"],
}
SETTINGS = {"algorithm": "cs-ssol", "eta": 0.5, "threshold": 0.1}
RATES = {"examples": 1000, "balanced_accuracy": 0.91, "sensitivity": 0.88, "specificity": 0.94}
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
}
LISTED = {"tenants": [{"tenant": TENANT, "version": 1235, "loaded": True}], "next": None}
WEIGHTS = {
    "tenant": TENANT,
    "version": 1235,
    "weights": [{"feature": "token:free", "weight": 0.71, "evidence": 12.5}],
}
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
    "replaced": {"version": 1221, "label": -1, "feedback_id": "f-12", "moderator": "bob"},
    "retracted": None,
}
TAKEN_BACK = {"version": 1236, "at": 1_794_880_900_000, "reason": "stolen", "moderator": None, "key_id": "7eefaec9f8ab"}
LABELS = {"labels": [LABEL | {"retracted": TAKEN_BACK}], "next": None}
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
    "explanation": [{"feature": "token:free", "contribution": 0.31}],
}
PREDICTION = {
    "prediction_id": LABEL["prediction_id"],
    "tenant": TENANT,
    "label": -1,
    "score": -0.2,
    "version": 1220,
    "at": 1_794_879_990_000,
    "features": {"token:free": 1.0},
    "then": EXPLAINED,
    "then_unknown": None,
    "now": EXPLAINED | {"label": 1, "score": 0.6, "probability": 0.7, "version": 1236},
    "labels": [LABEL],
}
DELETED = {
    "tenant": TENANT,
    "deleted": [
        {
            "id": "1f0c9a7be2d41f0c9a7be2d41f0c9a7b",
            "version": 1235,
            "at": 1_794_880_000_000,
            "until": 1_795_484_800_000,
        }
    ],
}
SNAPSHOT = {
    "tenant": TENANT,
    "version": 1235,
    "digest": "b0a1c2d3e4f5061728394a5b6c7d8e9f",
    "chunks": 9,
    "written": 2,
    "bytes": 98304,
}
READY = {"status": "ready", "parts": {"redis": {"ok": True, "detail": "in contact"}}}
NOT_READY = {"status": "not ready", "parts": {"redis": {"ok": False, "detail": "Connection refused"}}}
METRICS = """\
# HELP sluice_labels_total Labels given, and what the model said just before.
# TYPE sluice_labels_total counter
sluice_labels_total{label="anomaly",predicted="anomaly",tenant="acme",worker="0"} 41.0
"""
KEY_WANTED = {"name": "moderation page", "roles": ["predict", "feedback"], "tenants": ["acme", "acme-*"]}
KEY_WANTED_NAMED = {"name": "kim's own", "roles": ["feedback"], "tenants": ["acme"], "moderator": "kim"}
KEY = {
    "id": "1f0c9a7be2d4",
    "name": "moderation page",
    "roles": ["predict", "feedback"],
    "tenants": ["acme", "acme-*"],
    "created_at": 1_794_880_000_000,
    "expires_at": None,
    "made_by": "7eefaec9f8ab",
    "moderator": None,
    "speaks_for_others": False,
}
KEY_MADE = {"secret": "sluice_1f0c9a7be2d4_...", "key": KEY}
KEYS = {"keys": [KEY]}
AUDIT = {
    "entries": [
        {
            "id": "1794880900000-0",
            "at": 1_794_880_900_000,
            "action": "retract_labels",
            "key_id": "7eefaec9f8ab",
            "tenant": TENANT,
            "request_id": "9f2c41d07a6b-2a",
            "detail": None,
        }
    ],
    "next": None,
}
ROTATION = {"overlap_seconds": 3600}
