"""The outermost layer: request ids, load shedding, problems of hot routes and internal errors, counts."""

import asyncio
import itertools
import logging
import re
import secrets
import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.context import CONTEXT, RequestContext
from app.api.errors import ClientGone, Shutdown
from app.api.exception_handlers import Refusal
from app.api.middleware.overload import Overload
from app.api.middleware.rate_limit import UNLIMITED_PATHS
from app.api.middleware.request_log import RequestLog
from app.telemetry.counters import Requests
from app.tenants.errors import Abandoned

REQUEST_ID = b"x-request-id"
NOSNIFF = (b"x-content-type-options", b"nosniff")  # a browser must not take JSON for a page
UNKNOWN_ROUTE: Final = "unknown"  # a path that a client made up must not become a label of a metric
CLIENT_GONE: Final = 499  # the status that is counted where the client left before the answer
is_safe_id = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}").fullmatch
log = logging.getLogger(__name__)


class RequestMiddleware:
    """Wraps every request; there is one middleware because each layer costs time."""

    def __init__(
        self,
        app: ASGIApp,
        requests: Requests,
        overload: Overload,
        request_log: RequestLog,
        *,
        is_alone: bool = True,
    ) -> None:
        self._app = app
        self._requests = requests
        self._overload = overload
        self._log = request_log
        self._is_alone = is_alone  # else other middleware must see the answers too
        self._prefix = secrets.token_hex(6).encode()  # of this process: ids of two replicas differ
        self._count = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: C901 - one call, as one layer
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        context = self._context_of(scope)
        if self._log.with_inputs:
            receive = self._log.capture(context, receive)
        # Every route with GET has HEAD; the server drops the body.
        routed = {**scope, "method": "GET"} if context.is_head else scope

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] = [*message["headers"], *context.headers]
            await send(message)

        requests, overload = self._requests, self._overload
        is_limited = scope["path"] not in UNLIMITED_PATHS
        if is_limited and (
            context.exceeds_connections
            or requests.in_progress >= overload.max_concurrent
            or begin > overload.late_after
        ):
            reason = overload.reason(begin, exceeds_connections=context.exceeds_connections)
            assert reason is not None
            await Refusal(overload.shed(reason), scope)(scope, receive, send_with_headers)
            requests.count(scope["method"], UNKNOWN_ROUTE, context.status, time.perf_counter() - begin)
            return
        requests.in_progress += is_limited
        try:
            await self._app(routed, receive, send_with_headers)
        except (ClientGone, Abandoned):
            context.status = CLIENT_GONE
        except asyncio.CancelledError:  # by the server, when it stops and the time for requests in progress is over
            if context.status:
                raise
            await Refusal(Shutdown(), scope)(scope, receive, send_with_headers)
        except Exception as error:
            if context.status:  # too late for a problem: the server closes the connection, so the answer is incomplete
                log.exception("request %s failed while it was being answered", context.request_id)
                raise
            await Refusal(error, scope)(scope, receive, send_with_headers)
        finally:
            requests.in_progress -= is_limited
            if context.counted_key is not None:
                requests.key_done(context.counted_key)
            end = context.answered_at or time.perf_counter()  # the duration of an endless answer says nothing
            status, seconds = context.status or CLIENT_GONE, end - begin
            route = getattr(routed.get("route"), "path", UNKNOWN_ROUTE)
            requests.count(scope["method"], route, status, seconds)
            if status >= self._log.min_status or seconds >= self._log.min_seconds:
                self._log.record({**routed, "method": scope["method"]}, route, status, seconds)

    def _context_of(self, scope: Scope) -> RequestContext:
        """Return the server's context of the request, or a new one, with the id of the request."""
        context: RequestContext = scope.get(CONTEXT) or RequestContext()
        scope[CONTEXT] = context
        request_id = self.id_for(scope)
        context.request_id = request_id.decode()
        context.headers = [(REQUEST_ID, request_id), NOSNIFF]
        context.is_head = scope["method"] == "HEAD"
        if not self._is_alone:
            context.write = None
        return context

    def id_for(self, scope: Scope) -> bytes:
        """Return the client's own request id if it is safe to repeat, else a new one."""
        for name, value in scope["headers"]:
            if name == REQUEST_ID and is_safe_id(value):
                return bytes(value)
        return b"%b-%x" % (self._prefix, next(self._count))
