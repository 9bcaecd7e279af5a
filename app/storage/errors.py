"""Errors of the store."""

from app.learning.errors import SluiceError


class StoreUnavailable(SluiceError):
    """Redis cannot be reached, or cannot write."""


class StoreUnusable(SluiceError):
    """Sluice must not use this store, for the given reason."""


class StoreDamaged(StoreUnusable):
    """The store has data of another form than Sluice writes."""
