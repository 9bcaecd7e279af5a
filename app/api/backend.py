"""What the routes work with. `app.main` builds it, and tests put fakes in it: hence the protocols."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from app.api.middleware.event_streams import EventStreams
from app.api.middleware.key_share import KeyShare
from app.api.middleware.rate_limit import RateLimiter
from app.auth.audit import Audit
from app.auth.authenticator import Authenticator
from app.auth.label_rate import LabelRates
from app.auth.sessions import Sessions
from app.features.extraction import Extraction
from app.features.featurizer import Kind
from app.learning.config import Value
from app.learning.example import Example
from app.review.live import LiveStates
from app.review.overview import OverviewPage
from app.review.people import SecondOpinion
from app.review.queue import Leases, Reviewer
from app.review.second import SecondLease
from app.storage.deleted_tenants import DeletedTenant
from app.storage.review.inputs import RawInput
from app.storage.review.opinions import Answer, Said
from app.storage.review.queue import Action, QueueChanges, QueueCounts
from app.tenants.feedback import Caller
from app.tenants.labels.retraction import Asked, Retracted
from app.tenants.labels.similarity import SimilarLabels
from app.tenants.labels.stored_labels import LabelFilter, Retraction, StoredLabel
from app.tenants.labels.timeline import Timeline
from app.tenants.labels.what_if import Comparison, WhatIf
from app.tenants.predictions.blocks import Kept, KeptPrediction
from app.tenants.predictions.kept_predictions import ReadRaw
from app.tenants.readiness import Readiness
from app.tenants.registry import ListedTenant
from app.tenants.snapshotter import SnapshotTaken
from app.tenants.tenant import Tenant, Verdict


class TenantRegistry(Protocol):
    """The tenants of this worker."""

    def held(self, name: str, /) -> Tenant | None:
        """Return a tenant that is in memory."""

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        """Return a tenant; load or create it if necessary."""

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        """Change settings; create the tenant if it does not exist."""

    async def delete(self, name: str, *, purge: bool = False) -> None:
        """Delete a tenant; with `purge`, so that it cannot be restored."""

    async def deleted(self, name: str) -> list[DeletedTenant]:
        """Return the deleted tenants of a name that can be restored, the newest first."""

    async def restore(self, name: str, incarnation: str | None = None) -> Tenant:
        """Restore a deleted tenant: the newest one, or the one that is named."""

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        """List tenants by name: those that match one of the patterns."""

    async def snapshot(self, name: str) -> SnapshotTaken:
        """Take a snapshot now."""

    async def retract(self, name: str, wanted: LabelFilter, asked: Asked, *, dry_run: bool) -> Retracted:
        """Take labels back, or say what that would do."""

    async def labels(
        self, name: str, wanted: LabelFilter, before: int | None = None
    ) -> AsyncIterator[tuple[StoredLabel, Retraction | None]]:
        """Return the labels of a tenant before a version, the newest first, and how each was taken back."""

    async def timeline(self, name: str, since: int | None, until: int, periods: int) -> Timeline:
        """Return the newest labels of a tenant over time, in so many periods at most."""

    async def labelled_example(self, name: str, version: int) -> Example | None:
        """Return what was labelled by the event of a version; None if the log does not have it any more."""

    async def similar_labels(self, name: str, example: Example, limit: int, but: str) -> SimilarLabels:
        """Return the recent labels of the most similar inputs, but not those of one prediction."""

    async def as_of(self, name: str, version: int) -> Tenant | None:
        """Return a copy of a tenant as it was at a version; None if the log does not reach back so far."""

    async def what_if(self, name: str, asked: WhatIf, caller: Caller | None = None) -> Comparison:
        """Compare a tenant's model with another one on the kept labels; nothing is changed."""

    async def export(self, name: str, *, has_log: bool = False) -> AsyncGenerator[bytes, None]:
        """Return a tenant's model file, piece by piece."""

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        """Make a model file a tenant."""

    def ready(self) -> Readiness:
        """Return whether this worker can serve."""


