"""The one table of errors: which status, which stable type, and what to do about it (RFC 9457)."""

import logging
from dataclasses import dataclass
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException

from app.api.errors import (
    BadInput,
    HeadTooLarge,
    InvalidHTTP,
    MalformedBody,
    Overloaded,
    TooLarge,
    TooManyRequests,
    TooSlow,
    WrongContentType,
)
from app.auth import errors as access
from app.auth.keys import BadKey
from app.learning.errors import BadExample, BadSetting, BadSnapshot, ModelNotFinite, SluiceError
from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable
from app.tenants import errors as tenants

PREFIX = "/problems/"
SOON = 1  # seconds until a retry makes sense
LATER = 60  # seconds; somebody has to repair something first
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem, as the manual tells it."""

    name: str
    status: int
    title: str
    remedy: str
    retry_after: int | None = None

    @property
    def type(self) -> str:
        """The stable reference that a program compares; GET it to read what to do."""
        return PREFIX + self.name


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """An error as the body of an answer: application/problem+json."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str
    instance: str


class Fault(msgspec.Struct, frozen=True):
    """An error of one item, where the others go on."""

    type: str
    title: str
    status: int
    detail: str


class ItemRefused(msgspec.Struct, frozen=True):
    """What stands in the place of an item's result."""

    error: Fault


MALFORMED_JSON = Kind(
    "malformed-json", 422, "The body is not JSON", "Send JSON (RFC 8259, UTF-8); the detail says where reading stopped."
)
BAD_INPUT = Kind(
    "bad-input", 422, "The request does not say what it should", "Correct the field, parameter or header in the detail."
)
BAD_FEATURES = Kind(
    "bad-features",
    422,
    "The features cannot be used",
    "Names must be non-empty text; values finite numbers, true, false or text; the detail names the culprit.",
)
BAD_SETTING = Kind(
    "bad-setting",
    422,
    "A setting does not fit",
    "The detail names the setting and what it may be; see docs/algorithms.md.",
)
BAD_MODEL = Kind("bad-model", 422, "This is not a sound Sluice model", "Export the model again and send it unchanged.")
UNKNOWN_ROUTE = Kind("unknown-route", 404, "There is nothing at this address", "See /docs for the routes.")
UNKNOWN_TENANT = Kind(
    "unknown-tenant", 404, "There is no such tenant", "Create it with PUT /tenants/{tenant}, or correct the name."
)
METHOD_NOT_ALLOWED = Kind(
    "method-not-allowed", 405, "The route does not know this method", "Use one of the methods in the Allow header."
)
UNAUTHENTICATED = Kind(
    "unauthenticated",
    401,
    "Who asks is not known",
    "Send a valid key, as Authorization: Bearer or X-API-Key; an administrator makes one with `sluice keys create`.",
)
FORBIDDEN = Kind(
    "forbidden", 403, "The key does not allow this", "Use a key with the role and the tenant that the detail names."
)
UNKNOWN_KEY = Kind("unknown-key", 404, "There is no such key", "GET /keys lists the keys that you may see.")
BAD_KEY = Kind("bad-key", 422, "A key cannot be made so", "The detail says what is wrong.")
TOO_MANY_LABELS = Kind(
    "too-many-labels",
    429,
    "A moderator labels too fast",
    "Nothing was learnt. Wait a minute, or let an operator raise SLUICE_LABELS_PER_MODERATOR_PER_MINUTE.",
    retry_after=LATER,
)
UPDATE_VETOED = Kind(
    "update-vetoed",
    422,
    "The label would move too many weights at once",
    "Nothing was learnt. Send fewer features, or let an operator raise SLUICE_MAX_WEIGHTS_MOVED.",
)
TENANT_EXISTS = Kind(
    "tenant-exists", 409, "The tenant exists already", "Import with replace=true, or choose another name."
)
TOO_MANY_TENANTS = Kind(
    "too-many-tenants", 409, "No more tenants are allowed", "Delete a tenant, or raise SLUICE_MAX_TENANTS."
)
FEEDBACK_CONFLICT = Kind(
    "feedback-conflict",
    409,
    "The feedback_id was used for something else",
    "Use a new feedback_id for every new label; retry with exactly the same body.",
)
FEEDBACK_FORGOTTEN = Kind(
    "feedback-forgotten",
    409,
    "The feedback was learnt long ago",
    "Nothing is to be done: it counts, once. Only its first answer cannot be given again.",
)
SNAPSHOT_BUSY = Kind(
    "snapshot-busy",
    409,
    "A snapshot is being taken already",
    "Wait for it, or try again in a second.",
    retry_after=SOON,
)
MODEL_NOT_FINITE = Kind(
    "model-not-finite",
    409,
    "Numbers of the model have overflowed",
    "Import a sound model with replace=true, or begin anew with an algorithm of another kind; the log has everything.",
)
PREDICTION_EXPIRED = Kind(
    "prediction-expired", 410, "The prediction's input is not kept", "Send the input itself instead of prediction_id."
)
TOO_LARGE = Kind("too-large", 413, "The request is too large", "Send less at once, or raise the setting in the detail.")
WRONG_CONTENT_TYPE = Kind(
    "wrong-content-type", 415, "The body has a form that is not read here", "Set Content-Type as the detail says."
)
TOO_SLOW = Kind(
    "too-slow", 408, "The body did not go on", "Send the request again, the whole body at once; nothing was done."
)
TOO_MANY_REQUESTS = Kind(
    "too-many-requests",
    429,
    "You ask too often",
    "Nothing was done. Wait for the seconds in Retry-After; RateLimit-Remaining says how many requests you have left.",
    retry_after=SOON,
)
INVALID_HTTP = Kind(
    "invalid-http", 400, "This is not a request of HTTP/1.1", "Use an HTTP client, without TLS; or look at the proxy."
)
HEAD_TOO_LARGE = Kind(
    "head-too-large",
    431,
    "The head of the request is too large",
    "Send fewer or shorter headers, or a shorter address.",
)
OVERLOADED = Kind(
    "overloaded",
    503,
    "There is too much to do",
    "Nothing was done. Retry after a second; operators read docs/operations.md.",
    retry_after=SOON,
)
TOO_MANY_EXPORTS = Kind(
    "too-many-exports", 503, "Other exports are under way", "Nothing was done. Retry after a second.", retry_after=SOON
)
INTERNAL_ERROR = Kind(
    "internal-error", 500, "Sluice has made a mistake", "Look for the request_id in the service's log, and report it."
)
STORE_UNAVAILABLE = Kind(
    "store-unavailable",
    503,
    "The log cannot be reached",
    "Nothing was learnt. Retry after a second, with the same feedback_id; predictions go on meanwhile.",
    retry_after=SOON,
)
KEYS_UNREAD = Kind(
    "keys-unread",
    503,
    "The keys are not known yet",
    "The store cannot be reached, so nobody can be let in. Retry after a second.",
    retry_after=SOON,
)
STORE_UNUSABLE = Kind(
    "store-unusable",
    503,
    "The store holds what it should not",
    "Nothing was learnt. An operator looks at the store: docs/operations.md.",
    retry_after=LATER,
)
LOG_REPLACED = Kind(
    "log-replaced",
    503,
    "The tenant's log was replaced",
    "Nothing was learnt. Retry after a second; operators read docs/operations.md.",
    retry_after=SOON,
)
TENANT_DAMAGED = Kind(
    "tenant-damaged",
    503,
    "The tenant cannot be loaded",
    "Other tenants are not affected. An operator repairs or deletes it: docs/operations.md.",
    retry_after=LATER,
)

