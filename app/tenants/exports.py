"""Exports: each holds a copy of a model until its reader has all of it, so there may be only some at a time."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from app.tenants.errors import TooManyExports
from app.tenants.snapshotter import take_picture
from app.tenants.tenant import Tenant


class Exports:
    """The exports that are under way in this worker."""

    def __init__(self, at_most: int) -> None:
        self._at_most = at_most
        self.under_way = 0

    async def file(self, tenant: Tenant) -> AsyncGenerator[bytes, None]:
        """The model file of this moment, piece by piece; its place is free again when this ends or is closed.

        TooManyExports instead of the first piece if there is no place.
        """
        with self._place():
            picture = await take_picture(tenant)
            for piece in picture.file():
                yield bytes(piece)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self.under_way >= self._at_most:
            raise TooManyExports(self._at_most)
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
