"""The application: its routes, its middleware, its OpenAPI document."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.middleware.asyncexitstack import AsyncExitStackMiddleware
from fastapi.openapi.utils import get_openapi
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from app.api.authorisation import RoleRoute
from app.api.backend import Backend
from app.api.documentation import complete
from app.api.exception_handlers import HANDLERS
from app.api.fast_path.http import FastRoute, FastRouter
from app.api.middleware.overload import Overload
from app.api.middleware.request import RequestMiddleware
from app.api.middleware.request_log import RequestLog
from app.api.routes import (
    audit,
    batch,
    docs,
    features,
    feedback,
    health,
    keys,
    labels,
    metrics,
    models,
    predict,
    predictions,
    tenants,
)
from app.api.routes.review import (
    events,
    explanation,
    moderators,
    overview,
    second,
    session,
    settings,
    similar,
    timeline,
)
from app.api.routes.review import queue as review_queue
from app.telemetry.counters import Requests

DESCRIPTION = "Online anomaly detection that learns from every label the moment it arrives."
ROUTERS = [
    module.router
    for module in (
        predict,
        feedback,
        batch,
        features,
        tenants,
        labels,
        predictions,
        review_queue,
        similar,
        moderators,
        second,
        timeline,
        events,
        explanation,
        settings,
        overview,
        session,
        models,
        keys,
        audit,
        health,
        metrics,
        docs,
    )
]

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, RoleRoute)]


class Application(FastAPI):
    """FastAPI with one middleware of ours, and a shortcut to the hot routes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request without FastAPI's own telemetry, which costs more than the routing."""
        if scope["type"] != "http" or self.root_path or self.middleware_stack is None:
            await super().__call__(scope, receive, send)
            return
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)

    def build_middleware_stack(self) -> ASGIApp:
        """Return our middleware around what `add_middleware` has added around the routers."""
        hot = [route for route in ROUTES if isinstance(route, FastRoute)]
        plain = ExceptionMiddleware(AsyncExitStackMiddleware(self.router), handlers=self.exception_handlers)
        app: ASGIApp = FastRouter(hot, plain)
        for middleware in reversed(self.user_middleware):
            app = middleware.cls(app, *middleware.args, **middleware.kwargs)
        state = self.state
        return RequestMiddleware(
            app,
            state.requests,
            state.overload,
            state.request_log,
            is_alone=not self.user_middleware,
        )

    def openapi(self) -> dict[str, Any]:
        """Return FastAPI's document, with what FastAPI cannot know."""
        if not self.openapi_schema:
            document = get_openapi(
                title=self.title,
                version=self.version,
                openapi_version=self.openapi_version,
                description=self.description,
                routes=self.routes,
            )
            self.openapi_schema = complete(document, ROUTES)  # set once it is complete: a thread builds it
        return self.openapi_schema


def create_app(  # noqa: PLR0913 - collaborators
    *,
    requests: Requests,
    overload: Overload,
    request_log: RequestLog,
    lifespan: Lifespan[FastAPI] | None = None,
    backend: Backend | None = None,
    pages: APIRouter | None = None,
) -> FastAPI:
    """Build the application. Its backend is given here, or set by the lifespan as `app.state.backend`.

    `pages` are those of the console.
    """
    app = Application(
        title="Sluice",
        version=version("sluice"),
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url=None,  # we serve the document and its page ourselves, without a CDN
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        strict_content_type=False,
        exception_handlers=HANDLERS,
        generate_unique_id_function=lambda route: route.name,
    )
    for router in ROUTERS:
        app.include_router(router)
    if pages is not None:
        app.include_router(pages)
    app.mount("/docs/assets", docs.assets)
    app.state.routes = ROUTES
    app.state.requests = requests
    app.state.overload = overload
    app.state.request_log = request_log
    if backend is not None:
        app.state.backend = backend
    return app
