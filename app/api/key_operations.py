"""What the manual says about the routes under /keys."""

from app.api import examples, problems
from app.api.documenting import documented, json_body, parameter

KEY_IN_PATH = parameter("key", {"type": "string"}, "The key's id.", where="path", example="1f0c9a7be2d4")
MAKING = (problems.BAD_KEY, problems.STORE_UNAVAILABLE)
CREATE_KEY = documented(
    "create_key",
    "Make a key",
    "For some tenants (`acme`, `acme-*`, or `*` for all) with some roles. The answer has its secret, which is told "
    "this once. Whoever asks with a key for some tenants can only make keys for those.",
    tag="keys",
    role="admin",
    body=[json_body("KeyIn", key=examples.KEY_WANTED)],
    answers={201: ("The key.", [json_body("KeyMadeOut", made=examples.KEY_MADE)])},
    refusals=MAKING,
)
LIST_KEYS = documented(
    "list_keys",
    "List keys",
    "Those that are for no other tenants than the asker's own, without their secrets, which nobody knows.",
    tag="keys",
    role="admin",
    answers={200: ("The keys.", [json_body("KeysOut", keys=examples.KEYS)])},
    refusals=(problems.BAD_INPUT, problems.STORE_UNAVAILABLE),
)
ROTATE_KEY = documented(
    "rotate_key",
    "Rotate a key",
    "A new key with the same roles and tenants; the old one is good for a while longer, a day if nothing is said.",
    tag="keys",
    role="admin",
    body=[json_body("RotationIn", rotation=examples.ROTATION)],
    body_required=False,
    parameters=[KEY_IN_PATH],
    answers={201: ("The new key.", [json_body("KeyMadeOut", made=examples.KEY_MADE)])},
    refusals=(*MAKING, problems.UNKNOWN_KEY),
)
REVOKE_KEY = documented(
    "revoke_key",
    "Revoke a key",
    "Every worker refuses it within a second.",
    tag="keys",
    role="admin",
    parameters=[KEY_IN_PATH],
    answers={204: ("It is gone.", [])},
    refusals=(problems.BAD_INPUT, problems.UNKNOWN_KEY, problems.STORE_UNAVAILABLE),
)
