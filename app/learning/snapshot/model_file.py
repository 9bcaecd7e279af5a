"""A tenant's state as bytes: versioned, checksummed, in chunks that are written again only if they changed.

A snapshot is a header (JSON: version, configuration, counts, and a list of chunks with their hashes) and the chunks.
Rows are split by ranges of their keys, so the content of a chunk does not depend on history, and a chunk whose hash is
in an older header need not be written again. A model file is: magic, length and hash of the header, header, chunks.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from app.learning.drift import decode_detectors, encode_detectors
from app.learning.errors import BadSetting, BadSnapshot, ModelNotFinite
from app.learning.parts.numbers import WIDTH
from app.learning.prequential import MOST_COUNTED
from app.learning.snapshot.chunks import (
    DENSE,
    HONEST,
    LOG,
    NAMES,
    NUMBERS,
    ROWS,
    Data,
    decode_dense,
    decode_names,
    dense_chunks,
    name_chunks,
    row_chunks,
)
from app.learning.snapshot.evaluation import decode_histograms, decode_honest, encode_honest
from app.learning.snapshot.state_copy import StateCopy, copy_state
from app.learning.state import TenantState

MAGIC = b"sluice model\n"
FORMAT = 2
HASH_BYTES = 16
LONGEST_VERSION = 16  # digits


class Chunk(msgspec.Struct, frozen=True):
    """The place, size and hash of a chunk."""

    kind: str
    index: int
    size: int
    hash: str


class Header(msgspec.Struct, frozen=True):
    """The small parts of a state, and the list of chunks."""

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
    drift: list[list[int]] = []  # absent in snapshots from before there were detectors
    calibration: bytes = b""  # only with an objective
    number_bits: int = 0  # of the table of statistics; 0 if numbers are not encoded


def encode(copy: StateCopy) -> tuple[bytes, Callable[[Chunk], Data]]:
    """Return the header, and a function that returns the bytes of each of its chunks.

    Slow, but mostly without the GIL, so it may run in a thread. ModelNotFinite if it could not be loaded again.
    """
    if not copy.is_finite:
        raise ModelNotFinite
    pieces, chunks, counts = {}, [], copy.counts
    for kind, index, data in _pieces(copy):
        pieces[kind, index] = data
        chunks.append(Chunk(kind, index, len(data), _hash(data)))  # hashing releases the GIL for every chunk
    header = Header(
        format=FORMAT,
        version=copy.version,
        config=copy.config.stored,
        tally=copy.tally.tolist(),
        counts=[counts.total.tolist(), counts.window.tolist(), counts.faded.tolist()],
        served=counts.answers.tolist(),
        ring=counts.ring.tobytes(),
        dense=copy.dense_size,
        digest=copy.digest,
        extra=dict(copy.extra),
        chunks=chunks,
        drift=encode_detectors(counts.detectors),
        calibration=b"" if counts.histograms is None else counts.histograms.tobytes(),
        number_bits=copy.number_bits,
    )
    return msgspec.json.encode(header), lambda chunk: pieces[chunk.kind, chunk.index]


def changed_chunks(header: bytes, older: bytes) -> list[Chunk]:
    """Return the chunks that are not in the older snapshot."""
    held = {chunk.hash for chunk in read_header(older).chunks}
    return [chunk for chunk in read_header(header).chunks if chunk.hash not in held]


def decode(header: bytes, chunk_bytes: Callable[[Chunk], Data]) -> TenantState:
    """Rebuild the state; BadSnapshot if anything is missing or damaged."""
    parsed = read_header(header)
    pieces: dict[str, list[Data]] = {ROWS: [], DENSE: [], NAMES: [], NUMBERS: [], HONEST: []}
    for chunk in parsed.chunks:
        data = chunk_bytes(chunk)
        if len(data) != chunk.size or _hash(data) != chunk.hash:
            raise BadSnapshot(f"chunk {chunk.kind}:{chunk.index} of the model is damaged")
        pieces.setdefault(chunk.kind, []).append(data)
    state = _rebuild(parsed, pieces)
    if state.digest != parsed.digest:
        raise BadSnapshot("the digest of the model does not match the one it was saved with")
    return state


def dump(state: TenantState) -> Iterator[Data]:
    """Yield the model file of a state, piece by piece."""
    return join_file(*encode(copy_state(state)))


def join_file(header: bytes, chunk_bytes: Callable[[Chunk], Data]) -> Iterator[Data]:
    """Yield a snapshot as one model file, piece by piece."""
    yield MAGIC + len(header).to_bytes(8, "little") + bytes.fromhex(_hash(header)) + header
    for chunk in read_header(header).chunks:
        yield chunk_bytes(chunk)


def load(data: bytes) -> TenantState:
    """Rebuild a state from a model file."""
    return decode(*split_file(data))


def split_file(data: bytes) -> tuple[bytes, Callable[[Chunk], Data]]:
    """Return the header of a model file, and a function that returns the bytes of each chunk."""
    if data[: len(MAGIC)] != MAGIC:
        raise BadSnapshot(f"the file is not a Sluice model: {_describe(data)}")
    start = len(MAGIC) + 8 + HASH_BYTES
    size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    header = data[start : start + size]
    if len(header) < size:
        raise BadSnapshot(f"the model is truncated: its header should have {size:,} bytes, but has {len(header):,}")
    if _hash(header) != data[start - HASH_BYTES : start].hex():
        raise BadSnapshot("the header of the model is damaged: its checksum does not match")
    offsets = _offsets(read_header(header), start + size)
    total = max((stop for _, stop in offsets.values()), default=start + size)
    if len(data) != total:
        raise BadSnapshot(f"the model should have {total:,} bytes, but has {len(data):,}")
    view = memoryview(data)
    return header, lambda chunk: view[slice(*offsets[chunk.kind, chunk.index])]


def read_header(header: bytes) -> Header:
    """Decode a header; BadSnapshot if it has another format."""
    try:
        parsed = msgspec.json.decode(header, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadSnapshot(f"the header of the model cannot be read: {error}") from None
    if parsed.format != FORMAT:
        raise BadSnapshot(f"the model has format {parsed.format}; this version of Sluice reads format {FORMAT}")
    if len({(chunk.kind, chunk.index) for chunk in parsed.chunks}) < len(parsed.chunks):
        raise BadSnapshot("the model lists a chunk twice")  # else a short file could take much memory
    return parsed


def with_log(header: bytes, first_version: int, portions: Sequence[bytes]) -> tuple[bytes, dict[Chunk, bytes]]:
    """Return a header that also lists portions of a log, and these portions as chunks; readers may ignore them."""
    parsed = read_header(header)
    added = {Chunk(LOG, index, len(data), _hash(data)): data for index, data in enumerate(portions)}
    extra = parsed.extra | {"log_starts": str(first_version)}
    return msgspec.json.encode(msgspec.structs.replace(parsed, extra=extra, chunks=[*parsed.chunks, *added])), added


def log_in(data: bytes) -> tuple[int, list[Data]] | None:
    """Return the first version of the log in a model file, and its portions; None if it has no log."""
    header, chunk_bytes = split_file(data)
    parsed = read_header(header)
    starts = parsed.extra.get("log_starts")
    if starts is None:
        return None
    if not (starts.isascii() and starts.isdigit() and len(starts) <= LONGEST_VERSION):
        raise BadSnapshot("the log in the file has no valid version")
    return int(starts), [chunk_bytes(chunk) for chunk in parsed.chunks if chunk.kind == LOG]


def with_extra(header: bytes, extra: dict[str, str]) -> bytes:
    """Return the header with other facts about where the state comes from."""
    return msgspec.json.encode(msgspec.structs.replace(read_header(header), extra=extra))


def _pieces(copy: StateCopy) -> Iterator[tuple[str, int, Data]]:
    yield from ((ROWS, index, data) for index, data in row_chunks(copy.rows))
    yield from ((DENSE, index, data) for index, data in dense_chunks(copy.dense))
    yield from ((NAMES, index, data) for index, data in name_chunks(copy.names))
    yield from ((NUMBERS, index, data) for index, data in row_chunks(copy.numbers))
    yield from ((HONEST, index, data) for index, data in enumerate(encode_honest(copy.counts.honest)))


def _rebuild(parsed: Header, pieces: dict[str, list[Data]]) -> TenantState:
    try:
        state = TenantState(parsed.config)
        rows = np.frombuffer(bytearray().join(pieces[ROWS])).reshape(-1, state.model.width)
        state.model.restore(np.array(parsed.tally), rows, decode_dense(parsed.dense, pieces[DENSE]))
        state.prequential.restore(parsed.counts, parsed.served, parsed.ring)
        state.prequential.detectors[:] = decode_detectors(parsed.drift)
        if state.config.is_calibrated:
            state.prequential.histograms = decode_histograms(parsed.calibration)
        decode_honest(state.prequential.honest, pieces[HONEST])
        state.use_threshold()
        state.names.restore(decode_names(pieces[NAMES]))
        if state.model.numbers is not None:
            statistics = np.frombuffer(bytearray().join(pieces[NUMBERS])).reshape(-1, WIDTH)
            state.model.numbers.restore(parsed.number_bits, statistics)
        state.version = _checked_version(parsed.version)
    except (ValueError, TypeError, IndexError, OverflowError, BadSetting) as error:
        raise BadSnapshot(f"the model is intact, but this version of Sluice cannot use it: {error}") from None
    return state


def _checked_version(version: int) -> int:
    if not 0 <= version <= MOST_COUNTED:
        raise ValueError("its version is out of range")
    return version


def _offsets(parsed: Header, start: int) -> dict[tuple[str, int], tuple[int, int]]:
    offsets = {}
    for chunk in parsed.chunks:
        offsets[chunk.kind, chunk.index] = (start, start + chunk.size)
        start += chunk.size
    return offsets


def _describe(data: bytes) -> str:
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
