"""Examples of how far moderators agree, and of blind second reviews."""

from typing import Any

from app.api.examples.inputs import TENANT

KAPPA = {"pairs": 60, "agreement": 0.9, "value": 0.79, "low": 0.6, "high": 0.89, "reason": None}
NO_PAIRS = {
    "pairs": 0,
    "agreement": None,
    "value": None,
    "low": None,
    "high": None,
    "reason": "nobody has labelled what somebody else has labelled too",
}
ANN, BOB = {"moderator": "ann", "key_id": None}, {"moderator": "bob", "key_id": None}
FIGURES: dict[str, Any] = {
    "labels": 820,
    "anomalies": 0.31,
    "served": 800,
    "served_agreement": 0.91,
    "replaced_by_others": 6,
    "overturned_by_others": 4,
    "taken_back": 2,
    "kappa": KAPPA,
}
MODERATORS = {
    "tenant": TENANT,
    "labels": 1230,
    "has_more": False,
    "unnamed": 10,
    "overall": {"all": KAPPA, "blind": KAPPA, "corrections": NO_PAIRS},
    "moderators": [ANN | FIGURES, BOB | FIGURES | {"labels": 400, "served": 390, "overturned_by_others": 31}],
    "pairs": [{"first": ANN, "second": BOB, "blind": 60, "kappa": KAPPA}],
    "differences": [
        BOB
        | {
            "kind": "overturned",
            "hits": 31,
            "trials": 400,
            "other_hits": 4,
            "other_trials": 820,
            "p_value": 0.00001,
            "comparisons": 6,
            "detail": "Others replaced 31 of 400 (7.8%) labels by the opposite; of everybody else's labels, 4 of 820 "
            "(0.5%). By chance, a difference as large would have a probability of less than 0.0001, corrected for all "
            "comparisons.",
        }
    ],
    "differences_unknown": None,
}
