"""The fakes that the application is served over."""

from tests.api.conftest import anyio_backend, pending, tenants

__all__ = ["anyio_backend", "pending", "tenants"]
