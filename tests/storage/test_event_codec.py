import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.events import FeaturesRemoved, FeedbackGiven, ReplacedLabel, Served, TenantConfigured
from app.storage.event_codec import (
    ConfigRecord,
    FeedbackRecord,
    LongFeedbackRecord,
    RemovalRecord,
    RetractionRecord,
    decode,
    decode_record,
    encode,
    packed_values,
)

WHOLE = msgspec.msgpack.encode(["feedback", 1, 1, b"", b"", [], *9 * [None]])
NESTED = b"\xdc\x00\xff" + WHOLE[1:] + 100_000 * b"\x91"  # after the last field
values = st.lists(st.floats(-1e100, 1e100), max_size=20).map(np.array)


@given(values, st.sampled_from([1, -1]))
def test_feedback_round_trips_bit_for_bit(values: np.ndarray, label: int) -> None:
    keys = np.arange(1, values.size + 1, dtype=np.uint64)
    record = FeedbackRecord(5, label, keys.tobytes(), packed_values(values), served_label=-1, served_score=0.25)
    event = decode(encode(record))
    assert isinstance(event, FeedbackGiven)
    assert event.example.keys.tobytes() == keys.tobytes()
    assert event.example.values.tobytes() == (values + 0.0).tobytes() or (event.example.values == values).all()
    assert (event.label, event.served) == (label, Served(-1, 0.25))


@pytest.mark.parametrize(("values", "size"), [([1.0, 1.0], 0), ([0.5, 3.0], 8), ([0.1, 1.0], 16), ([1e60, 1.0], 16)])
def test_values_are_packed_in_the_fewest_exact_bytes(values: list[float], size: int) -> None:
    assert len(packed_values(np.array(values))) == size


def test_the_caller_s_features_are_counted_only_where_numbers_are_encoded() -> None:
    keys = np.array([5, 6], np.uint64).tobytes()
    given, other = (decode(encode(record(1, 1, keys, b""))) for record in (LongFeedbackRecord, FeedbackRecord))
    marked = decode(encode(LongFeedbackRecord(1, 1, keys, b"", given=2)))
    assert [event.example.given for event in (given, other, marked) if isinstance(event, FeedbackGiven)] == [0, 0, 2]
    assert len(msgspec.msgpack.decode(encode(FeedbackRecord(1, 1, keys, b"")))) == 14  # as it always was


def test_a_second_label_says_what_it_replaces() -> None:
    replaced = ReplacedLabel(7, -1, "f-7", "ann")
    event = decode(encode(LongFeedbackRecord(1, 1, b"", b"", replaces=replaced)))
    assert isinstance(event, FeedbackGiven)
    assert event.replaces == replaced


@pytest.mark.parametrize("chosen_with", [None, 0.01, 1.0])
def test_a_label_says_with_which_probability_it_was_chosen(chosen_with: float | None) -> None:
    event = decode(encode(LongFeedbackRecord(1, 1, b"", b"", chosen_with=chosen_with)))
    assert isinstance(event, FeedbackGiven)
    assert event.chosen_with == chosen_with


@pytest.mark.parametrize("chosen_with", [0.0, -0.5, 1.5, float("nan"), float("inf")])
def test_an_impossible_probability_is_refused(chosen_with: float) -> None:
    with pytest.raises(ValueError, match="chosen with probability"):
        decode(encode(LongFeedbackRecord(1, 1, b"", b"", chosen_with=chosen_with)))


@pytest.mark.parametrize("given_count", [-1, 3, (1 << 64) - 1])
def test_more_given_features_than_there_are_is_refused(given_count: int) -> None:
    keys = np.array([5, 6], np.uint64).tobytes()
    payload = msgspec.msgpack.encode(
        [*msgspec.msgpack.decode(encode(LongFeedbackRecord(1, 1, keys, b"")))[:-3], given_count]
    )
    with pytest.raises((msgspec.MsgspecError, ValueError)):
        decode(payload)


def test_other_events_round_trip() -> None:
    assert decode(encode(ConfigRecord(1, {"eta": 0.5, "bias": True}))) == TenantConfigured({"eta": 0.5, "bias": True})
    assert decode(encode(RemovalRecord(1, 0.1, 2.0))) == FeaturesRemoved(0.1, 2.0)


@pytest.mark.parametrize(
    "payload", [b"", b"\x00", b"\xc0", msgspec.msgpack.encode(["feedback", 1]), b"\x93\xa5magic", NESTED]
)
def test_an_invalid_event_is_refused(payload: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, ValueError)):
        decode(payload)


@pytest.mark.parametrize(
    ("keys", "values", "sentence"),
    [
        ([1, 2], np.ones(3, "f4").tobytes(), "2 keys and 3 values"),
        ([1, 0], b"", "key 0"),
        ([1], np.array([np.nan]).tobytes(), "not finite"),
        ([1], np.array([1e200]).tobytes(), "too large"),
    ],
)
def test_values_that_a_kernel_cannot_handle_are_refused(keys: list[int], values: bytes, sentence: str) -> None:
    record = FeedbackRecord(1, 1, np.array(keys, np.uint64).tobytes(), values)
    with pytest.raises(ValueError, match=sentence):
        decode(encode(record))


def test_a_wrong_number_of_names_is_refused() -> None:
    record = FeedbackRecord(1, 1, np.array([1, 2], np.uint64).tobytes(), b"", ("one",))
    with pytest.raises(ValueError, match="2 keys and 1 names"):
        decode(encode(record))


def test_a_retraction_without_new_fields_has_the_bytes_of_old() -> None:
    plain = RetractionRecord(1, 2, [b"x"], "why", None, "key")
    old = msgspec.msgpack.encode(["retraction", 1, 2, [b"x"], "why", None, "key", None])
    assert encode(plain) == old
    assert decode_record(old) == plain
    for record in (RetractionRecord(1, 2, [b"x"], restores=[b"y"]), RetractionRecord(1, 2, [], is_replacement=True)):
        assert encode(decode_record(encode(record))) == encode(record)
