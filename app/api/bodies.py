"""Reading what a request carries, up to a limit, and decoding it."""

import re
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from starlette.requests import Request

from app.api.errors import BadInput, MalformedBody, TooLarge, WrongContentType
from app.api.limits import Limits
from app.api.waiting import piece_of

T = TypeVar("T")
ANY = b"*"
JSON_TYPE = re.compile(rb"(?i)application/(?:json|[a-z0-9.+-]+\+json)\s*(?:;\s*charset=\"?utf-?8\"?\s*)?").fullmatch
LINES_TYPE = re.compile(rb"(?i)application/x-ndjson\s*(?:;.*)?").fullmatch
MAIL_TYPE = re.compile(rb"(?i)message/rfc822\s*(?:;.*)?").fullmatch
BINARY_TYPE = re.compile(rb"(?i)application/octet-stream\s*(?:;.*)?").fullmatch
BODY_SETTING = "SLUICE_MAX_BODY_BYTES"
MAIL_SETTING = "SLUICE_MAX_MAIL_BYTES"
IMPORT_SETTING = "SLUICE_MAX_IMPORT_BYTES"


@dataclass(frozen=True, slots=True)
class Mail:
    """A body that is an e-mail as it was sent."""

    raw: bytes


async def read_json(request: Request, limit: int) -> bytes:
    """The body of a request that should be JSON."""
    headers = dict(request.scope["headers"])
    given = headers.get(b"content-type", b"application/json")
    if given != b"application/json" and not JSON_TYPE(given):
        raise WrongContentType(given.decode("latin-1"), "application/json")
    return await _read(request, headers, limit, BODY_SETTING)


async def read_input(request: Request, limits: Limits) -> bytes | Mail:
    """The body of a request that should be JSON, or else a mail, whose fields stand in the query."""
    headers = dict(request.scope["headers"])
    given = headers.get(b"content-type", b"application/json")
    if given == b"application/json" or JSON_TYPE(given):
        if request.scope["query_string"]:  # whoever asks for something there must not believe that it was heard
            raise BadInput("there is a query, which is for message/rfc822; what JSON says stands in its fields")
        return await _read(request, headers, limits.max_body_bytes, BODY_SETTING)
    if MAIL_TYPE(given):
        return Mail(await _read(request, headers, limits.max_mail_bytes, MAIL_SETTING))
    raise WrongContentType(given.decode("latin-1"), "application/json or message/rfc822")


async def read_binary(request: Request, limit: int) -> bytes:
    """The body of a request that should be a file."""
    headers = dict(request.scope["headers"])
    given = headers.get(b"content-type", b"application/octet-stream")
    if not BINARY_TYPE(given):
        raise WrongContentType(given.decode("latin-1"), "application/octet-stream")
    return await _read(request, headers, limit, IMPORT_SETTING)


def is_lines(request: Request) -> bool:
    """Whether the body is a line of JSON per item, in plain bytes."""
    headers = dict(request.scope["headers"])
    if not LINES_TYPE(headers.get(b"content-type", b"")):
        return False
    _refuse_compressed(headers)
    return True


def decoded(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw) -> T:
    """Decode JSON, with a sentence for whatever can be wrong with it."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise BadInput(str(error)) from None
    except msgspec.DecodeError as error:
        raise MalformedBody(str(error)) from None
    except UnicodeDecodeError as error:
        raise MalformedBody(f"text is not UTF-8: {error.reason}") from None
    except RecursionError:
        raise MalformedBody("the JSON is nested too deeply") from None


async def _read(request: Request, headers: dict[bytes, bytes], limit: int, setting: str) -> bytes:
    _refuse_compressed(headers)
    declared = headers.get(b"content-length")
    if declared is not None and int(declared) > limit:  # before a byte of it is taken
        raise TooLarge(f"the body has {int(declared):,} bytes", limit, "bytes", setting)
    body, more = await piece_of(request)
    return await _rest(request, bytearray(body), limit, setting) if more else _within(body, limit, setting)


async def _rest(request: Request, body: bytearray, limit: int, setting: str) -> bytes:
    more = True
    while more:
        _within(body, limit, setting)  # what still comes is dropped by the server, not kept
        piece, more = await piece_of(request)
        body += piece
    return bytes(_within(body, limit, setting))


B = TypeVar("B", bytes, bytearray)


def _within(body: B, limit: int, setting: str) -> B:
    if len(body) > limit:
        raise TooLarge(f"the body has more than {limit:,} bytes", limit, "bytes", setting)
    return body


def _refuse_compressed(headers: dict[bytes, bytes]) -> None:
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding != b"identity":
        raise WrongContentType(f"compressed ({encoding.decode('latin-1')})", "it uncompressed")
    transfer = headers.get(b"transfer-encoding", b"chunked")
    if transfer.lower() != b"chunked":  # the parser sees to the last coding only, and there may be others before it
        raise WrongContentType(f"sent as {transfer.decode('latin-1')}", "it plain or chunked")
