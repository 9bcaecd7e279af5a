"""The application: routes, boundary, OpenAPI document."""

from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from app.api import batches, featurizing, giving, health, keys, metrics, models, pages, predicting
from app.api import tenants as tenant_routes
from app.api.boundary import Boundary
from app.api.documenting import paths
from app.api.schemas import components
from app.api.serving import Serving, Shortcut
from app.api.shedding import Shedding
from app.api.watching import Watching

DESCRIPTION = "Online anomaly detection that learns from every label the moment it arrives."
# The hot ones first: routes are tried in order.
ROUTERS = (predicting, giving, batches, featurizing, tenant_routes, models, keys, health, metrics, pages)


class Application(FastAPI):
    """FastAPI without what costs time on every request: we have no dependencies, models or cookies to see to."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without FastAPI's own telemetry, which costs more than the routing."""
        if scope["type"] != "http" or self.root_path or self.middleware_stack is None:
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """The boundary, what was added with `add_middleware`, the router."""
        app: ASGIApp = Shortcut(self.router)
        for middleware in reversed(self.user_middleware):
            app = middleware.cls(app, *middleware.args, **middleware.kwargs)
        return Boundary(app, self.state.watching, self.state.shedding, is_alone=not self.user_middleware)

    def openapi(self) -> dict[str, Any]:
        """The document, made once: FastAPI would ask Pydantic for schemas, and leave out every null of an example."""
        if not self.openapi_schema:
            self.openapi_schema = {
                "openapi": self.openapi_version,
                "info": {"title": self.title, "version": self.version, "description": self.description},
                "paths": paths(self.routes),
                "components": {
                    "schemas": components(),
                    "securitySchemes": {
                        "bearer": {"type": "http", "scheme": "bearer", "description": "A key: sluice_..."},
                        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
                    },
                },
            }
        return self.openapi_schema


def create_app(
    lifespan: Lifespan[FastAPI] | None = None,
    serving: Serving | None = None,
    watching: Watching | None = None,
    shedding: Shedding | None = None,
) -> FastAPI:
    """Build the application. What it serves with is given here, or set by the lifespan as `app.state.serving`."""
    app = Application(
        title="Sluice",
        version=version("sluice"),
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url=None,  # these pages are our own
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for module in ROUTERS:  # put in as they are: a router that is included is asked through detours
        app.router.routes.extend(module.router.routes)
    app.router.routes.append(pages.assets)
    app.state.watching = watching or Watching()
    app.state.shedding = shedding
    if serving is not None:
        app.state.serving = serving
    return app
