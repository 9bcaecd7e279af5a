"""Tasks are done side by side, told, kept, and not done twice."""

from pathlib import Path

import msgspec
import pytest

from experiments.running import Progress, do
from experiments.task import Task


class Square(msgspec.Struct, frozen=True):
    of: int
    value: int


def squared(number: int, log: str) -> Square:
    with Path(log).open("a", encoding="utf-8") as file:
        file.write(f"{number}\n")
    if number < 0:
        raise ValueError("a task that fails")
    return Square(number, number * number)


def tasks(log: Path, *numbers: int) -> list[Task]:
    return [Task("squares", f"of {n}", float(n), squared, {"number": n, "log": str(log)}) for n in numbers]


def test_what_was_found_is_kept_and_not_looked_for_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    first = do(tasks(log, 1, 2), tmp_path / "results", 2)
    again = do(tasks(log, 1, 2, 3), tmp_path / "results", 2)
    assert first["squares"]["of 2"] == Square(2, 4)
    assert [again["squares"][f"of {n}"].value for n in (1, 2, 3)] == [1, 4, 9]
    assert sorted(log.read_text().split()) == ["1", "2", "3"]
    told = capfd.readouterr().err
    assert "[2/2] squares: of" in told
    assert "2 of 3 were done before" in told


def test_other_arguments_are_another_task(tmp_path: Path) -> None:
    (one,) = tasks(tmp_path / "log", 1)
    (other,) = tasks(tmp_path / "other", 1)
    assert one.key != other.key
    assert one.key.startswith("squares-of-1-")


def test_a_failure_is_told_and_what_was_done_stays(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(ValueError, match="a task that fails"):
        do(tasks(log, 5, -1), tmp_path / "results", 1)
    assert do(tasks(log, 5), tmp_path / "results", 1)["squares"]["of 5"].value == 25
    assert log.read_text().split().count("5") == 1


def test_what_is_left_is_guessed_from_what_was_done() -> None:
    progress = Progress(whole=100.0, processes=2)
    assert progress.left() == 50.0
    progress.done, progress.spent = 50.0, 100.0  # twice as slow as guessed
    assert progress.left() == 50.0
