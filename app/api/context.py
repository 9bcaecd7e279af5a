"""What travels with one request beside ASGI's own scope: one typed object under one key."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from app.api.fast_path.http import Answer
    from app.auth.keys import Key

CONTEXT: Final = "sluice"  # its key in the scope

Headers = Iterable[tuple[bytes, bytes]]


class RequestContext(Struct):
    """The server, the middleware and the routes each fill in their part. Under another server, its part stays empty."""

    # By the server: what it can do, and what it knows of the connection.
    write: "Callable[[Answer, Headers], bool] | None" = None  # sends a whole answer with one write
    hold_back: "Callable[[Answer], None] | None" = None  # sends a refusal after a delay
    exceeds_connections: bool = False  # the worker has too many connections
    is_body_complete: bool = False  # the whole body has arrived
    is_client_gone: bool = False  # the connection is closed: no client waits for the answer
    is_abandoned: bool = False  # the rest of the body is not read: the connection has to be closed

    # By the middleware.
    request_id: str = ""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)  # of every answer
    status: int = 0  # of the answer; 0 until it has begun
    is_head: bool = False  # a HEAD request, which is routed as GET
    logged_input: str = ""  # the beginning of the body, if it is logged

    # By the routes.
    key: "Key | None" = None  # the caller's; None where no key is needed
    counted_key: str | None = None  # the key in whose share this request counts
    tenant: str | None = None
    stop: asyncio.Event | None = None  # of an endless answer: the server sets it when it stops
    answered_at: float = 0.0  # when an endless answer began, by time.perf_counter
