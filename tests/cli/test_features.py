from pathlib import Path

import msgspec
import pytest

from app.cli import main
from app.features.featurizer import Kind, features_of

from .test_evaluate import sluice

Output = pytest.CaptureFixture[str]
MAIL = b"Subject: You have won\n\nClick http://a.b/c now\n"


def featurized(kind: Kind, raw: str | bytes) -> dict[str, float]:
    example = features_of(kind, raw).example
    return dict(zip(example.names, example.values.tolist(), strict=True))


@pytest.mark.parametrize(("kind", "raw"), [("url", "http://a.b/c?d"), ("text", "You have won")])
def test_an_input_is_shown_as_json(capsys: Output, kind: Kind, raw: str) -> None:
    assert main(["features", f"--{kind}", raw, "--json"]) == 0
    answer = msgspec.json.decode(capsys.readouterr().out)
    assert answer["features"] == featurized(kind, raw)
    assert (answer["kind"], answer["featurizer"]) == (kind, 1)


def test_an_input_is_shown_as_a_table(capsys: Output) -> None:
    assert main(["features", "--url", "http://a.b/c"]) == 0
    head, _, *rows, blank, count = capsys.readouterr().out.splitlines()
    assert head.split() == ["feature", "value"]
    assert {row.rsplit(None, 1)[0] for row in rows} == featurized("url", "http://a.b/c").keys()
    assert (blank, count) == ("", f"{len(rows)} features")


def test_an_input_cannot_move_the_cursor(capsys: Output) -> None:
    main(["features", "--url", "http://a\x1b[2Jb.c/"])
    assert "\x1b" not in capsys.readouterr().out


def test_a_mail_is_read_from_a_file_or_from_standard_input(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "mail.eml"
    path.write_bytes(MAIL)
    main(["features", "--email", str(path), "--json"])
    by_path = capsys.readouterr().out
    assert msgspec.json.decode(by_path)["features"] == featurized("email", MAIL)
    assert sluice("features", "--email", "-", "--json", stdin=MAIL).stdout.decode() == by_path


def test_a_missing_mail_is_named(capsys: Output) -> None:
    assert main(["features", "--email", "no/such.eml"]) == 1
    assert "no/such.eml" in capsys.readouterr().err


def test_a_mail_that_is_too_large_is_refused(tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.cli.commands.features.LARGEST_MAIL_BYTES", 10)
    (tmp_path / "mail").write_bytes(MAIL)
    assert main(["features", "--email", str(tmp_path / "mail")]) == 1
    assert "has more than 10 bytes" in capsys.readouterr().err


def test_a_file_becomes_json_lines_that_are_learnt_like_the_file(tmp_path: Path, capsys: Output) -> None:
    texts, lines = tmp_path / "sms.tsv", tmp_path / "sms.jsonl"
    texts.write_text("ham\tsee you at five\nspam\tWIN a prize now\n" * 20)
    assert main(["features", "--file", str(texts)]) == 0
    lines.write_text(capsys.readouterr().out)
    assert len(lines.read_text().splitlines()) == 40
    digests = []
    for path in (texts, lines):
        main(["evaluate", str(path), "--numbers", "raw", "--json"])
        digests.append(msgspec.json.decode(capsys.readouterr().out)["results"][0]["digest"])
    assert digests[0] == digests[1]


def test_malformed_lines_of_a_file_are_reported(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "sms.tsv"
    path.write_text("ham\thello\neggs\tbacon\n")
    assert main(["features", "--file", str(path)]) == 1
    assert "sms.tsv:2: 'eggs' is not a label" in capsys.readouterr().err
    assert main(["features", "--file", str(path), "--on-error", "skip"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert "skipped line 2" in captured.err


def test_exactly_one_input_is_required(capsys: Output) -> None:
    for arguments in ([], ["--url", "x", "--text", "y"]):
        with pytest.raises(SystemExit, match="2"):
            main(["features", *arguments])
    assert "not allowed with" in capsys.readouterr().err
