import tracemalloc
from pathlib import Path

import pytest

from app.datasets.blocks import blocks
from app.datasets.errors import DatasetError
from app.datasets.formats import Format
from app.datasets.reader import read
from app.datasets.source import open_source
from app.features.featurizer import Kind, features_of

from .conftest import Write
from .oracle import Example, Features, examples

TEXTS: dict[Format, str] = {
    "libsvm": "1 1:1 2:0.5\r\n\n# comment | {\n-1\n0 17:-3e2 # end\n   \n+1 5:1",
    "vw": "1 |a x y:2\r\n\n-1 'tag |a:2 x |b x\n0 1.0 |\n1 | last",
    "jsonl": '{"label": 1, "features": {"x": 1, "y": 0.5, "z": true}}\r\n\n{"label": -1, "url": "http://a.b/"}\n'
    r'{"label": 1, "email": "Subject: x\n\nbody"}'
    '\n{"label": 0, "text": "hello"}',
    "texts": "ham\tOk lar... 5:30 | {joking}\r\n\nspam\tWIN a\tprize\n1\tnow\n-1\tno\n0\t",
    "urls": "2019-01-01T07:15:37Z\t1\thttp://a.b/c?d|e\r\n\n\t-1\thttps://github.com/\n\t0\tx.y",
}
SUFFIXES: dict[str, Format] = {
    "libsvm": "libsvm",
    "svm": "libsvm",
    "vw": "vw",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "tsv": "urls",
}
each_format = pytest.mark.parametrize("form", TEXTS)


def featurized(kind: Kind, raw: str) -> Features:
    """The features of an input, by name."""
    example = features_of(kind, raw).example
    return list(zip(example.names, example.values.tolist(), strict=True))


def read_text(write: Write, form: Format) -> list[Example]:
    return examples(read(write(TEXTS[form], "data"), format=form))


def test_libsvm_file(write: Write) -> None:
    assert read_text(write, "libsvm") == [
        (1.0, [("1", 1.0), ("2", 0.5)]),
        (-1.0, []),
        (-1.0, [("17", -300.0)]),
        (1.0, [("5", 1.0)]),
    ]


def test_vw_file(write: Write) -> None:
    assert read_text(write, "vw") == [
        (1.0, [("a^x", 1.0), ("a^y", 2.0)]),
        (-1.0, [("a^x", 2.0), ("b^x", 1.0)]),
        (-1.0, []),
        (1.0, [("last", 1.0)]),
    ]


def test_jsonl_file(write: Write) -> None:
    by_features, by_url, by_email, by_text = read_text(write, "jsonl")
    assert by_features == (1.0, [("x", 1.0), ("y", 0.5), ("z", 1.0)])
    assert by_url == (-1.0, featurized("url", "http://a.b/"))
    assert by_email == (1.0, featurized("email", "Subject: x\n\nbody"))
    assert by_text == (-1.0, featurized("text", "hello"))


def test_url_file(write: Write) -> None:
    found = read_text(write, "urls")
    given = {"http://a.b/c?d|e": 1.0, "https://github.com/": -1.0, "x.y": -1.0}
    assert found == [(label, featurized("url", url)) for url, label in given.items()]


def test_text_file(write: Write) -> None:
    given = {"Ok lar... 5:30 | {joking}": -1.0, "WIN a\tprize": 1.0, "now": 1.0, "no": -1.0, "": -1.0}
    found = read_text(write, "texts")
    assert found == [(label, featurized("text", text)) for text, label in given.items()]


def test_words_in_json_are_features_as_they_are_for_the_service(write: Write) -> None:
    path = write('{"label": 1, "features": {"tld": "com", "new": true, "old": false}}', "data.jsonl")
    assert examples(read(path)) == [(1.0, [("tld=com", 1.0), ("new", 1.0)])]


def test_json_names_may_hold_any_character(write: Write) -> None:
    path = write(r'{"label": 1, "features": {"a\u0000b": 1, "\n": 2, "é": 3}}', "data.jsonl")
    assert examples(read(path)) == [(1.0, [("a\0b", 1.0), ("\n", 2.0), ("é", 3.0)])]


