"""Examples of predictions and feedback, in the OpenAPI document."""

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
