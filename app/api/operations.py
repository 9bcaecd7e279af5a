"""What the manual says about every route."""

from app.api import examples, problems
from app.api.documenting import (
    BINARY,
    KEY_IN_HEADER,
    MAIL,
    MAIL_TENANT,
    NDJSON,
    TENANT_IN_PATH,
    TENANT_IN_QUERY,
    Body,
    documented,
    json_body,
    parameter,
)
from app.api.schemas import (
    EXPLAIN,
    EXPLAIN_TOLD,
    FEEDBACK_ID_TOLD,
    ID,
    KEEP,
    KEEP_TOLD,
    LABEL,
    LABEL_TOLD,
    MODERATOR_TOLD,
    TENANT,
)

USING = (  # what can happen wherever a tenant is used
    problems.UNKNOWN_TENANT,
    problems.TOO_MANY_TENANTS,
    problems.STORE_UNAVAILABLE,
    problems.STORE_UNUSABLE,
    problems.LOG_REPLACED,
    problems.TENANT_DAMAGED,
)
IN_PATH = (problems.UNKNOWN_TENANT, problems.BAD_INPUT, problems.STORE_UNAVAILABLE, problems.TENANT_DAMAGED)
GIVING = (
    problems.FEEDBACK_CONFLICT,
    problems.FEEDBACK_FORGOTTEN,
    problems.PREDICTION_EXPIRED,
    problems.TOO_MANY_LABELS,
    problems.UPDATE_VETOED,
)
LINES = {"type": "string", "description": "A line of JSON for each item, in and out, in order."}
FILE = {"type": "string", "format": "binary"}


def _lines(example: str) -> Body:
    return Body(LINES, {"lines": example}, NDJSON)


FOR_MAIL = "For message/rfc822. "
RAW_MAIL = Body(FILE, {"mail": examples.MAIL}, MAIL)