class KeptPredictions(Protocol):
    """The predictions that are kept for feedback."""

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict, raw: ReadRaw | None = None) -> Kept | None:
        """Keep a prediction, and its raw input if the tenant wants that; None if it cannot be kept."""

    def keep_all(self, tenant: Tenant, given: Sequence[bytes], verdicts: Sequence[Verdict]) -> Sequence[Kept | None]:
        """Keep several predictions."""

    async def give_way(self) -> None:
        """Yield to other tasks, first of all to the writer of kept predictions."""

    async def recall(self, tenant: str, prediction_id: str) -> KeptPrediction:
        """Return a kept prediction of this tenant."""

    async def recall_input(self, tenant: str, prediction_id: str) -> RawInput | None:
        """Return the raw input of a prediction of this tenant; None if it is not kept."""


class ReviewQueue(Protocol):
    """The review queues of all tenants."""

    async def lease(self, tenant: Tenant, reviewer: Reviewer, limit: int, seconds: int | None) -> Leases:
        """Lease the most valuable items that this person has not passed."""

    async def end_lease(  # noqa: PLR0913, PLR0917 - what ends a lease
        self,
        tenant: str,
        reviewer: Reviewer,
        action: Action,
        prediction_id: str,
        lease: str | None = None,
        seconds: int | None = None,
    ) -> tuple[QueueChanges, int | None]:
        """Skip, pass on, give back or renew an item."""

    async def status(self, tenant: str) -> QueueCounts | None:
        """Return what a queue holds; None while the store does not answer."""


class SecondReviewDesk(Protocol):
    """The blind second reviews of all tenants."""

    async def lease(self, tenant: Tenant, reviewer: Reviewer, limit: int) -> SecondLease:
        """Lease predictions that somebody else has labelled; a limit of 0 only counts them."""

    async def answer(self, tenant: str, reviewer: Reviewer, prediction_id: str, action: Answer, said: Said) -> None:
        """Keep what a person says, or pass the prediction on."""

    async def opinions(self, tenant: str) -> list[SecondOpinion]:
        """Return the second opinions that are kept."""


class AllTenants(Protocol):
    """All tenants with their figures."""

    async def page(self, covers: Callable[[str], bool], search: str, offset: int, limit: int) -> OverviewPage:
        """Return some of the tenants that the caller may see, the worst first."""


class Featurizer(Protocol):
    """What turns raw inputs into features."""

    def __call__(self, kind: Kind, raw: str | bytes, version: int, /) -> Extraction:
        """Return the features of an input, by a version of the featurizers."""


class MetricsPage(Protocol):
    """What renders the metrics."""

    async def __call__(self) -> bytes:
        """Return the metrics of all workers, as text."""


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How large and how slow a request may be; app/settings.py has the defaults."""

    max_body_bytes: int
    max_mail_bytes: int
    max_import_bytes: int
    max_batch_items: int
    max_line_bytes: int
    max_features_per_example: int
    max_feature_name_bytes: int
    body_idle_seconds: float
    body_seconds: float


class Backend(NamedTuple):
    """The collaborators of the routes."""

    tenants: TenantRegistry
    predictions: KeptPredictions
    limits: RequestLimits
    featurize: Featurizer
    metrics: MetricsPage
    authenticator: Authenticator
    sessions: Sessions
    audit: Audit
    label_rates: LabelRates
    review: ReviewQueue
    second_reviews: SecondReviewDesk
    live: LiveStates
    overview: AllTenants
    event_streams: EventStreams
    rate_limiter: RateLimiter | None = None  # of requests per caller; None: no limit
    wrong_key_limiter: RateLimiter | None = None  # of requests with a wrong key
    key_share: KeyShare | None = None  # of concurrent requests per key; None: no limit
