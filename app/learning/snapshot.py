"""A tenant's state as bytes: versioned, checksummed, in chunks that are written again only when they changed.

A snapshot is a header (JSON: version, configuration, counts, and a list of chunks with their hashes) and the chunks.
Rows are cut by ranges of their keys, so a chunk's content does not depend on history, and a chunk whose hash stands
in an older header need not be written again. In a file the two follow each other: magic, length and hash of the
header, header, chunks.
"""

import hashlib
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from app.learning.errors import BadSetting, BadSnapshot
from app.learning.state import TenantState
from kernels import tally as place
from kernels.arrays import Floats

MAGIC = b"sluice model\n"
FORMAT = 1
ROWS_PER_CHUNK_BITS = 12  # some 4,096 home slots to a chunk
NAMES_PER_CHUNK = 4096
HASH_BYTES = 16


class Chunk(msgspec.Struct, frozen=True):
    """Where a chunk belongs, and what it must be."""

    kind: str
    index: int
    size: int
    hash: str


class Header(msgspec.Struct, frozen=True):
    """All of a state that is small, and what the rest consists of."""

    format: int
    version: int
    config: dict[str, int | float | str | bool | None]
    tally: list[float]
    counts: list[list[float]]
    ring: bytes
    dense: int
    digest: str
    chunks: list[Chunk]


def encode(state: TenantState) -> tuple[bytes, Callable[[Chunk], bytes]]:
    """Return the header, and a function that gives the bytes of each of its chunks.

    Both are of this moment: the state must not change until the chunks have been taken.
    """
    pieces = dict(_pieces(state))
    chunks = [Chunk(kind, index, len(data), _hash(data)) for (kind, index), data in pieces.items()]
    counts = state.prequential
    header = Header(
        format=FORMAT,
        version=state.version,
        config=dict(state.config.values),
        tally=state.model.tally.tolist(),
        counts=[counts.total.tolist(), counts.window.tolist(), counts.faded.tolist()],
        ring=counts.ring.tobytes(),
        dense=len(state.model.dense.T),
        digest=state.digest,
        chunks=chunks,
    )
    return msgspec.json.encode(header), lambda chunk: pieces[chunk.kind, chunk.index]


def changed(header: bytes, older: bytes) -> list[Chunk]:
    """The chunks that a store which holds the older snapshot does not have yet."""
    held = {chunk.hash for chunk in read_header(older).chunks}
    return [chunk for chunk in read_header(header).chunks if chunk.hash not in held]


def decode(header: bytes, chunk_bytes: Callable[[Chunk], bytes]) -> TenantState:
    """Rebuild the state; refuse anything that is not whole and sound."""
    read = read_header(header)
    pieces: dict[str, list[bytes]] = {"rows": [], "dense": [], "names": []}
    for chunk in read.chunks:
        data = chunk_bytes(chunk)
        if len(data) != chunk.size or _hash(data) != chunk.hash:
            raise BadSnapshot(f"chunk {chunk.kind}:{chunk.index} of the model is damaged")
        pieces.setdefault(chunk.kind, []).append(data)
    state = _rebuilt(read, pieces)
    if state.digest != read.digest:
        raise BadSnapshot("the model does not have the digest it was saved with")
    return state


def dump(state: TenantState) -> Iterator[bytes]:
    """The snapshot as the bytes of one file, piece by piece."""
    header, chunk_bytes = encode(state)
    yield MAGIC + len(header).to_bytes(8, "little") + bytes.fromhex(_hash(header)) + header
    for chunk in read_header(header).chunks:
        yield chunk_bytes(chunk)


def load(data: bytes) -> TenantState:
    """Rebuild a state from the bytes of one file."""
    if data[: len(MAGIC)] != MAGIC:
        raise BadSnapshot(f"this is not a Sluice model: {_looks_like(data)}")
    start = len(MAGIC) + 8 + HASH_BYTES
    size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    header = data[start : start + size]
    if len(header) < size:
        raise BadSnapshot(f"the model is cut off: its header should have {size:,} bytes, {len(header):,} are there")
    if _hash(header) != data[start - HASH_BYTES : start].hex():
        raise BadSnapshot("the header of the model is damaged: its checksum does not match")
    places = _places(read_header(header), start + size)
    total = max((stop for _, stop in places.values()), default=start + size)
    if len(data) != total:
        raise BadSnapshot(f"the model should have {total:,} bytes, but has {len(data):,}")
    return decode(header, lambda chunk: data[slice(*places[chunk.kind, chunk.index])])


