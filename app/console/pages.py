"""The pages of the console. Each is a template; its scripts fetch what it shows from the HTTP API."""

from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import quote

from fastapi import APIRouter
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from app.auth.authenticator import Authenticator
from app.auth.errors import Unauthenticated
from app.auth.keys import ROLES, Key
from app.auth.sessions import Sessions, cookie_name
from app.console.assets import Assets
from app.console.menu import START, TENANT_PAGES, WHOLE_PAGES, Page, first_page, open_to

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Access(Protocol):
    """What the pages need of the service: who is signed in."""

    @property
    def authenticator(self) -> Authenticator:
        """The keys."""

    @property
    def sessions(self) -> Sessions:
        """The sessions."""


class Visitor:
    """Who asks for a page, and what it may show."""

    def __init__(self, key: Key | None) -> None:
        self.key = key
        self.roles = set(ROLES) if key is None else set(key.roles)
        self.name = "" if key is None else key.moderator or key.name or key.id

    def covers(self, tenant: str) -> bool:
        """Whether the visitor may see a tenant."""
        return self.key is None or self.key.covers(tenant)

    def may_open(self, page: Page) -> bool:
        """Whether a page is shown: what a role may not do is not."""
        return open_to(page, self.roles)


class Console:
    """The pages, as routes."""

    def __init__(self, assets: Assets | None = None) -> None:
        self._assets = assets or Assets()
        self._templates = Environment(
            loader=PackageLoader("app.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def router(self) -> APIRouter:
        """Return the routes."""
        router = APIRouter(prefix="/console", include_in_schema=False)
        for path, show in (
            ("", self.show_first),
            ("/", self.leave_out_the_slash),
            ("/assets/{version}/{name:path}", self.show_asset),
            ("/sign-in", self.show_sign_in),
            ("/{name}", self.show_whole_page),
            ("/tenants/{tenant}", self.show_tenant),
            ("/tenants/{tenant}/{name}", self.show_tenant_page),
        ):
            router.add_api_route(path, show, response_model=None)
        return router

    async def show_first(self, request: Request) -> Response:
        """Redirect to the page that a visitor begins with."""
        visitor = await _visitor_of(request)
        name = "sign-in" if visitor is None else first_page(visitor.roles)
        return RedirectResponse(f"{_root(request)}/{name}", 303, HEADERS)

    async def leave_out_the_slash(self, request: Request) -> Response:
        """Redirect what people type."""
        return RedirectResponse(_root(request), 303, HEADERS)

    async def show_asset(self, version: str, name: str) -> Response:
        """Show a script, a style or a picture."""
        return self._assets.answer(version, name)

    async def show_sign_in(self, request: Request) -> Response:
        """Ask for a key."""
        return self._render(request, "sign-in.html", {"visitor": None})

    async def show_whole_page(self, request: Request, name: str) -> Response:
        """Show a page that is not about one tenant."""
        return await self._show(request, _page({START.name: START, **WHOLE_PAGES}, name))

    async def show_tenant(self, request: Request, tenant: str) -> Response:
        """Show what to know about a tenant."""
        return await self._show(request, TENANT_PAGES["overview"], tenant)

    async def show_tenant_page(self, request: Request, tenant: str, name: str) -> Response:
        """Show a page about a tenant."""
        return await self._show(request, _page(TENANT_PAGES, name), tenant)

    async def _show(self, request: Request, wanted: Page, tenant: str | None = None) -> Response:
        visitor = await _visitor_of(request)
        if visitor is None:
            here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{_root(request)}/sign-in?next={quote(here)}", 303, HEADERS)
        facts = {"visitor": visitor, "page": wanted, "tenant": tenant, "menu": TENANT_PAGES, "whole_menu": WHOLE_PAGES}
        if not visitor.may_open(wanted) or (tenant is not None and not visitor.covers(tenant)):
            return self._render(request, "refused.html", facts, 403)
        return self._render(request, f"{wanted.name}.html", facts)

    def _render(self, request: Request, template: str, facts: Mapping[str, object], status: int = 200) -> Response:
        root = _root(request)
        text = self._templates.get_template(template).render(
            facts,
            root=root,
            api=request.scope.get("root_path", ""),
            asset=lambda name: root + self._assets.address(name),
        )
        return HTMLResponse(text, status, HEADERS)


async def _visitor_of(request: Request) -> Visitor | None:
    """Return who is signed in; everybody is where no key is needed."""
    access: Access = request.app.state.backend
    if access.authenticator.is_open:
        return Visitor(None)
    secret = request.cookies.get(cookie_name(request.scope.get("scheme"), request.headers.get("x-forwarded-proto")))
    if secret is None:
        return None
    try:
        return Visitor(await access.sessions.key_of(secret))
    except Unauthenticated:
        return None


def _root(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/console"


def _page(pages: dict[str, Page], name: str) -> Page:
    if name not in pages:
        raise HTTPException(404)
    return pages[name]
