"""What the shell needs of the layer below: the real things have it, and so have the fakes of the tests."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

from app.features.extraction import Extraction
from app.features.featurizer import Kind
from app.learning.config import Value
from app.tenants.kept_predictions import KeptPrediction
from app.tenants.registry import ListedTenant, Readiness
from app.tenants.snapshotter import SnapshotTaken
from app.tenants.tenant import Tenant, Verdict


class Holds(Protocol):
    """The tenants of this worker."""

    def held(self, name: str, /) -> Tenant | None:
        """A tenant that is in memory."""

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        """A tenant, loaded or created where it has to be."""

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        """Change settings, and create the tenant if there is none."""

    async def delete(self, name: str) -> None:
        """Delete a tenant."""

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        """Some tenants in the order of their names: those that one of the patterns names."""

    async def snapshot(self, name: str) -> SnapshotTaken:
        """Take a snapshot now."""

    async def export(self, name: str) -> AsyncGenerator[bytes, None]:
        """A tenant's model file, piece by piece."""

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        """Let a model file be a tenant."""

    def ready(self) -> Readiness:
        """Whether this worker can do its work."""


class Keeps(Protocol):
    """The predictions that are kept for feedback."""

    def keep(self, tenant: Tenant, given: bytes, verdict: Verdict) -> str | None:
        """The id under which feedback may come, if it may."""

    def keep_all(self, tenant: Tenant, given: Sequence[bytes], verdicts: Sequence[Verdict]) -> Sequence[str | None]:
        """The same for several predictions."""

    async def give_way(self) -> None:
        """Let others have their turn, and the writer of kept predictions first."""

    async def recall(self, tenant: str, prediction_id: str) -> KeptPrediction:
        """A kept prediction of this tenant."""


class Featurizes(Protocol):
    """What turns raw inputs into features."""

    def __call__(self, kind: Kind, raw: str | bytes, version: int, /) -> Extraction:
        """The features of an input, by a version of the featurizers."""


class Exposes(Protocol):
    """What makes the page of metrics."""

    async def __call__(self) -> bytes:
        """The metrics of all workers, as text."""
