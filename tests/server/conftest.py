"""The fakes that the application is served over."""

from tests.api.conftest import anyio_backend, app, client, pending, service, tenants

__all__ = ["anyio_backend", "app", "client", "pending", "service", "tenants"]
