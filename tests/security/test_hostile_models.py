"""A real service refuses damaged and crafted model files."""

import time
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from app.learning.replay import replay
from app.learning.state import TenantState
from tests.learning.logs import random_log
from tests.security.forged_models import Pieces, build_model, exercise, split_model, with_all_weights, with_header
from tests.security.raw_http import BINARY_TYPE, Response, assert_refused, post, send
from tests.services import Service

pytestmark = pytest.mark.timeout(120)
SECONDS = 5.0
MEMORY_BYTES = 1 << 30
STEP, SCALE, FEATURES, DROPPED, BITS = 0, 4, 8, 9, 10  # places in the tally

Change = Callable[[dict[str, Any], Pieces], None]


def valid_state(algorithm: str = "cs-ssol") -> TenantState:
    return replay(random_log(3, algorithm, length=40, restless=False))


def import_model(service: Service, data: bytes) -> Response:
    begin, before = time.monotonic(), memory_of(service)
    answer = send(service.port, post("/tenants/forged/import?replace=true", data, BINARY_TYPE))
    assert time.monotonic() - begin < SECONDS
    assert memory_of(service) - before < MEMORY_BYTES
    return answer


def memory_of(service: Service) -> int:
    """The peak memory of the service."""
    with open(f"/proc/{service.pid}/status", encoding="ascii") as status:  # noqa: PTH123 - not a file of the project
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def test_a_valid_model_is_imported(service: Service, port: int) -> None:
    assert port
    assert import_model(service, build_model(*split_model(valid_state()))).status == httpx.codes.OK


