"""The log line and the trace span of a request."""

import logging
import math
import time
from typing import Any, Final

from starlette.types import Message, Receive, Scope

from app.api.context import CONTEXT, RequestContext
from app.telemetry.logs import FACTS
from app.telemetry.traces import RequestTracer

FAILED: Final = 500
SLOW_SECONDS: Final = 1.0
MAX_INPUT: Final = 2000  # characters

log = logging.getLogger("sluice.requests")


class RequestLog:
    """Records requests: `all`, `failed` (failed or slow), or `none`."""

    def __init__(
        self, logged: str = "failed", *, with_inputs: bool = False, tracing: RequestTracer | None = None
    ) -> None:
        self.with_inputs = with_inputs
        self._logged = logged
        self._tracing = tracing
        # The middleware compares with these, so that a request that is not recorded costs nothing here.
        self.min_status, self.min_seconds = {
            "all": (0, 0.0),
            "failed": (FAILED, SLOW_SECONDS),
            "none": (math.inf, math.inf),
        }[logged if tracing is None else "all"]

    def record(self, scope: Scope, route: str, status: int, seconds: float) -> None:
        """Log a request that was answered, and trace it."""
        facts = _facts(scope, route, status, seconds)
        if self._tracing is not None:
            now = time.time()
            self._tracing.trace(scope["headers"], now - seconds, now, facts)
        if self._logged == "all" or (self._logged == "failed" and (status >= FAILED or seconds >= SLOW_SECONDS)):
            level = logging.WARNING if status >= FAILED else logging.INFO
            log.log(level, "%s %s answered with %d", facts["method"], route, status, extra={FACTS: facts})

    def capture(self, context: RequestContext, receive: Receive) -> Receive:
        """Return a `receive` that notes the beginning of the body for the log."""

        async def receive_and_note() -> Message:
            message = await receive()
            room = MAX_INPUT - len(context.logged_input)
            if room > 0 and message.get("body"):
                context.logged_input += message["body"][:room].decode("utf-8", "replace")
            return message

        return receive_and_note


def _facts(scope: Scope, route: str, status: int, seconds: float) -> dict[str, Any]:
    context: RequestContext = scope[CONTEXT]
    tenant = context.tenant or scope.get("path_params", {}).get("tenant")
    facts: dict[str, Any] = {"request_id": context.request_id, "method": scope["method"], "route": route}
    facts |= {"tenant": tenant} if tenant else {}
    facts |= {"status": status, "milliseconds": round(1000.0 * seconds, 3)}
    return facts | ({"input": context.logged_input} if context.logged_input else {})
