import tarfile
from pathlib import Path

import msgspec
import pytest

from app.cli import main

from .test_evaluate import sluice

Output = pytest.CaptureFixture[str]


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    """A folder of 80 mails whose words determine the label."""
    root = tmp_path / "mails"
    for kind, words in (("spam", "win a prize lottery winner money"), ("ham", "the meeting agenda minutes room")):
        (root / kind).mkdir(parents=True)
        for number in range(40):
            (root / kind / f"{number}.eml").write_text(f"Subject: {words}\n\n{words} {words[::2]} {number}\n")
    return root


def evaluated(path: Path, capsys: Output) -> dict[str, object]:
    assert main(["evaluate", str(path), "--json"]) == 0
    answer = msgspec.json.decode(capsys.readouterr().out)
    return dict(answer["results"][0])


def test_a_folder_of_mails_is_learnt(mails: Path, capsys: Output) -> None:
    result = evaluated(mails, capsys)
    assert (result["positives"], result["negatives"]) == (40, 40)
    assert result["error"] < 0.3  # type: ignore[operator]


def test_an_archive_is_learnt_like_its_folder(mails: Path, tmp_path: Path, capsys: Output) -> None:
    archive = tmp_path / "mails.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(mails, "mails")
    assert evaluated(archive, capsys)["digest"] == evaluated(mails, capsys)["digest"]


def test_a_model_can_be_trained_on_mails_and_shows_its_features(mails: Path, tmp_path: Path, capsys: Output) -> None:
    model = tmp_path / "model"
    assert main(["train", str(mails), "--out", str(model)]) == 0
    main(["inspect", str(model)])
    assert "prize" in capsys.readouterr().out


def test_labelled_texts_are_learnt(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "sms.tsv"
    path.write_text("ham\tsee you at five\nspam\tWIN a prize now\n" * 10)
    assert evaluated(path, capsys)["positives"] == 10


def test_an_unknown_version_of_the_featurizers_is_refused(mails: Path, capsys: Output) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(mails), "--featurizer", "99"])
    assert "invalid choice: 99" in capsys.readouterr().err


def test_the_help_names_every_kind_of_input(capsys: Output) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["evaluate", "--help"])
    text = capsys.readouterr().out
    assert all(word in text for word in ("mails", ".tar", "a folder", "texts", "label TAB text", '"email"'))


def test_an_archive_is_read_from_standard_input(mails: Path, tmp_path: Path, capsys: Output) -> None:
    archive = tmp_path / "mails.tar.xz"
    with tarfile.open(archive, "w:xz") as file:
        file.add(mails, ".")
    answer = sluice("evaluate", "-", "--format", "mails", "--json", stdin=archive.read_bytes())
    assert answer.returncode == 0, answer.stderr
    assert msgspec.json.decode(answer.stdout)["results"][0]["digest"] == evaluated(mails, capsys)["digest"]


def test_a_truncated_archive_is_refused_with_a_sentence(mails: Path, tmp_path: Path, capsys: Output) -> None:
    archive = tmp_path / "mails.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(mails, ".")
    archive.write_bytes(archive.read_bytes()[:-200])
    assert main(["evaluate", str(archive)]) == 1
    assert f"sluice: {archive}: the compressed file is truncated" in capsys.readouterr().err
