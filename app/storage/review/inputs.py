"""Raw inputs of kept predictions in Redis: compressed, in a hash beside their block, by the offset of the prediction.

A block and its inputs are written, counted, dropped and deleted together, and expire together.
"""

import re
import zlib
from typing import NamedTuple

from app.storage.client.connection import Connection
from app.storage.redis_keys import keys_of

PREDICTION_ID = re.compile(r"([0-9a-f]{12}-[0-9]{1,15})-([0-9a-f]{1,8})-([0-9a-f]{1,8})")
ENTRY_BYTES = 80  # what an entry of a hash needs beside its value: it counts towards the limits
LEAST_TO_COMPRESS = 64  # bytes; shorter inputs hardly become smaller
LARGEST_INPUT = 1 << 30  # bytes; what would become larger was not written here
LEVEL = 6
KINDS = {"url": b"u", "email": b"e", "text": b"t"}
TEXT, BYTES = b"s", b"b"
PLAIN, COMPRESSED = b"p", b"z"
MARKS = 3  # bytes: the kind, text or bytes, compressed or not


class RawInput(NamedTuple):
    """What a client sent to be scored: a URL, an e-mail or a text."""

    kind: str
    raw: str | bytes


class InputStore:
    """The raw inputs that are kept; `app.storage.predictions` writes them with their block."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def read(self, tenant: str, prediction_id: str) -> RawInput | None:
        """Return the raw input of a prediction of this tenant; None if it is not kept."""
        if (match := PREDICTION_ID.fullmatch(prediction_id)) is None:
            return None
        found = await self._connection.ask("HGET", inputs_key(tenant, match[1]), field_of(int(match[2], 16)))
        return None if found is None else unpack_input(found)


def inputs_key(tenant: str, block: str) -> str:
    """Return the key of the inputs of a block; the scripts build the same name."""
    return f"{keys_of(tenant).pending}:{block}:inputs"


def field_of(start: int) -> bytes:
    """Return the field of the input of the prediction that begins at an offset."""
    return b"%x" % start


def pack_input(given: RawInput) -> bytes:
    """Return an input as it is stored."""
    is_text = isinstance(given.raw, str)
    raw = given.raw.encode("utf-8", "replace") if isinstance(given.raw, str) else given.raw
    packed = zlib.compress(raw, LEVEL) if len(raw) >= LEAST_TO_COMPRESS else raw
    is_smaller = len(packed) < len(raw)
    marks = KINDS[given.kind] + (TEXT if is_text else BYTES) + (COMPRESSED if is_smaller else PLAIN)
    return marks + (packed if is_smaller else raw)


def unpack_input(stored: bytes) -> RawInput | None:
    """Return a stored input; None if it is damaged, or of a later version."""
    kind = next((name for name, mark in KINDS.items() if stored[:1] == mark), None)
    raw: bytes | None = stored[MARKS:]
    if kind is None or stored[1:2] not in {TEXT, BYTES} or stored[2:3] not in {PLAIN, COMPRESSED}:
        return None
    if stored[2:3] == COMPRESSED:
        raw = _decompressed(stored[MARKS:])
    if raw is None:
        return None
    return RawInput(kind, raw.decode("utf-8", "replace") if stored[1:2] == TEXT else raw)


def _decompressed(packed: bytes) -> bytes | None:
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(packed, LARGEST_INPUT)
    except zlib.error:
        return None
    return raw if reader.eof else None