TABLE: dict[type[Exception], Kind] = {
    MalformedBody: MALFORMED_JSON,
    BadInput: BAD_INPUT,
    BadExample: BAD_FEATURES,
    BadSetting: BAD_SETTING,
    BadSnapshot: BAD_MODEL,
    ModelNotFinite: MODEL_NOT_FINITE,
    TooLarge: TOO_LARGE,
    WrongContentType: WRONG_CONTENT_TYPE,
    TooSlow: TOO_SLOW,
    TooManyRequests: TOO_MANY_REQUESTS,
    InvalidHTTP: INVALID_HTTP,
    HeadTooLarge: HEAD_TOO_LARGE,
    Overloaded: OVERLOADED,
    access.Unauthenticated: UNAUTHENTICATED,
    access.Forbidden: FORBIDDEN,
    access.KeyUnknown: UNKNOWN_KEY,
    access.KeysUnread: KEYS_UNREAD,
    access.TooManyLabels: TOO_MANY_LABELS,
    BadKey: BAD_KEY,
    tenants.UpdateVetoed: UPDATE_VETOED,
    tenants.TenantUnknown: UNKNOWN_TENANT,
    tenants.TenantExists: TENANT_EXISTS,
    tenants.TooManyTenants: TOO_MANY_TENANTS,
    tenants.TenantDamaged: TENANT_DAMAGED,
    tenants.LogReplaced: LOG_REPLACED,
    tenants.FeedbackConflict: FEEDBACK_CONFLICT,
    tenants.FeedbackForgotten: FEEDBACK_FORGOTTEN,
    tenants.SnapshotBusy: SNAPSHOT_BUSY,
    tenants.TooManyExports: TOO_MANY_EXPORTS,
    tenants.PredictionExpired: PREDICTION_EXPIRED,
    StoreUnavailable: STORE_UNAVAILABLE,
    StoreUnusable: STORE_UNUSABLE,
    StoreDamaged: STORE_UNUSABLE,
    SluiceError: BAD_INPUT,  # refused with a sentence, by something that has no line here yet
}
BY_STATUS = {404: UNKNOWN_ROUTE, 405: METHOD_NOT_ALLOWED}
KINDS = {kind.name: kind for kind in (*TABLE.values(), *BY_STATUS.values(), INTERNAL_ERROR)}


def kind_of(error: Exception) -> Kind:
    """The line of the table for an error: its own, or that of the nearest class above it."""
    if isinstance(error, HTTPException):
        return BY_STATUS.get(error.status_code) or _plain(error.status_code)
    return next((TABLE[each] for each in type(error).__mro__ if each in TABLE), INTERNAL_ERROR)


def detail_of(error: Exception) -> str:
    """The sentence for the one who asked; what went wrong inside is for the log alone."""
    if isinstance(error, SluiceError):
        return str(error)
    return str(error.detail) if isinstance(error, HTTPException) else "an unexpected error; it was logged"


def refused(error: Exception, request_id: str) -> ItemRefused:
    """The error in an item's place."""
    kind = kind_of(error)
    if kind is INTERNAL_ERROR:
        log.error("an item of request %s failed", request_id, exc_info=error)
    return ItemRefused(Fault(kind.type, kind.title, kind.status, detail_of(error)))


def _plain(status: int) -> Kind:
    """What a library below us refuses in its own way."""
    title = HTTPStatus(status).phrase
    return Kind(title.lower().replace(" ", "-"), status, title, "See the detail.")
