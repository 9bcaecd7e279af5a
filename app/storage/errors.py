"""What the store can answer instead of what was asked for."""

from app.learning.errors import SluiceError


class StoreUnavailable(SluiceError):
    """Redis cannot be reached, or cannot write."""


class StoreUnusable(SluiceError):
    """A store that this service must not use, with the reason."""


class StoreDamaged(StoreUnusable):
    """Something in the store that Sluice has not written there, in the place of what it has written."""
