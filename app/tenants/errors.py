"""Errors of tenants, and of requests about them."""

from app.learning.errors import SluiceError


class TenantUnknown(SluiceError):
    """No tenant has this name, and the request does not create one."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no tenant {name!r}; create it with PUT /tenants/{name}")


class TenantExists(SluiceError):
    """An import without `replace`, or a restoration, names a tenant that exists."""

    def __init__(self, name: str, advice: str = "import with replace=true to replace it with this model") -> None:
        super().__init__(f"tenant {name!r} exists; {advice}")


class NothingDeleted(SluiceError):
    """There is no deleted tenant of this name that can be restored."""

    def __init__(self, name: str, incarnation: str | None) -> None:
        which = f" with the id {incarnation!r}" if incarnation is not None else ""
        super().__init__(f"there is no deleted tenant {name!r}{which} that can be restored")


class TooManyTenants(SluiceError):
    """The limit on tenants is reached."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit:,} tenants, which is the limit (SLUICE_MAX_TENANTS)")


class TenantDamaged(SluiceError):
    """The state of a tenant cannot be rebuilt from the store."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"tenant {name!r} cannot be loaded: {reason}; check it with: sluice repair {name}")


class LogReplaced(SluiceError):
    """The log is not the one that this worker has followed; the worker is repairing the tenant."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the log of tenant {name!r} was replaced or lost; nothing was learnt, try again in a moment")


class RetractionFound(Exception):
    """The log takes back labels, or lets them stand again: the state must be rebuilt accordingly."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(f"event {version:,} of tenant {name!r} takes back labels")


class RetractionTooOld(SluiceError):
    """The log does not reach back to a label that is to be retracted."""


class LabelUnknown(SluiceError):
    """The log has no label that fits."""


class LabelOfAnother(SluiceError):
    """A label that is to be retracted was given with another key."""

    def __init__(self) -> None:
        super().__init__("some of these labels were given with another key; to take them back needs the role admin")


class FeedbackConflict(SluiceError):
    """A feedback_id was used before for other feedback."""

    def __init__(self, feedback_id: str) -> None:
        super().__init__(f"feedback_id {feedback_id!r} was used before with another label or input")


class UpdateVetoed(SluiceError):
    """The label would change too many weights at once."""

    def __init__(self, features: int, at_most: int) -> None:
        super().__init__(
            f"the label would move {features:,} weights at once; at most {at_most:,} may be (SLUICE_MAX_WEIGHTS_MOVED)"
        )


class PredictionExpired(SluiceError):
    """The input of a prediction is not kept."""

    def __init__(self, prediction_id: str) -> None:
        super().__init__(f"prediction {prediction_id!r} is not kept (any more); send its input instead")


class SnapshotBusy(SluiceError):
    """Another worker is taking a snapshot of the tenant."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another worker is taking a snapshot of tenant {name!r}; try again in a moment")


class TooManyExports(SluiceError):
    """Each export holds a copy of a model, so their number is limited."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"{limit:,} exports are in progress here, which is the limit (SLUICE_MAX_CONCURRENT_EXPORTS); "
            "try again later"
        )


class WhatIfTooLarge(SluiceError):
    """The two copies of a what-if need too much memory."""

    def __init__(self, needed: int, budget: int) -> None:
        super().__init__(
            f"the two copies of the model need {needed:,} bytes; a worker may use {budget:,} for them "
            "(SLUICE_MEMORY_BUDGET_BYTES)"
        )


class Abandoned(Exception):
    """The client of a request has gone: its work has ended."""


class FeedbackForgotten(SluiceError):
    """The feedback was learnt so long ago that its answer cannot be computed again."""

    def __init__(self, feedback_id: str, version: int) -> None:
        super().__init__(
            f"feedback_id {feedback_id!r} was learnt as version {version:,}, but the log does not reach back to it: "
            "its first answer cannot be given again"
        )
