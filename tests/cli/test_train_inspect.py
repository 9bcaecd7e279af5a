from pathlib import Path

import msgspec
import pytest

from app.cli import main
from app.learning.snapshot.model_file import load

Output = pytest.CaptureFixture[str]


@pytest.fixture
def model(dataset: Path, tmp_path: Path, capsys: Output) -> Path:
    path = tmp_path / "model"
    assert main(["train", str(dataset), "--out", str(path)]) == 0
    capsys.readouterr()
    return path


def test_the_largest_weights_are_shown_by_name(model: Path, capsys: Output) -> None:
    assert main(["inspect", str(model), "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines[-2:]} == {"1", "2"}  # the two features that determine the label


def test_inspect_shows_counts_and_digest(model: Path, capsys: Output) -> None:
    main(["inspect", str(model), "--json"])
    shown = msgspec.json.decode(capsys.readouterr().out)
    assert shown["digest"] == load(model.read_bytes()).digest
    assert shown["examples"] == 300
    assert shown["config"]["algorithm"] == "cs-sol"
    assert len(shown["top_weights"]) == 20


def test_training_in_two_parts_equals_training_in_one(dataset: Path, tmp_path: Path, model: Path) -> None:
    lines = dataset.read_text().splitlines(keepends=True)
    first, second, half, whole = (tmp_path / name for name in ("a.libsvm", "b.libsvm", "half", "whole"))
    first.write_text("".join(lines[:123]))
    second.write_text("".join(lines[123:]))
    main(["train", str(first), "--out", str(half)])
    main(["train", str(second), "--onto", str(half), "--out", str(whole)])
    assert load(whole.read_bytes()).digest == load(model.read_bytes()).digest


def test_training_onto_a_model_keeps_its_settings(dataset: Path, model: Path, capsys: Output) -> None:
    assert main(["train", str(dataset), "--onto", str(model), "--out", str(model), "--eta", "2"]) == 1
    assert "keeps the model's own settings" in capsys.readouterr().err


def test_a_truncated_model_is_refused_by_name(model: Path, capsys: Output) -> None:
    model.write_bytes(model.read_bytes()[:-1])
    assert main(["inspect", str(model)]) == 1
    assert f"sluice: {model}: the model should have" in capsys.readouterr().err


def test_a_foreign_file_is_refused_with_its_kind(dataset: Path, capsys: Output) -> None:
    assert main(["inspect", str(dataset)]) == 1
    assert "the file is not a Sluice model: it begins with" in capsys.readouterr().err


def test_a_failed_training_leaves_the_old_model(dataset: Path, model: Path) -> None:
    before = model.read_bytes()
    dataset.write_text(dataset.read_text() + "nonsense\n")
    assert main(["train", str(dataset), "--out", str(model)]) == 1
    assert model.read_bytes() == before
    assert list(model.parent.glob(".model*")) == []


def test_a_missing_folder_is_reported_before_the_work(dataset: Path, tmp_path: Path, capsys: Output) -> None:
    assert main(["train", str(dataset), "--out", str(tmp_path / "none" / "model")]) == 1
    assert "there is no folder" in capsys.readouterr().err
