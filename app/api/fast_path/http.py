"""Reads bodies as bytes, answers with bytes, and routes by one lookup: what every hot request passes through."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.authorisation import RoleRoute, authorise
from app.api.backend import Backend, RequestLimits
from app.api.context import CONTEXT, Headers, RequestContext
from app.api.errors import BadInput, ClientGone, MalformedBody, TooLarge, TooSlow, WrongContentType
from app.api.fast_path.decode_errors import invalid_field, malformed

JSON = b"application/json"
is_json = re.compile(rb"(?i)application/(?:json|[a-z0-9.+-]+\+json)\s*(?:;\s*charset=\"?utf-?8\"?\s*)?").fullmatch
is_ndjson = re.compile(rb"(?i)application/x-ndjson\s*(?:;.*)?").fullmatch
is_mail = re.compile(rb"(?i)message/rfc822\s*(?:;.*)?").fullmatch
is_binary = re.compile(rb"(?i)application/octet-stream\s*(?:;.*)?").fullmatch
BODY_SETTING = "SLUICE_MAX_BODY_BYTES"
MAIL_SETTING = "SLUICE_MAX_MAIL_BYTES"
IMPORT_SETTING = "SLUICE_MAX_IMPORT_BYTES"
MIN_BYTES_PER_SECOND = 64 * 1024  # half a megabit: each part of a body that has arrived at this rate adds to its time

T = TypeVar("T")
encode = msgspec.json.Encoder().encode
encode_lines = msgspec.json.Encoder().encode_lines
any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Answer(Response):
    """A whole body of bytes, with the necessary headers only."""

    def __init__(self, body: bytes, status: int = 200, content_type: bytes = JSON, headers: Headers = ()) -> None:
        self.status_code = status
        self.body = body
        self.raw_headers = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]
        self.background = None


class FastRoute(RoleRoute):
    """A route whose endpoint takes the request and returns the answer, without FastAPI's handling in between."""

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authorise the caller, call the endpoint, and send what it returns, with one write if the server can."""
        context: RequestContext = scope[CONTEXT]
        backend: Backend = scope["app"].state.backend
        if not backend.authenticator.is_open or backend.rate_limiter is not None:
            await authorise(scope, self.role)
        answer = await self.endpoint(Request(scope, receive))
        if context.write is not None and type(answer) is Answer and context.write(answer, context.headers):
            context.status = answer.status_code
        else:
            await answer(scope, receive, send)


class FastRouter:
    """Finds the hot routes with one lookup, and leaves all other requests to FastAPI's router."""

    def __init__(self, routes: Sequence[FastRoute], router: ASGIApp) -> None:
        self._routes = {(method, route.path): route for route in routes for method in route.methods}
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route one request."""
        route = self._routes.get((scope.get("method", ""), scope.get("path", "")))
        if route is None:
            await self._router(scope, receive, send)
        else:
            scope["route"] = route
            await route.answer(scope, receive, send)


@dataclass(frozen=True, slots=True)
class Mail:
    """A body that is an e-mail as it was sent."""

    raw: bytes


async def read_json(request: Request, limit: int) -> bytes:
    """Read a body that must be JSON."""
    headers = dict(request.scope["headers"])
    given = headers.get(b"content-type", JSON)
    if given != JSON and not is_json(given):
        raise WrongContentType(given.decode("latin-1"), "application/json")
    return await _read(request, headers, limit, BODY_SETTING)


async def read_input(request: Request, limits: RequestLimits) -> bytes | Mail:
    """Read a body that is JSON, or an e-mail with its fields in the query."""
    headers = dict(request.scope["headers"])
    given = headers.get(b"content-type", JSON)
    if given == JSON or is_json(given):
        if request.scope["query_string"]:  # else a client would believe that its parameters were applied
            raise BadInput("query parameters are for message/rfc822 only; with JSON, send these fields in the body")
        return await _read(request, headers, limits.max_body_bytes, BODY_SETTING)
    if is_mail(given):
        return Mail(await _read(request, headers, limits.max_mail_bytes, MAIL_SETTING))
    raise WrongContentType(given.decode("latin-1"), "application/json or message/rfc822")


async def read_binary(request: Request, limit: int) -> bytes:
    """Read a body that must be a file."""
    headers = dict(request.scope["headers"])
    given = headers.get(b"content-type", b"application/octet-stream")
    if not is_binary(given):
        raise WrongContentType(given.decode("latin-1"), "application/octet-stream")
    return await _read(request, headers, limit, IMPORT_SETTING)


def sends_lines(request: Request) -> bool:
    """Whether the body is uncompressed NDJSON."""
    headers = dict(request.scope["headers"])
    if not is_ndjson(headers.get(b"content-type", b"")):
        return False
    _refuse_encodings(headers)
    return True


async def next_piece(request: Request) -> tuple[bytes, bool]:
    """Read the next piece of the body; whether more follows. TooSlow if it does not arrive in time."""
    # Usually the whole body has arrived already, and a timer would cost more than reading it.
    context: RequestContext = request.scope[CONTEXT]
    message = await request.receive() if context.is_body_complete else await _receive_in_time(request)
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message.get("body", b""), message.get("more_body", False)


def decode(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw) -> T:
    """Decode JSON; BadInput or MalformedBody says what is wrong with it."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise BadInput(invalid_field(str(error), decoder.type)) from None
    except msgspec.DecodeError as error:
        raise MalformedBody(malformed(str(error), bytes(data))) from None
    except UnicodeDecodeError as error:
        raise MalformedBody(f"the body is not valid UTF-8: {error.reason}") from None
    except RecursionError:
        raise MalformedBody("the JSON is nested too deeply") from None


