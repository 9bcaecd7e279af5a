"""What can be wrong with a tenant, or with what is asked of it."""

from app.learning.errors import SluiceError


class TenantUnknown(SluiceError):
    """No tenant has this name, and none is to be created by the way."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no tenant {name!r}; create it with PUT /tenants/{name}")


class TenantExists(SluiceError):
    """A tenant that is to be imported is there already."""

    def __init__(self, name: str) -> None:
        super().__init__(f"tenant {name!r} exists; import with replace=true to put the model in its place")


class TooManyTenants(SluiceError):
    """The limit on tenants is reached."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit:,} tenants, which is the limit (SLUICE_MAX_TENANTS)")


class TenantDamaged(SluiceError):
    """A tenant whose state cannot be rebuilt from what the store holds."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"tenant {name!r} cannot be loaded: {reason}")


class LogReplaced(SluiceError):
    """The log is not the one that this worker has followed; it is being put in order."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the log of tenant {name!r} was replaced or lost; nothing was learnt, try again in a moment")


class FeedbackConflict(SluiceError):
    """A feedback_id that was used for something else."""

    def __init__(self, feedback_id: str) -> None:
        super().__init__(f"feedback_id {feedback_id!r} was used before with another label or input")


class UpdateVetoed(SluiceError):
    """Feedback that would change too much of a model at once."""

    def __init__(self, features: int, at_most: int) -> None:
        super().__init__(
            f"the label would move {features:,} weights at once; at most {at_most:,} may be (SLUICE_MAX_WEIGHTS_MOVED)"
        )


class PredictionExpired(SluiceError):
    """A prediction whose input is not kept."""

    def __init__(self, prediction_id: str) -> None:
        super().__init__(f"prediction {prediction_id!r} is not kept (any more); send its input instead")


class SnapshotBusy(SluiceError):
    """Another worker is taking a snapshot of the tenant."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another worker is taking a snapshot of tenant {name!r}; try again in a moment")


class TooManyExports(SluiceError):
    """Each export holds a copy of a model, and there are enough of them."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"{limit:,} exports are under way here, which is the limit (SLUICE_MAX_CONCURRENT_EXPORTS); try again later"
        )


class FeedbackForgotten(SluiceError):
    """Feedback that was learnt, but so long ago that its answer cannot be made again."""

    def __init__(self, feedback_id: str, version: int) -> None:
        super().__init__(
            f"feedback_id {feedback_id!r} was learnt as version {version:,}, but the log does not reach back to it: "
            "its first answer cannot be given again"
        )