PREDICT = documented(
    "predict",
    "Score one input",
    "Say whether an input is an anomaly. Nothing is learnt, and the store is not asked. Give exactly one of "
    "`features`, `url`, `email`, `text`. A mail may also be the whole body, as `message/rfc822`: then the other "
    "fields stand in the query.",
    tag="predict",
    role="predict",
    body=[
        json_body(
            "PredictIn",
            features=examples.PREDICT,
            url=examples.PREDICT_URL,
            email=examples.PREDICT_EMAIL,
            email_bytes=examples.PREDICT_EMAIL_BYTES,
            text=examples.PREDICT_TEXT,
        ),
        RAW_MAIL,
    ],
    parameters=[
        MAIL_TENANT,
        parameter("explain", EXPLAIN, FOR_MAIL + EXPLAIN_TOLD),
        parameter("keep", KEEP, FOR_MAIL + KEEP_TOLD),
    ],
    answers={200: ("The verdict.", [json_body("PredictOut", verdict=examples.PREDICTED)])},
    refusals=(*USING, problems.BAD_FEATURES),
)
FEEDBACK = documented(
    "give_feedback",
    "Learn one label",
    "Say what an input was. The answer comes when the label is in the log and learnt, so it is never lost. The input "
    "is given itself, as for `/predict`, or by the `prediction_id` of its prediction. With a `feedback_id`, a retry is "
    "harmless.",
    tag="feedback",
    role="feedback",
    body=[
        json_body(
            "FeedbackIn",
            features=examples.FEEDBACK,
            url=examples.FEEDBACK_URL,
            prediction_id=examples.FEEDBACK_BY_ID,
        ),
        RAW_MAIL,
    ],
    parameters=[
        KEY_IN_HEADER,
        MAIL_TENANT,
        parameter("label", LABEL, FOR_MAIL + LABEL_TOLD),
        parameter("feedback_id", ID, FOR_MAIL + FEEDBACK_ID_TOLD),
        parameter("moderator", ID, FOR_MAIL + MODERATOR_TOLD),
    ],
    answers={200: ("What the label did.", [json_body("FeedbackOut", learnt=examples.GIVEN)])},
    refusals=(*USING, *GIVING, problems.BAD_FEATURES),
)
FEATURES = documented(
    "show_features",
    "Show what an input is turned into",
    "The features of an input, by the newest version of the featurizers, or by that of a tenant. No model is asked, "
    "and nothing is stored. `cut` says what of the input was not looked at.",
    tag="predict",
    role="predict",
    body=[json_body("FeaturesIn", url=examples.FEATURES_OF_URL), RAW_MAIL],
    parameters=[parameter("tenant", TENANT, FOR_MAIL + "Whose version of the featurizers is used.")],
    answers={200: ("The features.", [json_body("FeaturesOut", features=examples.FEATURES_FOUND)])},
    refusals=(problems.UNKNOWN_TENANT, problems.STORE_UNAVAILABLE, problems.TENANT_DAMAGED, problems.BAD_FEATURES),
)
PREDICT_BATCH = documented(
    "predict_batch",
    "Score many inputs",
    "Results stand in the order of the items; a bad item gets an `error` in its place. As `application/x-ndjson`, "
    "lines are answered while they arrive; read the answer while you send.",
    tag="predict",
    role="predict",
    body=[
        json_body("PredictBatchIn", items=examples.PREDICT_BATCH),
        _lines('{"tenant":"acme","features":{"token:free":1}}\n'),
    ],
    parameters=[TENANT_IN_QUERY],
    answers={
        200: ("A result for every item.", [json_body("PredictBatchOut", results=examples.PREDICTED_BATCH), _lines("")])
    },
    refusals=USING,
)
FEEDBACK_BATCH = documented(
    "give_feedback_batch",
    "Learn many labels",
    "As `/feedback` for every item; results stand in the order of the items, and a bad item gets an `error` in its "
    "place. As `application/x-ndjson`, lines are learnt while they arrive. No `Idempotency-Key`: each item has its "
    "`feedback_id`.",
    tag="feedback",
    role="feedback",
    body=[
        json_body("FeedbackBatchIn", items=examples.FEEDBACK_BATCH),
        _lines('{"tenant":"acme","features":{"token:free":1},"label":1}\n'),
    ],
    parameters=[TENANT_IN_QUERY],
    answers={
        200: ("A result for every item.", [json_body("FeedbackBatchOut", results=examples.GIVEN_BATCH), _lines("")])
    },
    refusals=USING,
)
LIST_TENANTS = documented(
    "list_tenants",
    "List tenants",
    "By name, page by page: `next` of an answer is `after` of the next request.",
    tag="tenants",
    role="review",
    parameters=[
        parameter(
            "limit",
            {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
            "Tenants on a page.",
            example=100,
        ),
        parameter("after", TENANT, "Begin behind this name.", example="abba"),
    ],
    answers={200: ("A page of tenants.", [json_body("TenantsOut", page=examples.LISTED)])},
    refusals=(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
CONFIGURE_TENANT = documented(
    "configure_tenant",
    "Create or configure a tenant",
    "Only the settings that are named change; without a body, the tenant is created with the defaults. A change is an "
    "event in the log. The answer shows every value in force.",
    tag="tenants",
    role="admin",
    body=[json_body("Settings", settings=examples.SETTINGS)],
    body_required=False,
    parameters=[TENANT_IN_PATH],
    answers={200: ("The tenant.", [json_body("TenantOut", tenant=examples.SHOWN)])},
    refusals=(*USING, problems.BAD_SETTING),
)
SHOW_TENANT = documented(
    "show_tenant",
    "Show a tenant",
    "Configuration and state. Two replicas at the same version have the same digest.",
    tag="tenants",
    role="review",
    parameters=[TENANT_IN_PATH],
    answers={200: ("The tenant.", [json_body("TenantOut", tenant=examples.SHOWN)])},
    refusals=IN_PATH,
)
DELETE_TENANT = documented(
    "delete_tenant",
    "Delete a tenant",
    "With its log, its snapshots and its kept predictions, everywhere.",
    tag="tenants",
    role="admin",
    parameters=[TENANT_IN_PATH],
    answers={204: ("It is gone.", [])},
    refusals=IN_PATH,
)
SHOW_WEIGHTS = documented(
    "show_weights",
    "Show the largest weights",
    "By size, with the names of the features. `evidence` is how much the model has seen of a feature.",
    tag="tenants",
    role="review",
    parameters=[
        TENANT_IN_PATH,
        parameter("top", {"type": "integer", "minimum": 1, "maximum": 10_000, "default": 50}, "How many.", example=50),
    ],
    answers={200: ("The weights.", [json_body("WeightsOut", weights=examples.WEIGHTS)])},
    refusals=IN_PATH,
)
TAKE_SNAPSHOT = documented(
    "take_snapshot",
    "Take a snapshot now",
    "Snapshots make a start faster; they are taken by themselves too.",
    tag="models",
    role="admin",
    parameters=[TENANT_IN_PATH],
    answers={200: ("The snapshot.", [json_body("SnapshotOut", snapshot=examples.SNAPSHOT)])},
    refusals=(*IN_PATH, problems.SNAPSHOT_BUSY, problems.MODEL_NOT_FINITE),
)
EXPORT_TENANT = documented(
    "export_tenant",
    "Export a tenant's model",
    "One portable file, of one moment; `sluice inspect` reads it, and `/import` takes it on any machine.",
    tag="models",
    role="admin",
    parameters=[TENANT_IN_PATH],
    answers={200: ("The file.", [Body(FILE, {"file": "sluice model..."}, BINARY)])},
    refusals=(*IN_PATH, problems.MODEL_NOT_FINITE, problems.TOO_MANY_EXPORTS),
)
IMPORT_TENANT = documented(
    "import_tenant",
    "Import a model as a tenant",
    "The tenant then has the digest and gives the scores of the one that was exported.",
    tag="models",
    role="admin",
    body=[Body(FILE, {"file": "sluice model..."}, BINARY)],
    parameters=[
        TENANT_IN_PATH,
        parameter("replace", {"type": "boolean", "default": False}, "Whether an existing tenant is replaced."),
    ],
    answers={200: ("The tenant.", [json_body("TenantOut", tenant=examples.SHOWN)])},
    refusals=(*USING, problems.TENANT_EXISTS, problems.SNAPSHOT_BUSY, problems.BAD_MODEL, problems.BAD_SETTING),
)
