"""Requests to the services: every attempt goes into the history, and is repeated until it is acknowledged."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import httpx

from load_tests.torture.deployment import Deployment
from load_tests.torture.history import NO_ANSWER, Attempt, History, Operation

TIMEOUT_SECONDS = 6.0
PAUSE_SECONDS = 0.2
ACKNOWLEDGED_WITHIN_SECONDS = 90.0  # whatever happens meanwhile; an abandoned snapshot lock lasts for 60 s


class Client:
    """All clients together. Operations that are sent in one request each get their part of the answer."""

    def __init__(self, deployment: Deployment, history: History) -> None:
        self.history = history
        self.statuses: Counter[int] = Counter()
        self._nodes = deployment.nodes
        self._key = deployment.admin_key
        self._http = httpx.AsyncClient(verify=False, trust_env=False, timeout=TIMEOUT_SECONDS)  # noqa: S501 - loopback
        self._numbers = count()

    async def close(self) -> None:
        await self._http.aclose()

    async def fetch(self, path: str) -> httpx.Response:
        """GET something of the first service, before there are faults."""
        answer = await self._http.get(self._nodes[0].url + path, headers={"x-api-key": self._key})
        return answer.raise_for_status()

    async def send(
        self,
        operations: Sequence[Operation],
        service: int,
        method: str,
        path: str,
        *,
        key: str | None = None,
        **options: Any,  # noqa: ANN401 - those of httpx
    ) -> Attempt:
        """Send one request for some operations, with a key of its own if given; return the attempt of the first one."""
        request_id = f"t-{next(self._numbers)}"
        headers = {"x-request-id": request_id, "x-api-key": key or self._key} | options.pop("headers", {})
        if key:  # on a new connection, which may reach another worker
            headers["connection"] = "close"
        begin, status, body, echo = time.monotonic(), NO_ANSWER, b"", ""
        try:
            answer = await self._http.request(method, self._nodes[service].url + path, headers=headers, **options)
            status, body, echo = answer.status_code, answer.content, answer.headers.get("x-request-id", "")
        except httpx.HTTPError as error:
            body = json.dumps({"error": repr(error)}).encode()
        self.statuses[status] += 1
        end = time.monotonic()
        for operation, (part_status, part) in zip(operations, _parts(status, body, len(operations)), strict=True):
            self.history.note(operation, Attempt(service, request_id, begin, end, part_status, part, echo))
        return operations[0].attempts[-1]

    async def persist(
        self,
        operations: Sequence[Operation],
        services: Sequence[int],
        method: str,
        path: str,
        **options: Any,  # noqa: ANN401 - those of httpx
    ) -> bool:
        """Send until all are acknowledged or refused, by one service after the other; False if time is up."""
        deadline = time.monotonic() + ACKNOWLEDGED_WITHIN_SECONDS
        for turn in count():
            await self.send(operations, services[turn % len(services)], method, path, **options)
            if not any(operation.attempts[-1].is_retried for operation in operations):
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(PAUSE_SECONDS)
        raise AssertionError("count() ends")


def _parts(status: int, body: bytes, number: int) -> list[tuple[int, dict[str, Any]]]:
    """Status and answer of each operation of a request: of a batch, a stream, or a single one."""
    try:
        lines = [json.loads(line) for line in body.splitlines() if line.strip()]
    except ValueError:
        return [(status, {"length": len(body)})] * number
    if status != 200 or not lines:
        return [(status, lines[0] if lines and isinstance(lines[0], dict) else {})] * number
    if isinstance(lines[0], dict) and "results" in lines[0]:
        lines = lines[0]["results"]
    # A stream that ended early has no answer for its last lines; more answers than lines are kept to be found.
    lines += [None] * (number - len(lines))
    if len(lines) > number:
        return [(status, {"error": f"{len(lines)} answers to {number} items"})] * number
    return [_part(status, line) for line in lines]


def _part(status: int, line: Any) -> tuple[int, dict[str, Any]]:  # noqa: ANN401 - JSON
    if line is None:
        return NO_ANSWER, {}
    problem = line.get("error")
    if isinstance(problem, dict):
        return problem["status"], problem
    return status, line
