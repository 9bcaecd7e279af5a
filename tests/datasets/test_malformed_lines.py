import re

import pytest

from app.datasets.errors import DatasetError, SkippedLines
from app.datasets.reader import read

from .conftest import Write
from .oracle import examples

GOOD = {
    "svm": "1 1:1\n",
    "vw": "1 | a\n",
    "jsonl": '{"label": 1, "features": {"a": 1}}\n',
    "tsv": "\t1\thttp://a.b/\n",
}
BAD = [
    ("svm", "x 1:1", "'x' is not a label (1, -1 or 0)"),
    ("svm", "2 1:1", "'2' is not a label (1, -1 or 0)"),
    ("svm", "1.5", "'1.5' is not a label (1, -1 or 0)"),
    ("svm", "nan 1:1", "'nan' is not a label (1, -1 or 0)"),
    ("svm", "1e-400 1:1", "'1e-400' is not a label (1, -1 or 0)"),
    ("svm", "1:1 2:1", "'1:1' is not a label (1, -1 or 0)"),
    ("svm", "1 3:abc", "'3:abc' is not index:value"),
    ("svm", "1 2:1 3", "'3' is not index:value"),
    ("svm", "1 3:", "'3:' is not index:value"),
    ("svm", "1 :3", "':3' is not index:value"),
    ("svm", "1 3: 4", "'3:' is not index:value"),
    ("svm", "1 3:4:5", "'3:4:5' is not index:value"),
    ("svm", "1 3:1_0", "'3:1_0' is not index:value"),
    ("svm", "1 -3:1", "'-3:1' is not index:value"),
    ("svm", "1 3:0x1", "'3:0x1' is not index:value"),
    ("svm", "1 qid:3 1:1", "'qid:3' is not index:value"),
    ("svm", "1 3:1,4:1", "'3:1,4:1' is not index:value"),
    ("svm", "1 3:nan", "'3:nan' is not finite"),
    ("svm", "1 3:-inf", "'3:-inf' is not finite"),
    ("svm", "1 3:1.01e100", "'3:1.01e100' is larger than 1e+100"),
    ("svm", "1 3:-1e999", "'3:-1e999' is larger than 1e+100"),
    ("svm", "1 3:\0", "'3:\\x00' is not index:value"),
    ("svm", "1 3:é", "'3:é' is not index:value"),
    ("svm", "1 x" + 50 * "y", "'x" + 39 * "y" + "...' is not index:value"),
    ("jsonl", '{"label": 1, "x": ' + 100_000 * "[", "the JSON is nested too deeply"),
    ("vw", "1 a b", "importance 'a' is not supported, only 1"),
    ("vw", "1", "there is no bar (|)"),
    ("vw", "1 1 'tag", '"\'tag" is not allowed before the bar'),
    ("vw", "| a", "there is no label before the bar"),
    ("vw", "1| a", "there is no label before the bar: '1' is a tag, because it touches the bar or is quoted"),
    ("vw", "'t | a", 'there is no label before the bar: "\'t" is a tag, because it touches the bar or is quoted'),
    ("vw", "x | a", "'x' is not a label (1, -1 or 0)"),
    ("vw", "3 | a", "'3' is not a label (1, -1 or 0)"),
    ("vw", "1 0.5 | a", "importance '0.5' is not supported, only 1"),
    ("vw", "1 1 0.5 | a", "'0.5' is not allowed before the bar"),
    ("vw", "1 |a:x b", "'|a:x' is not namespace:scale"),
    ("vw", "1 |:2 b", "'|:2' is not namespace:scale"),
    ("vw", "1 |a:inf b", "'|a:inf' is not finite"),
    ("vw", "1 | b:", "'b:' is not name:value"),
    ("vw", "1 | :2", "':2' is not name:value"),
    ("vw", "1 | http://a.b", "'http://a.b' is not name:value"),
    ("vw", "1 | b:nan", "'b:nan' is not finite"),
    ("vw", "1 |a:1e60 b:1e60", "'b:1e60' is larger than 1e+100"),
    ("jsonl", "{", "Input data was truncated"),
    ("jsonl", "[1]", "Expected `object`, got `array`"),
    ("jsonl", '{"features": {}}', "Object missing required field `label`"),
    ("jsonl", '{"label": 2, "features": {}}', "2 is not a label (1, -1 or 0)"),
    ("jsonl", '{"label": true, "features": {}}', "Expected `int`, got `bool` - at `$.label`"),
    ("jsonl", '{"label": 1}', "a line must have features, one of url, email, text, or both"),
    (
        "jsonl",
        '{"label": 1, "url": "a", "text": "b"}',
        "a line must have features, one of url, email, text, or both",
    ),
    (
        "jsonl",
        '{"label": 1, "features": {"a": [1]}}',
        "feature 'a' is [1.0]; it must be a number, true, false or a text",
    ),
    ("jsonl", '{"label": 1, "features": {"a": NaN}}', "JSON is malformed: invalid character (byte 31)"),
    (
        "jsonl",
        '{"label": 1, "features": {"a": 1e999}}',
        "feature 'a' is inf: values must be finite and at most 1e+100 in size",
    ),
    (
        "jsonl",
        '{"label": 1, "features": {"a": -1e101}}',
        "feature 'a' is -1e+101: values must be finite and at most 1e+100 in size",
    ),
    ("jsonl", '{"label": 1, "features": {"": 1}}', "a feature name is empty"),
    (
        "jsonl",
        '{"label": 1, "features": {"' + 5000 * "a" + '": 1}}',
        f"the name '{40 * 'a'}'... is longer than 4096 bytes",
    ),
    ("tsv", "2019\thttp://a.b/", "'2019\\thttp://a.b/' is not timestamp, label and URL separated by tabs"),
    ("tsv", "\tx\thttp://a.b/", "'x' is not a label (1, -1 or 0)"),
    ("tsv", "\t1\t", "the URL is empty"),
]


