import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.features.text import LONGEST_TEXT, MOST_WORDS, text_features


def found(text: str) -> dict[str, float]:
    example = text_features(text).example
    return dict(zip(example.names, example.values.tolist(), strict=True))


def test_features_of_a_text() -> None:
    features = found("WIN $100 now! Call 09061701461 or www.win.example")
    assert {
        name: features[name] for name in ("word:win", "word:09061701461", "pair:call 09061701461", "chars:call")
    } == {
        "word:win": 1.0,
        "word:09061701461": 1.0,
        "pair:call 09061701461": 0.5,
        "chars:call": 0.25,
    }
    shapes = {
        "capitals:1",
        "money:1",
        "exclamations:1",
        "questions:0",
        "links:1",
        "long-numbers:1",
        "words:8",
        "length:32",
    }
    assert shapes <= features.keys()


def test_words_of_languages_without_spaces_are_found() -> None:
    assert {"word:今日", "word:日は"} <= found("今日は").keys()


def test_a_repeated_word_counts_once() -> None:
    assert found("free free free")["word:free"] == 1.0


@given(text=st.text())
def test_any_text_has_features_that_utf8_can_hold(text: str) -> None:
    assert all(name.encode().decode() == name for name in found(text))
    assert found(text) == found(text)


def test_a_long_text_is_truncated_with_a_note() -> None:
    cut = text_features("word " * 50_000).cut
    assert [f"first {LONGEST_TEXT:,}" in cut[0], f"first {MOST_WORDS:,}" in cut[1]] == [True, True]
    assert text_features("short").cut == []


@pytest.mark.parametrize("piece", ["a", "a ", "!", "\u0301", "9", "www.", "a@a", "AB ", "\n", "今"])
def test_time_grows_no_faster_than_the_text(piece: str) -> None:
    short, long = piece * (LONGEST_TEXT // 4 // len(piece)), piece * (LONGEST_TEXT // len(piece))
    ratios = [seconds(long) / seconds(short) for _ in range(5)]
    assert min(ratios) < 4 * 3  # 4 times the length, with a margin for load


def seconds(text: str) -> float:
    start = time.perf_counter()
    text_features(text)
    return time.perf_counter() - start
