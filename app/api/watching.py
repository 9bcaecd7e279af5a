"""What is told about every request when it is over: a count, a line of the log where it is wanted, a span."""

import logging
import time
from typing import Any, Final

from starlette.types import Receive, Scope

from app.telemetry.counters import Requests
from app.telemetry.logs import FACTS
from app.telemetry.traces import RequestTracer

UNKNOWN: Final = "unknown"  # no route has this address: an address of a client's choice is no label
GONE: Final = 499  # the client went away before it was answered
FAILED: Final = 500
SLOW_SECONDS: Final = 1.0
LONGEST_INPUT: Final = 2000

log = logging.getLogger("sluice.requests")


class Watching:
    """Counts requests, and logs those that should be."""

    def __init__(
        self,
        requests: Requests | None = None,
        *,
        logged: str = "failed",
        with_inputs: bool = False,
        tracing: RequestTracer | None = None,
    ) -> None:
        self.requests = requests or Requests()
        self._logged = logged
        self._with_inputs = with_inputs
        self._tracing = tracing

    def heard(self, scope: Scope, receive: Receive) -> Receive:
        """What the route shall read from: if inputs are wanted in the log, with an ear on it."""
        return _overheard(scope, receive) if self._with_inputs else receive

    def over(self, scope: Scope, status: int, seconds: float) -> None:
        """A request was answered, or its client has gone."""
        route = getattr(scope.get("route"), "path", UNKNOWN)
        self.requests.count(scope["method"], route, status, seconds)
        wanted = self._is_logged(status, seconds)
        if wanted or self._tracing is not None:
            self._tell(scope, route, status, seconds, logged=wanted)

    def _is_logged(self, status: int, seconds: float) -> bool:
        return self._logged == "all" or (self._logged == "failed" and (status >= FAILED or seconds >= SLOW_SECONDS))

    def _tell(self, scope: Scope, route: str, status: int, seconds: float, *, logged: bool) -> None:
        facts = _facts(scope, route, status, seconds)
        if self._tracing is not None:
            now = time.time()
            self._tracing.trace(scope["headers"], now - seconds, now, facts)
        if logged:
            level = logging.WARNING if status >= FAILED else logging.INFO
            log.log(level, "%s %s answered with %d", facts["method"], route, status, extra={FACTS: facts})


def _facts(scope: Scope, route: str, status: int, seconds: float) -> dict[str, Any]:
    tenant = scope.get("tenant") or scope.get("path_params", {}).get("tenant")
    facts: dict[str, Any] = {"request_id": scope["request_id"], "method": scope["method"], "route": route}
    facts |= {"tenant": tenant} if tenant else {}
    facts |= {"status": status, "milliseconds": round(1000.0 * seconds, 3)}
    return facts | ({"input": scope["input"]} if "input" in scope else {})


def _overheard(scope: Scope, receive: Receive) -> Receive:
    async def hear() -> Any:  # noqa: ANN401 - ASGI's messages
        message = await receive()
        room = LONGEST_INPUT - len(scope.get("input", ""))
        if room > 0 and message.get("body"):
            scope["input"] = scope.get("input", "") + message["body"][:room].decode("utf-8", "replace")
        return message

    return hear