@each_format
def test_the_blocks_may_end_at_any_byte(write: Write, form: Format) -> None:
    path = write(TEXTS[form], "data")
    whole = examples(read(path, format=form))
    for size in range(1, len(TEXTS[form]) + 2):
        assert examples(read(path, format=form, block_bytes=size)) == whole


@each_format
@pytest.mark.parametrize("batch_examples", [1, 2, 3, 1000])
def test_the_size_of_batches_is_limited(write: Write, form: Format, batch_examples: int) -> None:
    path = write(TEXTS[form], "data")
    batches = list(read(path, format=form, batch_examples=batch_examples))
    assert max(map(len, batches)) <= batch_examples
    assert examples(batches) == examples(read(path, format=form))


def test_parts_of_a_part_keep_their_names(write: Write) -> None:
    (batch,) = read(write(TEXTS["libsvm"] + "\n"))
    assert examples(small for part in batch.split(2) for small in part.split(1)) == examples([batch])


@each_format
@pytest.mark.parametrize(
    "before", ["", "\n \n\n", "\ufeff", "\ufeff\r\n"], ids=["plain", "blank", "mark", "mark, blank"]
)
def test_the_first_line_determines_the_format(write: Write, form: Format, before: str) -> None:
    path = write(before + TEXTS[form], "data.txt")
    for block_bytes in (1, 1 << 20):
        assert examples(read(path, block_bytes=block_bytes)) == examples(read(path, format=form))


@pytest.mark.parametrize("line", ["-1 41:1 54:1 ", "+1", "1.0\t3:0.5", "# made by hand", "0 1:1 # a|b", "1#"])
def test_libsvm_is_detected_by_its_first_line(write: Write, line: str) -> None:
    list(read(write(line, "data")))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_determines_the_format(write: Write, suffix: str) -> None:
    form = SUFFIXES[suffix]
    for name in (f"data.{suffix}", f"data.{suffix.upper()}", f"data.x.{suffix}"):
        assert examples(read(write(TEXTS[form], name))) == read_text(write, form)


def test_the_suffix_takes_precedence_over_the_content(write: Write) -> None:
    with pytest.raises(DatasetError, match=r"data.vw:1: importance '1:1' is not supported"):
        list(read(write("1 1:1\n", "data.vw")))


def test_an_unknown_format_is_refused_with_its_line(write: Write) -> None:
    with pytest.raises(DatasetError, match=r"data.csv:2: the line matches no known format; choose one of libsvm, vw"):
        list(read(write("\nday,period,price\n", "data.csv")))


@pytest.mark.parametrize("content", ["", "\n", " \r\n\n", "\ufeff", "# only\n# comments"])
def test_a_file_without_examples_has_no_batches(write: Write, content: str) -> None:
    assert list(read(write(content, "data"))) == []


@pytest.mark.parametrize("content", [20 * "x", "1\n" + 20 * "x" + "\n1\n"])
def test_a_line_is_limited_in_length(write: Write, content: str) -> None:
    line_number = content.count("\n", 0, 3) + 1
    with (
        open_source(write(content)) as source,
        pytest.raises(DatasetError, match=f"data.svm:{line_number}: .* 16 bytes"),
    ):
        list(blocks(source, size=4, longest_line=16))


def test_a_line_may_be_longer_than_a_block(write: Write) -> None:
    pairs = [(str(k), k / 8) for k in range(1, 5000)]
    path = write("1 " + " ".join(f"{name}:{value}" for name, value in pairs))
    assert examples(read(path, block_bytes=100)) == [(1.0, pairs)]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    path.write_bytes(b"1 1:1 22:0.5 333:0.25 4444:0.125\n" * 200_000)
    next(read(path))  # compile before memory is measured
    tracemalloc.start()
    examples_read = sum(len(batch) for batch in read(path, block_bytes=1 << 16))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert examples_read == 200_000
    assert peak < path.stat().st_size / 4