@pytest.mark.parametrize("part", range(20))
def test_a_truncated_model_is_refused(service: Service, port: int, part: int) -> None:
    assert port
    whole = build_model(*split_model(valid_state()))
    assert_refused(import_model(service, whole[: len(whole) * part // 20]), 422)


@pytest.mark.parametrize("part", range(20))
def test_a_model_with_a_flipped_bit_is_refused(service: Service, port: int, part: int) -> None:
    assert port
    whole = bytearray(build_model(*split_model(valid_state())))
    whole[(len(whole) - 1) * part // 19] ^= 1 << part % 8
    assert_refused(import_model(service, bytes(whole)), 422)


HEADERS = {
    "nothing": b"",
    "nesting": b'{"format":2,"x":' + 100_000 * b"[" + 100_000 * b"]" + b"}",
    "an open nesting": 100_000 * b'{"x":',
    "invalid UTF-8": b'{"format":2,"digest":"\xff"}',
    "a raw surrogate": b'{"format":2,"digest":"\xed\xa0\x80"}',
    "NaN": b'{"format":2,"tally":[NaN]}',
    "a number beyond floats": b'{"format":2,"tally":[1e999]}',
    "a pickle": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00K\x01.",
    "another format": b'{"format":-1}',
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_an_invalid_header_is_refused(service: Service, port: int, header: bytes) -> None:
    assert port
    assert_refused(import_model(service, with_header(header)), 422)


@pytest.mark.parametrize("size", [2**63, 2**64 - 1, 10**9])
def test_a_header_with_a_huge_size_is_refused(service: Service, port: int, size: int) -> None:
    assert port
    assert_refused(import_model(service, b"sluice model\n" + size.to_bytes(8, "little") + 100 * b"x"), 422)


def in_tally(place: int, value: float) -> Change:
    def change(header: dict[str, Any], _: Pieces) -> None:
        header["tally"][place] = value

    return change


def in_header(**changes: Any) -> Change:  # noqa: ANN401 - any JSON value
    def change(header: dict[str, Any], _: Pieces) -> None:
        header.update(changes)

    return change


def empty_but_huge(header: dict[str, Any], pieces: Pieces) -> None:
    header["tally"][FEATURES], header["tally"][BITS] = 0.0, 32.0
    pieces[:] = [piece for piece in pieces if piece[0] != "rows"]


def wide_matrix(header: dict[str, Any], pieces: Pieces) -> None:
    header["config"] = {"algorithm": "ssol-full"}
    header["tally"][FEATURES], header["dense"] = 0.0, 16_384
    pieces[:] = [("dense", number, b"") for number in range(16_385)]


def repeated_chunk(_: dict[str, Any], pieces: Pieces) -> None:
    pieces += 5 * pieces[:1]


def row_with(place: int, bits: int) -> Change:
    def change(_: dict[str, Any], pieces: Pieces) -> None:
        kind, index, data = pieces[0]
        numbers = np.frombuffer(data, np.uint64).copy()
        numbers[place] = bits
        pieces[0] = (kind, index, numbers.tobytes())

    return change


def swapped_rows(_: dict[str, Any], pieces: Pieces) -> None:
    kind, index, data = pieces[0]
    pieces[0] = (kind, index, data[24:48] + data[:24] + data[48:])


def false_ring(header: dict[str, Any], _: Pieces) -> None:
    header["ring"] = msgspec.to_builtins(b"\xff" * 1000)


NAN, INFINITE = 0x7FF8000000000000, 0x7FF0000000000000
CRAFTED: dict[str, Change] = {
    "a table far larger than its rows": in_tally(BITS, 20.0),
    "an empty table of 100 GB": empty_but_huge,
    "a table smaller than its rows": in_tally(BITS, 6.0),
    "a table of no size": in_tally(BITS, -1.0),
    "a table of half a bit": in_tally(BITS, 6.5),
    "more features than rows": in_tally(FEATURES, 1e6),
    "negative steps": in_tally(STEP, -1.0),
    "endless steps": in_tally(STEP, 1e300),
    "no scale": in_tally(SCALE, 0.0),
    "a negative scale": in_tally(SCALE, -1.0),
    "an endless count": in_tally(DROPPED, 1e300),
    "a short tally": in_header(tally=[0.0]),
    "a matrix of 65 TB": in_header(dense=3_000_000),
    "a matrix of 80 GB": in_header(dense=100_000),
    "a negative matrix": in_header(dense=-1),
    "a matrix where there is none": in_header(dense=16),
    "lines of no length": wide_matrix,
    "a chunk many times": repeated_chunk,
    "key 0": row_with(0, 0),
    "a weight that is not a number": row_with(1, NAN),
    "an endless weight": row_with(1, INFINITE),
    "rows out of order": swapped_rows,
    "a row twice": row_with(3, 2**64 - 1),
    "unknown cells": false_ring,
    "a short ring": in_header(ring="AAAA"),
    "negative counts": in_header(counts=[[-1, 0, 5, -3], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "counts that contradict each other": in_header(counts=[[0, 0, 0, 0], [9, 9, 9, 9], [0, 0, 0, 0]]),
    "endless counts": in_header(counts=[[1e300, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "negative verdicts": in_header(served=[-1, 0, 0, 0]),
    "an endless version": in_header(version=2**63),
    "a version beyond all numbers": in_header(version=10**40),
    "a negative version": in_header(version=-1),
    "another algorithm": in_header(config={"algorithm": "cs-ssol-full"}),
    "an algorithm with wider rows": in_header(config={"algorithm": "ada-fobos"}),
    "no algorithm": in_header(config={"algorithm": "../../os"}),
    "detectors beyond their rows": in_header(drift=[[2**62] * 230] * 2),
    "detectors that are too short": in_header(drift=[[0] * 229] * 2),
}


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED)
def test_a_crafted_model_is_refused(service: Service, port: int, change: Change) -> None:
    assert port
    header, pieces = split_model(valid_state())
    change(header, pieces)
    assert_refused(import_model(service, build_model(header, pieces)), 422)


@pytest.mark.parametrize("algorithm", ["cs-ssol", "cs-ssol-full", "ftrl", "fobos"])
@pytest.mark.parametrize("weight", [1e308, -1e308, 5e-324, 0.0])
def test_a_model_with_extreme_weights_can_be_used(service: Service, port: int, algorithm: str, weight: float) -> None:
    assert import_model(service, with_all_weights(valid_state(algorithm), weight)).status == httpx.codes.OK
    body = b'{"tenant":"forged","features":{"f1":1,"f2":2,"new":3}%b}'
    for route, more in (("/predict", b',"explain":5'), ("/feedback", b',"label":1'), ("/predict", b"")):
        assert send(port, post(route, body % more)).status == httpx.codes.OK
    assert service.tenant("forged")["features"] > 0


def test_the_exercise_of_crafted_models_works_with_a_valid_one() -> None:
    exercise(valid_state())
