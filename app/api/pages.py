"""The manual that the service itself serves: /docs, /openapi.json, /problems."""

# ruff: noqa: FAST003 - endpoints take the request alone, and find the path's parameters in it

import base64
import hashlib
import re

from fastapi import APIRouter
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from app.api import service_operations as operations
from app.api.answers import Answer, encode
from app.api.problems import KINDS, Kind
from app.api.serving import DirectRoute
from app.api.wire import ProblemKindOut

router = APIRouter(route_class=DirectRoute)
INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
# The page's script and style come along with a package: in a closed network there is no CDN.
assets = Mount("/docs/assets", StaticFiles(packages=[("fastapi_offline", "static")]), name="docs assets")


@router.get("/docs", include_in_schema=False)
async def show_docs(request: Request) -> Response:
    """The routes, to read and to try."""
    root = request.scope.get("root_path", "")
    page = get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title="Sluice",
        swagger_js_url=f"{root}/docs/assets/swagger-ui-bundle.js",
        swagger_css_url=f"{root}/docs/assets/swagger-ui.css",
        swagger_favicon_url="data:,",
    )
    page.headers.update(_guarded(bytes(page.body)))
    return page


def _guarded(page: bytes) -> dict[str, str]:
    """Headers that let a browser run the scripts of this page, and no others, and show it in no other page."""
    inline = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in INLINE.findall(page)]
    allowed = " ".join(f"'sha256-{digest}'" for digest in inline)
    policy = (
        f"default-src 'none'; script-src 'self' {allowed}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    )
    policy += "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}


@router.get("/openapi.json", include_in_schema=False)
async def show_openapi(request: Request) -> Answer:
    """The routes, for programs."""
    return Answer(encode(request.scope["app"].openapi()))


@router.get("/problems", **operations.LIST_PROBLEMS)
async def list_problems(_: Request) -> Answer:
    """Every kind of problem."""
    return Answer(encode([_out(kind) for kind in KINDS.values()]))


@router.get("/problems/{name}", **operations.SHOW_PROBLEM)
async def show_problem(request: Request) -> Answer:
    """What a problem's type means."""
    kind = KINDS.get(request.path_params["name"])
    if kind is None:
        raise HTTPException(404)
    return Answer(encode(_out(kind)))


def _out(kind: Kind) -> ProblemKindOut:
    return ProblemKindOut(kind.type, kind.title, kind.status, kind.remedy)