async def _read(request: Request, headers: dict[bytes, bytes], limit: int, setting: str) -> bytes:
    if b"content-encoding" in headers or b"transfer-encoding" in headers:
        _refuse_encodings(headers)
    declared = headers.get(b"content-length")
    if declared is not None and int(declared) > limit:  # refused before any of it is read
        raise TooLarge(f"the body has {int(declared):,} bytes", limit, "bytes", setting)
    body, more = await next_piece(request)
    if more:
        body = await _read_rest(request, body, limit)
    if len(body) > limit:
        raise TooLarge(f"the body has more than {limit:,} bytes", limit, "bytes", setting)
    return body


async def _read_rest(request: Request, first: bytes, limit: int) -> bytes:
    """Read what follows the first piece, up to the limit; the server drops the rest.

    What has arrived extends the time that is left, so that a large body may take long, and an unfinished one may not.
    """
    seconds: float = request.app.state.backend.limits.body_seconds
    end, whole, more = asyncio.get_running_loop().time() + seconds, bytearray(first), True
    try:
        async with asyncio.timeout_at(end) as timeout:
            while more and len(whole) <= limit:
                timeout.reschedule(end + len(whole) / MIN_BYTES_PER_SECOND)
                piece, more = await next_piece(request)
                whole += piece
    except TimeoutError:
        raise TooSlow.whole(len(whole), seconds + len(whole) / MIN_BYTES_PER_SECOND) from None
    return bytes(whole)


async def _receive_in_time(request: Request) -> Message:
    seconds: float = request.app.state.backend.limits.body_idle_seconds
    try:
        async with asyncio.timeout(seconds):
            return await request.receive()
    except TimeoutError:
        raise TooSlow.idle(seconds) from None


def _refuse_encodings(headers: dict[bytes, bytes]) -> None:
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding != b"identity":
        raise WrongContentType(f"compressed ({encoding.decode('latin-1')})", "uncompressed bodies only", "the body")
    transfer = headers.get(b"transfer-encoding", b"chunked")
    if transfer.lower() != b"chunked":  # the parser undoes the last coding only, and there may be others before it
        raise WrongContentType(f"sent as {transfer.decode('latin-1')}", "plain or chunked bodies only", "the body")
