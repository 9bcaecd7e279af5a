"""Nearly valid inputs: valid ones with a few edits, which reach deeper into a parser than random bytes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hypothesis import strategies as st

MOST_EDITS = 6
LONGEST = 1 << 18  # bytes that an edit may repeat: enough for any depth
ODD = [
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\r", b"\t", b" ", b"", b"\\u0000", b"\\ud800",
    b"\\", b'"', b"'", b"{", b"}", b"[", b"]", b":", b",", b"-0", b"NaN", b"Infinity", b"1e999", b"-1e-999", b"1e100",
    b"1.1e100", b"9" * 400, b"0.1", b"null", b"true", b"false", b"|", b"#", b"=", b";", b"%00", b"%", b"--", b"<", b"&",
    b"../", b',"x":[', b',"x":{"x":',
]  # fmt: skip


class Edit(NamedTuple):
    """A change at a place of the input, given as a share of its length."""

    kind: str
    place: float
    size: int
    put: bytes


@st.composite
def mutated(draw: st.DrawFn, samples: Sequence[bytes], words: Sequence[bytes] = ()) -> bytes:
    """One of the samples with some edits; `words` are tokens of the format."""
    data = draw(st.sampled_from(samples))
    put = st.one_of(st.sampled_from([*words, *ODD]), st.binary(max_size=8))
    edits = st.builds(
        Edit,
        kind=st.sampled_from(["insert", "insert", "replace", "delete", "flip", "repeat", "cut", "copy"]),
        place=st.floats(0.0, 1.0),
        size=st.one_of(st.integers(0, 20), st.integers(0, 20_000)),
        put=put,
    )
    for edit in draw(st.lists(edits, max_size=MOST_EDITS)):
        data = edited(data, edit)
    return data


def anything(samples: Sequence[bytes], words: Sequence[bytes] = ()) -> st.SearchStrategy[bytes]:
    """Mostly nearly valid inputs, sometimes random bytes."""
    return st.one_of(mutated(samples, words), mutated(samples, words), st.binary(max_size=200))


def edited(data: bytes, edit: Edit) -> bytes:
    at = int(edit.place * len(data))
    until = at + edit.size
    changes: dict[str, Callable[[], bytes]] = {
        "insert": lambda: edit.put + data[at:],
        "replace": lambda: edit.put + data[until:],
        "delete": lambda: data[until:],
        "flip": lambda: bytes(byte ^ 1 << edit.size % 8 for byte in data[at : at + 1]) + data[at + 1 :],
        "repeat": lambda: (edit.put * edit.size)[:LONGEST] + data[at:],
        "copy": lambda: data[at:until] + data[at:],
        "cut": lambda: b"",
    }
    return data[:at] + changes[edit.kind]()
