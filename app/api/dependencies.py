"""What plain routes depend on: the caller, its role, its tenants, the audit."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Annotated, Any

from fastapi import Depends, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from app.api.backend import Backend, TenantRegistry
from app.api.context import CONTEXT, RequestContext
from app.api.fast_path.http import read_binary
from app.auth.errors import Forbidden
from app.auth.keys import Key
from app.learning.config import Value
from app.learning.example import Example
from app.storage.deleted_tenants import DeletedTenant
from app.tenants.feedback import Caller as Client
from app.tenants.labels.retraction import Asked, Retracted
from app.tenants.labels.similarity import SimilarLabels
from app.tenants.labels.stored_labels import LabelFilter, Retraction, StoredLabel
from app.tenants.labels.timeline import Timeline
from app.tenants.labels.what_if import Comparison, WhatIf
from app.tenants.readiness import Readiness
from app.tenants.registry import ListedTenant
from app.tenants.snapshotter import SnapshotTaken
from app.tenants.tenant import Tenant

# They document how a key is sent; `app.api.authorisation` reads and checks it.
BEARER = HTTPBearer(scheme_name="bearer", auto_error=False, description="A key: sluice_...")
API_KEY = APIKeyHeader(scheme_name="header", name="X-API-Key", auto_error=False)


class RequiredRole:
    """Declares the role that a route needs, and how a key is sent. The route checks it before it reads the body."""

    def __init__(self, role: str) -> None:
        self.role = role

    def __call__(
        self,
        _bearer: Annotated[HTTPAuthorizationCredentials | None, Security(BEARER)],
        _header: Annotated[str | None, Security(API_KEY)],
    ) -> None:
        """Do nothing: FastAPI resolves dependencies when the body was read already."""


def needs(role: str) -> Any:  # noqa: ANN401 - as fastapi.Depends
    """Return the dependency of a route that needs a role."""
    return Depends(RequiredRole(role))


def context_of(request: Request) -> RequestContext:
    """Return what travels with the request."""
    context: RequestContext = request.scope[CONTEXT]
    return context


def backend_of(request: Request) -> Backend:
    """Return the collaborators of the routes."""
    backend: Backend = request.app.state.backend
    return backend


def caller_of(request: Request) -> Key | None:
    """Return the caller's key; None where no key is needed."""
    return context_of(request).key


def tenants_of(request: Request) -> TenantRegistry:
    """Return the tenants that the caller may use. Routes reach tenants only by this, so never those of others."""
    tenants, key = backend_of(request).tenants, context_of(request).key
    return tenants if key is None else CallerTenants(tenants, key)


async def model_file(request: Request) -> bytes:
    """Read a body that is a model file."""
    return await read_binary(request, backend_of(request).limits.max_import_bytes)


def check_tenant(request: Request) -> None:
    """Refuse a foreign tenant, whatever else is wrong with the request."""
    key, tenant = caller_of(request), request.path_params.get("tenant")
    if key is not None and tenant is not None and not key.covers(tenant):
        raise Forbidden.tenant(tenant)


async def audit_change(request: Request) -> None:
    """Add an entry to the audit before anything is changed; if that fails, nothing is changed."""
    check_tenant(request)
    key, tenant = caller_of(request), request.path_params.get("tenant")
    await backend_of(request).audit.note(
        request.scope["route"].name,
        key_id=key.id if key else None,
        tenant=tenant,
        request_id=context_of(request).request_id,
    )


