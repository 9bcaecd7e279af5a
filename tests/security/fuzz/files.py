"""Fuzzers for files and streams: datasets, raw inputs, model files, the log."""

from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st

from app.datasets.batch import Batch
from app.datasets.blocks import Block
from app.datasets.errors import LineErrors
from app.datasets.formats import Format
from app.datasets.reader import NUMBERS, RAW
from app.features.featurizer import NEWEST, Kind, features_of
from app.learning.errors import BadSnapshot
from app.learning.events import FeedbackGiven
from app.learning.example import example_of
from app.learning.replay import advance_all, replay
from app.learning.snapshot.model_file import load
from app.learning.state import TenantState
from app.storage.event_codec import ConfigRecord, FeedbackRecord, RemovalRecord, decode, encode
from kernels.examples.canonical import LARGEST_VALUE
from kernels.registry import ALGORITHMS
from tests.learning.logs import random_log
from tests.security.forged_models import Pieces, build_model, exercise, split_model
from tests.security.fuzz.mutations import Edit, anything, edited

SVM = [b"+1 3:0.5 17:1 # comment\n-1 1:1e-3\n0 2:123456789.123456789e-20\n", b"1\n-1 1:1 1:2\n"]
VW = [b"1 'tag|ns a:0.5 b |other:2 c\n-1 | a b:1e3\n0 1 |x y\n", b"1 |\n"]
JSONL = [b'{"label": 1, "features": {"a": 1}}\n{"label": -1, "url": "http://a.b"}\n', b'{"label":0,"text":"x"}\n']
TSV = [b"0\t1\thttp://a.b/\n\t-1\thttp://c.d/e?f=g\n"]
TEXTS = [b"spam\tWIN a prize\nham\thi\tthere\n1\tx\n"]
URLS = [
    b"http://user:pw@www.example.co.uk:8080/a/b.php?c=d&e=%20#f",
    b"https://192.168.0.1/%41?x",
    "http://bücher.example/ü".encode(),
]
MAIL = b"""\
From: "A" <a@example.org>
To: b@example.com
Subject: =?utf-8?q?gr=C3=BC?=
Date: Thu, 1 Jan 1970 00:00:00 +0000
Received: from a (b [1.2.3.4]) by c with d; x
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<a href=3D"http://x">y</a>
--b
Content-Type: application/pdf; name=x.pdf.exe
Content-Transfer-Encoding: base64

AAAA
--b--
"""
MAILS = [MAIL, MAIL.replace(b"\n", b"\r\n")]
MAIL_WORDS = [
    b"--b\n",
    b"Content-Type: ",
    b"multipart/mixed; boundary=",
    b"message/rfc822\n\n",
    b"charset=",
    b"=?",
    b"?=",
]
RECORDS = [
    encode(FeedbackRecord(1, 1, np.array([1, 2], np.uint64).tobytes(), b"", ("a", "b"), 1, 0.5, "f", "m", "p", 2)),
    encode(FeedbackRecord(1, -1, np.array([7], np.uint64).tobytes(), np.array([0.1]).tobytes())),
    encode(ConfigRecord(1, {"eta": 0.5, "algorithm": "cs-fsol"})),
    encode(RemovalRecord(1, 0.1, 2.0)),
]


def dataset() -> st.SearchStrategy[tuple[Format, bytes]]:
    kinds: dict[Format, list[bytes]] = {"libsvm": SVM, "vw": VW, "jsonl": JSONL, "urls": TSV, "texts": TEXTS}
    return st.one_of(*(st.tuples(st.just(kind), anything(samples)) for kind, samples in kinds.items()))


def read_dataset(sent: tuple[Format, bytes]) -> None:
    """Examples that are read can be learnt; malformed lines are reported with their number."""
    kind, text = sent
    reported: list[tuple[int, str]] = []
    batch = _batch(
        kind, Block(text + b"\n", 1), LineErrors("fuzz", "skip", lambda line, reason: reported.append((line, reason)))
    )
    assert batch.starts[0] == 0
    assert (np.diff(batch.starts) >= 0).all()
    assert batch.starts[-1] == batch.keys.size == batch.values.size
    assert (np.abs(batch.values) <= LARGEST_VALUE).all()
    assert np.isin(batch.labels, (1.0, -1.0)).all()
    assert all(1 <= line <= text.count(b"\n") + 1 and reason for line, reason in reported)
    assert all(isinstance(batch.name_at(place), str) for place in range(min(batch.keys.size, 50)))
    TenantState().learn_batch(batch.starts, batch.keys, batch.values, batch.labels)


def _batch(kind: Format, block: Block, faults: LineErrors) -> Batch:
    return NUMBERS[kind](block, faults) if kind in NUMBERS else RAW[kind](block, faults, NEWEST)


