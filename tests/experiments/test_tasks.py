"""Tasks run side by side, report their progress, are kept, and do not run twice."""

import time
from pathlib import Path

import msgspec
import pytest

from experiments.tasks import Task, run


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


def test_results_are_kept_and_not_computed_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    first = run(tasks(log, 1, 2), tmp_path / "results", 2)
    again = run(tasks(log, 1, 2, 3), tmp_path / "results", 2)
    assert first["squares"]["of 2"] == Square(2, 4)
    assert [again["squares"][f"of {n}"].value for n in (1, 2, 3)] == [1, 4, 9]
    assert sorted(log.read_text().split()) == ["1", "2", "3"]
    logged = capfd.readouterr().err
    assert "[2/2] squares: of" in logged
    assert "2 of 3 were done before" in logged


def test_no_task_begins_when_the_time_is_over(tmp_path: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "results"
    run(tasks(log, 1), folder, 1)
    found = run(tasks(log, 1, 2), folder, 1, until=time.time() - 1.0)
    assert list(found["squares"]) == ["of 1"]
    assert log.read_text().split() == ["1"]


def test_tasks_begin_in_their_order_if_that_is_wanted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run(tasks(log, 1, 3, 2), tmp_path / "results", 1, longest_first=False)
    assert log.read_text().split() == ["1", "3", "2"]


def test_other_arguments_are_another_task(tmp_path: Path) -> None:
    (one,) = tasks(tmp_path / "log", 1)
    (other,) = tasks(tmp_path / "other", 1)
    assert one.key != other.key
    assert one.key.startswith("squares-of-1-")


def test_a_failure_is_raised_and_earlier_results_stay(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(ValueError, match="a task that fails"):
        run(tasks(log, 5, -1), tmp_path / "results", 1)
    assert run(tasks(log, 5), tmp_path / "results", 1)["squares"]["of 5"].value == 25
    assert log.read_text().split().count("5") == 1
