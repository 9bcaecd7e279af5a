"""Where requests come in: each gets an id, and what goes wrong becomes a problem."""

import itertools
import logging
import re
import secrets
import time

from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.answers import AT_ONCE, Answer, NoContent, problem
from app.api.delaying import HOLD_BACK
from app.api.errors import ClientGone, Overloaded, TooManyRequests
from app.api.limiting import ALLOWANCE
from app.api.limits import ALWAYS_HEARD
from app.api.problems import INTERNAL_ERROR, METHOD_NOT_ALLOWED, TOO_SLOW, UNAUTHENTICATED, detail_of, kind_of
from app.api.shedding import EXTRA, Shedding
from app.api.watching import GONE, UNKNOWN, Watching

REQUEST_ID = b"x-request-id"
NOSNIFF = (b"x-content-type-options", b"nosniff")  # what is JSON must not be taken for a page
WAITED_FOR = (Overloaded, TooManyRequests)  # refusals that are held back
is_safe = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}").fullmatch
log = logging.getLogger(__name__)


class Boundary:
    """The outermost layer: what is too much, request ids, problems, OPTIONS."""

    def __init__(
        self, app: ASGIApp, watching: Watching, shedding: Shedding | None = None, *, is_alone: bool = True
    ) -> None:
        self._app = app
        self._is_alone = is_alone  # else others between here and the routes want to see answers, too
        self._watching = watching
        self._shedding = shedding or Shedding(watching.requests)
        self._prefix = secrets.token_hex(6).encode()  # of this process: two replicas never make the same id
        self._count = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._id_for(scope)
        scope["request_id"] = request_id.decode()
        status = 0
        begin = time.perf_counter()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_on_every_answer(scope)]
            await send(message)

        if (whole := scope.pop(AT_ONCE, None)) is not None and self._is_alone:

            def at_once(done: Answer) -> bool:
                nonlocal status
                status = done.status_code
                return bool(whole(done, _on_every_answer(scope)))

            scope[AT_ONCE] = at_once

        requests = self._watching.requests
        counts = scope["path"] not in ALWAYS_HEARD  # whoever asks how we are takes no other's place
        reason = self._reason(scope, begin) if counts else None
        if reason is not None:
            status = await _refuse(self._shedding.shed(reason), scope, receive, answer)
            requests.count(scope["method"], UNKNOWN, status, time.perf_counter() - begin)  # and no line of the log
            return
        requests.in_progress += counts
        try:
            await self._app(scope, self._watching.heard(scope, receive), answer)
        except ClientGone:
            status = GONE
        except Exception as error:
            if status:  # too late for a problem: the server closes the connection, so that nobody takes it for whole
                log.exception("request %s broke off while it was answered", scope["request_id"])
                raise
            status = await _refuse(error, scope, receive, answer)
        finally:
            requests.in_progress -= counts
            self._watching.over(scope, status or GONE, time.perf_counter() - begin)

    def _reason(self, scope: Scope, now: float) -> str | None:
        return "connections" if EXTRA in scope else self._shedding.reason(now)

    def _id_for(self, scope: Scope) -> bytes:
        """What the client calls the request, if that can be repeated safely; else a name of our own."""
        for name, value in scope["headers"]:
            if name == REQUEST_ID and is_safe(value):
                return bytes(value)
        return b"%b-%x" % (self._prefix, next(self._count))


async def _refuse(error: Exception, scope: Scope, receive: Receive, answer: Send) -> int:
    """Say so; at once, or where there is too much to do, after a while. The status."""
    refusal = _refusal(error, scope)
    hold_back = scope.get(HOLD_BACK) if isinstance(error, WAITED_FOR) else None
    if hold_back is None:
        await refusal(scope, receive, answer)
    else:
        refusal.raw_headers += _on_every_answer(scope)
        hold_back(refusal)
    return refusal.status_code


def _on_every_answer(scope: Scope) -> list[tuple[bytes, bytes]]:
    return [(REQUEST_ID, scope["request_id"].encode()), NOSNIFF, *scope.get(ALLOWANCE, ())]


def _refusal(error: Exception, scope: Scope) -> Answer:
    kind = kind_of(error)
    detail = detail_of(error)
    headers: list[tuple[bytes, bytes]] = []
    if kind is INTERNAL_ERROR:
        log.error("request %s failed", scope["request_id"], exc_info=error)
    elif kind is UNAUTHENTICATED:
        headers = [(b"www-authenticate", b'Bearer realm="sluice"')]
    elif kind is TOO_SLOW:
        headers = [(b"connection", b"close")]  # the rest of the body may still come
    elif kind is METHOD_NOT_ALLOWED:
        allowed = _allowed(scope)
        headers = [(b"allow", allowed.encode())]
        if scope["method"] == "OPTIONS":
            return NoContent(headers=headers)
        detail = f"{scope['path']} does not know {scope['method']}; it knows {allowed}"
    elif isinstance(error, HTTPException) and error.status_code == 404:  # noqa: PLR2004 - not found
        detail = f"there is nothing at {scope['path']}"
    return problem(kind, detail, scope["request_id"], scope["path"], headers)


def _allowed(scope: Scope) -> str:
    """The methods of all routes at this address."""
    routes = [route for route in scope["app"].router.routes if route.matches(scope)[0] is not Match.NONE]
    methods = {method for route in routes for method in getattr(route, "methods", None) or ()}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set()) | {"OPTIONS"}))
