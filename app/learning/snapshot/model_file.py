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

from app.learning.drift import detectors_of, told
from app.learning.errors import BadSetting, BadSnapshot, ModelNotFinite
from app.learning.prequential import MOST_COUNTED
from app.learning.snapshot.chunks import (
    DENSE,
    NAMES,
    ROWS,
    Data,
    dense_chunks,
    dense_of,
    name_chunks,
    names_of,
    row_chunks,
)
from app.learning.snapshot.frozen import Frozen, freeze
from app.learning.state import TenantState

MAGIC = b"sluice model\n"
FORMAT = 2
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
    served: list[int]
    ring: bytes
    dense: int
    digest: str
    extra: dict[str, str]
    chunks: list[Chunk]
    drift: list[list[int]] = []  # not there in snapshots from before there were detectors


def encode(frozen: Frozen) -> tuple[bytes, Callable[[Chunk], Data]]:
    """Return the header, and a function that gives the bytes of each of its chunks.

    It takes a while, mostly without the GIL, so it may run in a thread. ModelNotFinite if nobody could read it again.
    """
    if not frozen.is_finite:
        raise ModelNotFinite
    pieces, chunks, counts = {}, [], frozen.counts
    for kind, index, data in _pieces(frozen):
        pieces[kind, index] = data
        chunks.append(Chunk(kind, index, len(data), _hash(data)))  # which lets go of the GIL after every chunk
    header = Header(
        format=FORMAT,
        version=frozen.version,
        config=frozen.config.told,
        tally=frozen.tally.tolist(),
        counts=[counts.total.tolist(), counts.window.tolist(), counts.faded.tolist()],
        served=counts.answers.tolist(),
        ring=counts.ring.tobytes(),
        dense=frozen.dense_size,
        digest=frozen.digest,
        extra=dict(frozen.extra),
        chunks=chunks,
        drift=told(counts.detectors),
    )
    return msgspec.json.encode(header), lambda chunk: pieces[chunk.kind, chunk.index]


def changed(header: bytes, older: bytes) -> list[Chunk]:
    """The chunks that a store which holds the older snapshot does not have yet."""
    held = {chunk.hash for chunk in read_header(older).chunks}
    return [chunk for chunk in read_header(header).chunks if chunk.hash not in held]


def decode(header: bytes, chunk_bytes: Callable[[Chunk], Data]) -> TenantState:
    """Rebuild the state; refuse anything that is not whole and sound."""
    read = read_header(header)
    pieces: dict[str, list[Data]] = {ROWS: [], DENSE: [], NAMES: []}
    for chunk in read.chunks:
        data = chunk_bytes(chunk)
        if len(data) != chunk.size or _hash(data) != chunk.hash:
            raise BadSnapshot(f"chunk {chunk.kind}:{chunk.index} of the model is damaged")
        pieces.setdefault(chunk.kind, []).append(data)
    state = _rebuilt(read, pieces)
    if state.digest != read.digest:
        raise BadSnapshot("the model does not have the digest it was saved with")
    return state


def dump(state: TenantState) -> Iterator[Data]:
    """The snapshot of a state as the bytes of one file, piece by piece."""
    return file_of(*encode(freeze(state)))


def file_of(header: bytes, chunk_bytes: Callable[[Chunk], Data]) -> Iterator[Data]:
    """A snapshot as the bytes of one file, piece by piece."""
    yield MAGIC + len(header).to_bytes(8, "little") + bytes.fromhex(_hash(header)) + header
    for chunk in read_header(header).chunks:
        yield chunk_bytes(chunk)


def load(data: bytes) -> TenantState:
    """Rebuild a state from the bytes of one file."""
    return decode(*parts_of(data))


def parts_of(data: bytes) -> tuple[bytes, Callable[[Chunk], Data]]:
    """The header and the chunks of a snapshot in one file."""
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
    view = memoryview(data)
    return header, lambda chunk: view[slice(*places[chunk.kind, chunk.index])]


def read_header(header: bytes) -> Header:
    """Decode a header, and refuse one of another format."""
    try:
        read = msgspec.json.decode(header, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadSnapshot(f"the header of the model cannot be read: {error}") from None
    if read.format != FORMAT:
        raise BadSnapshot(f"the model has format {read.format}; this version of Sluice reads format {FORMAT}")
    if len({(chunk.kind, chunk.index) for chunk in read.chunks}) < len(read.chunks):
        raise BadSnapshot("the model names a chunk twice")  # a short file could become a long one in memory
    return read


def _pieces(frozen: Frozen) -> Iterator[tuple[str, int, Data]]:
    yield from ((ROWS, index, data) for index, data in row_chunks(frozen.rows))
    yield from ((DENSE, index, data) for index, data in dense_chunks(frozen.dense))
    yield from ((NAMES, index, data) for index, data in name_chunks(frozen.names))


def _rebuilt(read: Header, pieces: dict[str, list[Data]]) -> TenantState:
    try:
        state = TenantState(read.config)
        rows = np.frombuffer(bytearray().join(pieces[ROWS])).reshape(-1, state.model.width)
        state.model.restore(np.array(read.tally), rows, dense_of(read.dense, pieces[DENSE]))
        state.prequential.restore(read.counts, read.served, read.ring)
        state.prequential.detectors[:] = detectors_of(read.drift)
        state.names.take_over(names_of(pieces[NAMES]))
        state.version = _counted(read.version)
    except (ValueError, TypeError, IndexError, OverflowError, BadSetting) as error:
        raise BadSnapshot(f"the model is sound, but this version of Sluice cannot use it: {error}") from None
    return state


def _counted(version: int) -> int:
    if not 0 <= version <= MOST_COUNTED:
        raise ValueError("so many events cannot have happened")
    return version


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


def _hash(data: Data) -> str:
    return hashlib.blake2b(data, digest_size=HASH_BYTES).hexdigest()