def raw() -> st.SearchStrategy[tuple[Kind, bytes | str]]:
    kinds: list[tuple[Kind, list[bytes], list[bytes]]] = [
        ("url", URLS, [b"http://", b".com", b"@", b"?", b"[::1]", b"%41"]),
        ("text", [b"WIN a prize now! http://x.y $100", "grüße 你好".encode()], [b"\xe2\x80\xae", b"\xf0\x9f\x98\x80"]),
        ("email", MAILS, MAIL_WORDS),
    ]
    return st.one_of(
        *(st.tuples(st.just(kind), anything(samples, words)) for kind, samples, words in kinds),
        st.tuples(st.sampled_from(["url", "text", "email"]), st.text(max_size=100)),
    )


def featurize(sent: tuple[Kind, bytes | str]) -> None:
    """Every input has features, the same every time, each with a unique name."""
    kind, given = sent
    found = features_of(kind, given)
    names = list(found.example.names)
    values = dict(zip(names, found.example.values.tolist(), strict=True))
    assert len(values) == found.example.keys.size
    assert example_of(values).keys.tobytes() == found.example.keys.tobytes()
    assert features_of(kind, given).example.keys.tobytes() == found.example.keys.tobytes()


def record() -> st.SearchStrategy[bytes]:
    word, numbers = (
        st.one_of(st.none(), st.text(max_size=5)),
        st.one_of(st.sampled_from([1, -1, 0]), st.integers(-(2**63), 2**64 - 1)),
    )
    keys = st.lists(st.integers(0, 2**64 - 1), max_size=4).map(lambda keys: np.array(keys, np.uint64).tobytes())
    values = st.one_of(st.just(b""), st.lists(st.floats(), max_size=4).map(lambda values: np.array(values).tobytes()))
    names = st.lists(st.text(max_size=5), max_size=4)
    feedback = st.builds(
        FeedbackRecord, numbers, numbers, keys, values, names, numbers, st.floats(), word, word, word
    ).map(encode)
    return st.one_of(_damaged_record(), feedback)


def _damaged_record() -> st.SearchStrategy[bytes]:
    return anything(
        RECORDS, [b"\x91", b"\x81", b"\xc4\x08", b"\xcb", b"\xcf", b"\xdd\xff\xff\xff\xff", b"\xa8feedback"]
    )


def decode_record(payload: bytes) -> None:
    """An invalid record is refused with an error that the reader of a log expects; a valid event can be applied."""
    try:
        event = decode(payload)
    except (msgspec.MsgspecError, ValueError):
        return
    state = TenantState()
    advance_all(state, [event, FeedbackGiven(example_of({"a": 1.0}), 1)])
    assert state.version == 2


@lru_cache
def _parts(algorithm: str) -> tuple[bytes, bytes, Pieces]:
    """A valid model file, and its parts."""
    header, pieces = split_model(replay(random_log(7, algorithm, length=12, restless=False)))
    return build_model(header, pieces), msgspec.json.encode(header), pieces


def model() -> st.SearchStrategy[tuple[str, Any]]:
    edits = st.lists(
        st.builds(
            Edit,
            kind=st.sampled_from(["insert", "replace", "replace", "delete", "flip", "flip", "flip", "copy", "cut"]),
            place=st.floats(0.0, 1.0),
            size=st.integers(0, 64),
            put=st.one_of(
                st.binary(max_size=24), st.sampled_from([b"\0" * 8, b"\xff" * 8, b"0", b"-1", b"1e308", b"9" * 20])
            ),
        ),
        min_size=1,
        max_size=3,
    )
    numbers = st.one_of(
        st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 40)
    )
    changes = st.tuples(
        st.sampled_from(["tally", "counts", "served", "drift", "dense", "version", "config"]), st.floats(0, 1), numbers
    )
    return st.tuples(
        st.sampled_from(list(ALGORITHMS)),
        st.one_of(
            st.tuples(st.just("file"), edits),
            st.tuples(st.just("chunk"), edits),
            st.tuples(st.just("header"), st.lists(changes, min_size=1, max_size=3)),
        ),
    )


def load_model(sent: tuple[str, tuple[str, Any]]) -> None:
    """A model is refused, or works in every way."""
    algorithm, (where, changes) = sent
    try:
        state = load(_changed(*_parts(algorithm), where, changes))
    except BadSnapshot:
        return
    exercise(state)


def _changed(whole: bytes, header: bytes, pieces: Pieces, where: str, changes: Any) -> bytes:  # noqa: ANN401 - by `where`
    if where == "file":
        for edit in changes:
            whole = edited(whole, edit)
        return whole
    plain = msgspec.json.decode(header)
    changed = list(pieces)
    for change in changes:
        if where == "chunk":
            at = int(change.place * (len(changed) - 1))
            changed[at] = (*changed[at][:2], edited(changed[at][2], change))
        else:
            _put(plain, *change)
    return build_model(plain, changed)


def _put(header: dict[str, Any], field: str, place: float, value: float) -> None:
    """Put a number at a place of a field."""
    there = header[field]
    if isinstance(there, dict):
        there[list(there)[int(place * (len(there) - 1))]] = value
        return
    while isinstance(there, list) and there:
        at = int(place * (len(there) - 1))
        if not isinstance(there[at], list):
            there[at] = value
            return
        there, place = there[at], place * len(there) % 1.0
    if not isinstance(there, list):
        header[field] = value