class CallerTenants:
    """The tenants of a key. Any other is refused before it is looked up.

    So the refusal is the same, and takes as long, whether or not the tenant exists.
    """

    def __init__(self, tenants: TenantRegistry, key: Key) -> None:
        self._tenants = tenants
        self._key = key

    def own(self, name: str) -> str:
        """Return the name; Forbidden if it is not one of the key's tenants."""
        if not self._key.covers(name):
            raise Forbidden.tenant(name)
        return name

    def held(self, name: str, /) -> Tenant | None:
        """Return a tenant that is in memory."""
        return self._tenants.held(self.own(name))

    async def hold(self, name: str, *, create: bool = True) -> Tenant:
        """Return a tenant; load or create it if necessary."""
        return await self._tenants.hold(self.own(name), create=create)

    async def configure(self, name: str, changes: Mapping[str, Value]) -> Tenant:
        """Change settings; create the tenant if it does not exist."""
        return await self._tenants.configure(self.own(name), changes)

    async def delete(self, name: str, *, purge: bool = False) -> None:
        """Delete a tenant; with `purge`, so that it cannot be restored."""
        await self._tenants.delete(self.own(name), purge=purge)

    async def deleted(self, name: str) -> list[DeletedTenant]:
        """Return the deleted tenants of a name that can be restored, the newest first."""
        return await self._tenants.deleted(self.own(name))

    async def restore(self, name: str, incarnation: str | None = None) -> Tenant:
        """Restore a deleted tenant: the newest one, or the one that is named."""
        return await self._tenants.restore(self.own(name), incarnation)

    async def listed(self, after: str, limit: int, within: Sequence[str] = ("*",)) -> list[ListedTenant]:
        """List the key's tenants."""
        assert within == ("*",)
        return await self._tenants.listed(after, limit, self._key.tenants)

    async def snapshot(self, name: str) -> SnapshotTaken:
        """Take a snapshot now."""
        return await self._tenants.snapshot(self.own(name))

    async def retract(self, name: str, wanted: LabelFilter, asked: Asked, *, dry_run: bool) -> Retracted:
        """Take labels back, or say what that would do."""
        return await self._tenants.retract(self.own(name), wanted, asked, dry_run=dry_run)

    async def labels(
        self, name: str, wanted: LabelFilter, before: int | None = None
    ) -> AsyncIterator[tuple[StoredLabel, Retraction | None]]:
        """Return the labels of a tenant before a version, the newest first, and how each was taken back."""
        return await self._tenants.labels(self.own(name), wanted, before)

    async def timeline(self, name: str, since: int | None, until: int, periods: int) -> Timeline:
        """Return the newest labels of a tenant over time, in so many periods at most."""
        return await self._tenants.timeline(self.own(name), since, until, periods)

    async def labelled_example(self, name: str, version: int) -> Example | None:
        """Return what was labelled by the event of a version; None if the log does not have it any more."""
        return await self._tenants.labelled_example(self.own(name), version)

    async def similar_labels(self, name: str, example: Example, limit: int, but: str) -> SimilarLabels:
        """Return the recent labels of the most similar inputs, but not those of one prediction."""
        return await self._tenants.similar_labels(self.own(name), example, limit, but)

    async def as_of(self, name: str, version: int) -> Tenant | None:
        """Return a copy of a tenant as it was at a version; None if the log does not reach back so far."""
        return await self._tenants.as_of(self.own(name), version)

    async def what_if(self, name: str, asked: WhatIf, caller: Client | None = None) -> Comparison:
        """Compare a tenant's model with another one, both of the key's tenants, on the kept labels."""
        if asked.model_of is not None:
            self.own(asked.model_of)
        return await self._tenants.what_if(self.own(name), asked, caller)

    async def export(self, name: str, *, has_log: bool = False) -> AsyncGenerator[bytes, None]:
        """Return a tenant's model file, piece by piece."""
        return await self._tenants.export(self.own(name), has_log=has_log)

    async def imported(self, name: str, data: bytes, *, replace: bool) -> Tenant:
        """Make a model file a tenant."""
        return await self._tenants.imported(self.own(name), data, replace=replace)

    def ready(self) -> Readiness:
        """Return whether this worker can serve."""
        return self._tenants.ready()


Context = Annotated[RequestContext, Depends(context_of)]
Service = Annotated[Backend, Depends(backend_of)]
Caller = Annotated[Key | None, Depends(caller_of)]
Tenants = Annotated[TenantRegistry, Depends(tenants_of)]
ModelFile = Annotated[bytes, Depends(model_file)]
OwnTenant = Depends(check_tenant)
Audited = Depends(audit_change)
