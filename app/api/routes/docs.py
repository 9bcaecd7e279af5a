"""The documentation that the service itself serves: /, /docs, /openapi.json, /problems."""

import base64
import hashlib
import re
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from app.api import problems
from app.api.documentation import example, refusals
from app.api.fast_path.http import Answer, encode
from app.api.json_route import ApiRoute
from app.api.problems import KINDS
from app.api.schemas.problems import ProblemTypeResponse

router = APIRouter(route_class=ApiRoute, tags=["problems"])
EXAMPLE = ProblemTypeResponse.model_validate(problems.TOO_LARGE).model_dump()
ProblemName = Annotated[str, Path(description="The end of the type.", examples=["too-large"])]
INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
# A package has the page's script and style: a closed network has no CDN.
assets = StaticFiles(packages=[("fastapi_offline", "static")])
LINKS = {name: f"/{name}" for name in ("console", "docs", "openapi.json", "problems", "livez", "readyz", "metrics")}


@router.get("/", include_in_schema=False)
async def show_links(request: Request) -> Response:
    """Say where to begin: a browser is sent to the page, a program gets links."""
    if "text/html" in request.headers.get("accept", ""):
        return _redirect(request, "/console", {"vary": "accept"})
    return Answer(encode({"service": "sluice", "links": LINKS}), headers=[(b"vary", b"accept")])


@router.get("/docs/", include_in_schema=False)
async def leave_out_the_slash(request: Request) -> Response:
    """Redirect what people type."""
    return _redirect(request, "/docs")


@router.get("/docs", include_in_schema=False)
async def show_docs(request: Request) -> Response:
    """Show the routes, to read and to try."""
    root = request.scope.get("root_path", "")
    page = get_swagger_ui_html(
        openapi_url=f"{root}/openapi.json",
        title="Sluice",
        swagger_js_url=f"{root}/docs/assets/swagger-ui-bundle.js",
        swagger_css_url=f"{root}/docs/assets/swagger-ui.css",
        swagger_favicon_url="data:,",
    )
    page.headers.update(_security_headers(bytes(page.body)))
    return page


def _redirect(request: Request, path: str, headers: dict[str, str] | None = None) -> Response:
    return RedirectResponse(request.scope.get("root_path", "") + path, headers=headers)


def _security_headers(page: bytes) -> dict[str, str]:
    """Return headers that let a browser run the scripts of this page only, and embed it nowhere."""
    inline = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in INLINE.findall(page)]
    allowed = " ".join(f"'sha256-{digest}'" for digest in inline)
    policy = (
        f"default-src 'none'; script-src 'self' {allowed}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    )
    policy += "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    return {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}


@router.get("/openapi.json", include_in_schema=False)
def show_openapi(request: Request) -> Response:
    """Show the routes, for programs; in a thread, because building the document takes a while."""
    return Answer(encode(request.app.openapi()))


@router.get(
    "/problems",
    summary="List the types of problems",
    description="Every `type` that an error can have.",
    response_description="All types.",
    responses=example([EXAMPLE]),
)
async def list_problems() -> list[ProblemTypeResponse]:
    """List every type of problem."""
    return [ProblemTypeResponse.model_validate(kind) for kind in KINDS.values()]


@router.get(
    "/problems/{name}",
    summary="Explain a type of problem",
    description="What the `type` of an error refers to.",
    response_description="The type.",
    responses=example(EXAMPLE) | refusals(problems.UNKNOWN_ROUTE),
)
async def show_problem(name: ProblemName) -> ProblemTypeResponse:
    """Explain a problem's type."""
    kind = KINDS.get(name)
    if kind is None:
        raise HTTPException(404)
    return ProblemTypeResponse.model_validate(kind)
