"""The one table of errors: the status, the stable type and the remedy of each (RFC 9457)."""

from dataclasses import dataclass
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from app.api.errors import (
    BadInput,
    HeadTooLarge,
    InvalidHTTP,
    MalformedBody,
    Overloaded,
    Shutdown,
    TooLarge,
    TooManyConcurrentRequests,
    TooManyRequests,
    TooSlow,
    WrongContentType,
)
from app.api.validation_errors import validation_detail
from app.auth import errors as auth
from app.auth.keys import BadKey
from app.learning.errors import BadExample, BadSetting, BadSnapshot, ModelNotFinite, SluiceError
from app.review import errors as review
from app.storage.errors import StoreDamaged, StoreUnavailable, StoreUnusable
from app.tenants import errors as tenants

PREFIX = "/problems/"
SOON = 1  # seconds until a retry makes sense
LATER = 60  # seconds; an operator has to repair something first


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem."""

    name: str
    status: int
    title: str
    remedy: str
    retry_after: int | None = None

    @property
    def type(self) -> str:
        """The stable reference that a program compares; GET it to read what to do."""
        return PREFIX + self.name


MALFORMED_JSON = Kind(
    "malformed-json", 422, "The body is not JSON", "Send JSON (RFC 8259, UTF-8); the detail says where parsing stopped."
)
BAD_INPUT = Kind("bad-input", 422, "The request is not valid", "Correct the field, parameter or header in the detail.")
BAD_FEATURES = Kind(
    "bad-features",
    422,
    "The features are not valid",
    "Names must be non-empty strings; values must be finite numbers, true, false or strings.",
)
BAD_SETTING = Kind(
    "bad-setting", 422, "A setting is not valid", "Set it to what the detail allows; see docs/algorithms.md."
)
BAD_MODEL = Kind(
    "bad-model", 422, "The file is not a valid Sluice model", "Export the model again and send it unchanged."
)
UNKNOWN_ROUTE = Kind("unknown-route", 404, "Route not found", "See /docs for the routes.")
UNKNOWN_TENANT = Kind(
    "unknown-tenant", 404, "Tenant not found", "Create it with PUT /tenants/{tenant}, or correct the name."
)
METHOD_NOT_ALLOWED = Kind(
    "method-not-allowed", 405, "Method not allowed", "Use one of the methods in the Allow header."
)
UNAUTHENTICATED = Kind(
    "unauthenticated",
    401,
    "Authentication required",
    "Send a valid key, as Authorization: Bearer or X-API-Key; an administrator creates one with `sluice keys create`.",
)
FORBIDDEN = Kind("forbidden", 403, "Permission denied", "Use a key with the role and the tenant that the detail names.")
NOT_THIS_MODERATOR = Kind(
    "not-this-moderator",
    403,
    "The key carries another moderator's name",
    "Nothing was done. Leave the name out, or use a key that carries it, or one that speaks for others.",
)
UNKNOWN_KEY = Kind("unknown-key", 404, "Key not found", "GET /keys lists the keys that you may see.")
BAD_KEY = Kind("bad-key", 422, "The key is not valid", "Correct what the detail names.")
TOO_MANY_LABELS = Kind(
    "too-many-labels",
    429,
    "Too many labels",
    "Nothing was learnt. Wait a minute, or ask an operator to raise SLUICE_LABELS_PER_MODERATOR_PER_MINUTE.",
    retry_after=LATER,
)
UPDATE_VETOED = Kind(
    "update-vetoed",
    422,
    "The label would change too many weights",
    "Nothing was learnt. Send fewer features, or ask an operator to raise SLUICE_MAX_WEIGHTS_MOVED.",
)
TENANT_EXISTS = Kind(
    "tenant-exists", 409, "The tenant already exists", "Import with replace=true, or choose another name."
)
TOO_MANY_TENANTS = Kind("too-many-tenants", 409, "Too many tenants", "Delete a tenant, or raise SLUICE_MAX_TENANTS.")
UNKNOWN_LABEL = Kind(
    "unknown-label", 404, "Label not found", "Nothing was taken back. Correct the ids that the detail names."
)
LABEL_TOO_OLD = Kind(
    "label-too-old",
    409,
    "The log does not reach back to the label",
    "Nothing was taken back. Choose later labels; SLUICE_LOG_RETENTION_EVENTS and SLUICE_SNAPSHOTS_KEPT keep more.",
)
FEEDBACK_CONFLICT = Kind(
    "feedback-conflict",
    409,
    "The feedback_id was used for another label",
    "Use a new feedback_id for every new label; retry with exactly the same body.",
)
FEEDBACK_FORGOTTEN = Kind(
    "feedback-forgotten",
    409,
    "The feedback was already learnt",
    "Nothing to do: it was learnt once. Only its first answer is no longer available.",
)
SNAPSHOT_BUSY = Kind("snapshot-busy", 409, "A snapshot is in progress", "Retry after a second.", retry_after=SOON)
MODEL_NOT_FINITE = Kind(
    "model-not-finite",
    409,
    "The model has numbers that are not finite",
    "Import a valid model with replace=true, or change the algorithm; the log has every label.",
)
WHAT_IF_TOO_LARGE = Kind(
    "what-if-too-large",
    409,
    "The model is too large to be copied twice",
    "Nothing was changed. Raise SLUICE_MEMORY_BUDGET_BYTES, or ask with smaller max_features.",
)
LEASE_LOST = Kind(
    "lease-lost", 409, "The item is not leased by the caller", "Lease the next item; a label needs no lease."
)
TOO_MANY_LEASES = Kind(
    "too-many-leases", 429, "Too many leases", "Label, skip or release what you hold, or wait until they end.", LATER
)
PREDICTION_EXPIRED = Kind(
    "prediction-expired", 410, "The prediction has expired", "Send the input itself instead of prediction_id."
)
TOO_LARGE = Kind(
    "too-large", 413, "The request is too large", "Send less at once, or raise the setting that the detail names."
)
WRONG_CONTENT_TYPE = Kind("wrong-content-type", 415, "Unsupported content type", "Set Content-Type as the detail says.")
TOO_SLOW = Kind(
    "too-slow",
    408,
    "The body arrived too slowly",
    "Nothing was done. Send the request again, with its whole body at once.",
)
TOO_MANY_REQUESTS = Kind(
    "too-many-requests",
    429,
    "Too many requests",
    "Nothing was done. Wait for the seconds in Retry-After; RateLimit-Remaining has the requests that are left.",
    retry_after=SOON,
)
TOO_MANY_CONCURRENT_REQUESTS = Kind(
    "too-many-concurrent-requests",
    429,
    "Too many requests at once",
    "Nothing was done. Wait for the answers to earlier requests of this key, or use a batch.",
    retry_after=SOON,
)
INVALID_HTTP = Kind("invalid-http", 400, "Invalid HTTP request", "Use HTTP/1.1 without TLS, or check the proxy.")
HEAD_TOO_LARGE = Kind(
    "head-too-large", 431, "The request headers are too large", "Send fewer or shorter headers, or a shorter URL."
)
OVERLOADED = Kind(
    "overloaded",
    503,
    "The service is overloaded",
    "Nothing was done. Retry after a second; operators read docs/operations.md.",
    retry_after=SOON,
)
STOPPING = Kind(
    "stopping",
    503,
    "The service is stopping",
    "It may be done or not. Retry after a second, with the same feedback_id.",
    retry_after=SOON,
)
TOO_MANY_EXPORTS = Kind(
    "too-many-exports", 503, "Too many exports in progress", "Nothing was done. Retry after a second.", retry_after=SOON
)
INTERNAL_ERROR = Kind(
    "internal-error", 500, "Internal error", "Find the request_id in the service's log, and report it."
)
STORE_UNAVAILABLE = Kind(
    "store-unavailable",
    503,
    "The store is not reachable",
    "Nothing was learnt. Retry after a second, with the same feedback_id; predictions still work.",
    retry_after=SOON,
)
KEYS_UNREAD = Kind(
    "keys-unread",
    503,
    "The keys are not loaded yet",
    "The store is not reachable, so no key can be checked. Retry after a second.",
    retry_after=SOON,
)
STORE_UNUSABLE = Kind(
    "store-unusable",
    503,
    "The store has unexpected data",
    "Nothing was learnt. An operator has to check the store: docs/operations.md.",
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
    "Other tenants are not affected. An operator repairs it with `sluice repair`, or deletes it: docs/operations.md.",
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
    TooManyConcurrentRequests: TOO_MANY_CONCURRENT_REQUESTS,
    InvalidHTTP: INVALID_HTTP,
    HeadTooLarge: HEAD_TOO_LARGE,
    Overloaded: OVERLOADED,
    Shutdown: STOPPING,
    auth.Unauthenticated: UNAUTHENTICATED,
    auth.Forbidden: FORBIDDEN,
    auth.NotThisModerator: NOT_THIS_MODERATOR,
    auth.KeyUnknown: UNKNOWN_KEY,
    auth.KeysUnread: KEYS_UNREAD,
    auth.TooManyLabels: TOO_MANY_LABELS,
    BadKey: BAD_KEY,
    tenants.UpdateVetoed: UPDATE_VETOED,
    tenants.TenantUnknown: UNKNOWN_TENANT,
    tenants.NothingDeleted: UNKNOWN_TENANT,
    tenants.TenantExists: TENANT_EXISTS,
    tenants.TooManyTenants: TOO_MANY_TENANTS,
    tenants.TenantDamaged: TENANT_DAMAGED,
    tenants.LogReplaced: LOG_REPLACED,
    tenants.LabelUnknown: UNKNOWN_LABEL,
    tenants.LabelOfAnother: FORBIDDEN,
    tenants.RetractionTooOld: LABEL_TOO_OLD,
    tenants.FeedbackConflict: FEEDBACK_CONFLICT,
    tenants.FeedbackForgotten: FEEDBACK_FORGOTTEN,
    tenants.SnapshotBusy: SNAPSHOT_BUSY,
    tenants.TooManyExports: TOO_MANY_EXPORTS,
    tenants.WhatIfTooLarge: WHAT_IF_TOO_LARGE,
    tenants.PredictionExpired: PREDICTION_EXPIRED,
    review.LeaseLost: LEASE_LOST,
    review.TooManyLeases: TOO_MANY_LEASES,
    StoreUnavailable: STORE_UNAVAILABLE,
    StoreUnusable: STORE_UNUSABLE,
    StoreDamaged: STORE_UNUSABLE,
    RequestValidationError: BAD_INPUT,
    SluiceError: BAD_INPUT,  # anything else that is refused
}
BY_STATUS = {404: UNKNOWN_ROUTE, 405: METHOD_NOT_ALLOWED}
KINDS = {kind.name: kind for kind in (*TABLE.values(), *BY_STATUS.values(), INTERNAL_ERROR)}


def kind_of(error: Exception) -> Kind:
    """Return the line of the table for an error: its own, or that of its nearest base class."""
    if isinstance(error, HTTPException):
        status, title = error.status_code, HTTPStatus(error.status_code).phrase  # a library's own refusal
        return BY_STATUS.get(status) or Kind(title.lower().replace(" ", "-"), status, title, "See the detail.")
    if isinstance(error, RequestValidationError) and error.errors()[0]["loc"] == ("body",):
        return MALFORMED_JSON if error.body is None else BAD_INPUT  # a body was required, and there is none
    return next((TABLE[each] for each in type(error).__mro__ if each in TABLE), INTERNAL_ERROR)


def detail_of(error: Exception) -> str:
    """Return the sentence for the client; unexpected errors are for the log only."""
    if isinstance(error, SluiceError):
        return str(error)
    if isinstance(error, RequestValidationError):
        return validation_detail(error.errors())
    return str(error.detail) if isinstance(error, HTTPException) else "an unexpected error; it was logged"