def read_header(header: bytes) -> Header:
    """Decode a header, and refuse one of another format."""
    try:
        read = msgspec.json.decode(header, type=Header)
    except msgspec.MsgspecError as error:
        raise BadSnapshot(f"the header of the model cannot be read: {error}") from None
    if read.format != FORMAT:
        raise BadSnapshot(f"the model has format {read.format}; this version of Sluice reads format {FORMAT}")
    return read


def _pieces(state: TenantState) -> Iterator[tuple[tuple[str, int], bytes]]:
    yield from _row_pieces(state)
    used = state.model.features if state.model.dense.size else 0
    for index, line in enumerate(state.model.dense[: used + 1, :used] if used else ()):
        yield ("dense", index), line.tobytes()
    names = list(state.names)
    for index in range(0, len(names), NAMES_PER_CHUNK):
        yield ("names", index // NAMES_PER_CHUNK), msgspec.json.encode(names[index : index + NAMES_PER_CHUNK])


def _row_pieces(state: TenantState) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Rows by ranges of their keys, the largest first."""
    shift = 64 - max(int(state.model.tally[place.BITS]) - ROWS_PER_CHUNK_BITS, 0)
    current, held = 0, b""
    for rows in state.model.rows():
        keys = np.ascontiguousarray(rows[:, 0]).view(np.uint64)
        ranges = (~keys >> np.uint64(shift)).astype(np.int64) if shift < 64 else np.zeros(len(keys), np.int64)  # noqa: PLR2004
        cuts = np.flatnonzero(np.diff(ranges)) + 1
        for number, part in zip(ranges[np.r_[0, cuts]].tolist(), np.split(rows, cuts), strict=True):
            if number != current and held:
                yield ("rows", current), held
                held = b""
            current, held = number, held + part.tobytes()
    if held:
        yield ("rows", current), held


def _rebuilt(read: Header, pieces: dict[str, list[bytes]]) -> TenantState:
    try:
        state = TenantState(read.config)
        rows = np.frombuffer(b"".join(pieces["rows"])).reshape(-1, state.model.width)
        state.model.restore(np.array(read.tally), rows, _dense(read.dense, pieces["dense"]))
        counts = state.prequential
        counts.total[:], counts.window[:], counts.faded[:] = read.counts
        counts.ring[:] = np.frombuffer(read.ring, np.uint8)
        for data in pieces["names"]:
            state.names.remember(*zip(*msgspec.json.decode(data, type=list[tuple[int, str]]), strict=True))
    except (ValueError, TypeError, IndexError, BadSetting, msgspec.MsgspecError) as error:
        raise BadSnapshot(f"the model is sound, but this version of Sluice cannot use it: {error}") from None
    state.version = read.version
    return state


def _dense(size: int, lines: list[bytes]) -> Floats:
    if not size:
        return np.zeros((0, 0))
    dense = np.vstack([np.zeros(size), np.eye(size)])
    for index, line in enumerate(lines):
        dense[index, : len(line) // 8] = np.frombuffer(line)
    return dense


def _places(read: Header, start: int) -> dict[tuple[str, int], tuple[int, int]]:
    places = {}
    for chunk in read.chunks:
        places[chunk.kind, chunk.index] = (start, start + chunk.size)
        start += chunk.size
    return places


def _looks_like(data: bytes) -> str:
    kinds: dict[bytes, str] = {
        b"": "it is empty",
        b"\x1f\x8b": "it is compressed with gzip",
        b"\xfd7zXZ": "it is compressed with xz",
        b"BZh": "it is compressed with bzip2",
        b"PK": "it is a zip archive",
        b"\x80\x04": "it is a Python pickle, which Sluice never reads",
        b"{": "it looks like JSON",
    }
    for start, kind in kinds.items():
        if data == start or (start and data.startswith(start)):
            return kind
    return f"it begins with {data[:12]!r}"


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=HASH_BYTES).hexdigest()
