"""Exports. Each holds a copy of a model until its client has received all of it, so their number is limited."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from app.tenants.errors import TooManyExports
from app.tenants.snapshotter import encode_state
from app.tenants.tenant import Tenant


class Exports:
    """The exports in progress in this worker."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self.in_progress = 0

    async def file(self, tenant: Tenant) -> AsyncGenerator[bytes, None]:
        """Yield the model file of this moment in pieces; raise TooManyExports before the first one.

        The export counts until the generator ends or is closed.
        """
        with self._slot():
            copy = await encode_state(tenant)
            for piece in copy.file():
                yield bytes(piece)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if self.in_progress >= self._at_most:
            raise TooManyExports(self._at_most)
        self.in_progress += 1
        try:
            yield
        finally:
            self.in_progress -= 1