@pytest.mark.parametrize(("suffix", "line", "reason"), BAD)
def test_a_malformed_line_stops_the_reading_after_the_examples_before_it(
    write: Write, suffix: str, line: str, reason: str
) -> None:
    path = write(2 * GOOD[suffix] + line + "\n" + GOOD[suffix], f"data.{suffix}")
    batches = read(path)
    assert len(next(batches)) == 2
    with pytest.raises(DatasetError) as error:
        next(batches)
    assert str(error.value) == f"{path}:3: {reason}"


@pytest.mark.parametrize(("suffix", "line", "reason"), BAD)
def test_a_malformed_line_can_be_skipped(write: Write, suffix: str, line: str, reason: str) -> None:
    good = GOOD[suffix]
    path = write(f"{line}\n{good}{good}\n{line}\r\n{good}{line}", f"data.{suffix}")
    skipped = SkippedLines(keep=2)
    found = examples(read(path, on_error="skip", report=skipped))
    assert found == 3 * found[:1]
    assert (skipped.total, skipped.first) == (3, [(1, reason), (5, reason)])


@pytest.mark.parametrize("block_bytes", [1, 7, 50, 1000])
def test_line_numbers_do_not_depend_on_the_blocks(write: Write, block_bytes: int) -> None:
    path = write("1 1:1\n# comment\n\nbad\n1 1:1\n\n-1 x\n0 1:2")
    skipped = SkippedLines()
    found = examples(read(path, on_error="skip", report=skipped, block_bytes=block_bytes))
    assert [label for label, _ in found] == [1.0, 1.0, -1.0]
    assert [line_number for line_number, _ in skipped.first] == [4, 7]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("spam", "'spam' is not label and text separated by a tab"),
        ("eggs\tand bacon", "'eggs' is not a label (spam, ham, 1, -1 or 0)"),
    ],
)
def test_a_text_needs_a_label_before_a_tab(write: Write, line: str, reason: str) -> None:
    path = write(f"ham\thello\n{line}\nspam\tWIN\n", "data.tsv")
    skipped = SkippedLines()
    assert len(examples(read(path, on_error="skip", report=skipped))) == 2
    assert skipped.first == [(2, reason)]
    with pytest.raises(DatasetError, match=f"data.tsv:2: {re.escape(reason)}"):
        list(read(path))


def test_a_url_must_be_utf8(write: Write) -> None:
    with pytest.raises(DatasetError, match=r"data.tsv:1: 'http://a.b/\\\\xff' is not UTF-8"):
        list(read(write(b"\t1\thttp://a.b/\xff\n", "data.tsv")))


def test_a_malformed_line_leaves_nothing_behind(write: Write) -> None:
    path = write("1 1:0.12345678901234567 2:x\n-1 3:0.98765432109876543\n")
    assert examples(read(path, on_error="skip")) == [(-1.0, [("3", 0.98765432109876543)])]
