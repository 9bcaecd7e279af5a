"""A run that breaks off, and goes on."""

from pathlib import Path

import pytest

from load_tests.scale.results import KeptFound
from load_tests.scale.sizes import QUICK, Sizes
from load_tests.scale.steps import Steps

FOUND = KeptFound(1800, 330, 2000.0, 2200.5, 600.0)


def steps(folder: Path, said: list[str], *, resume: bool) -> Steps:
    return Steps(folder / "work", folder / "kept", QUICK, said.append).begin(resume=resume)


def found(folder: Path, sizes: Sizes) -> KeptFound:
    assert (folder.name, sizes) == ("kept", QUICK)
    return FOUND


def broken(folder: Path, sizes: Sizes) -> KeptFound:
    del folder, sizes
    raise RuntimeError("it broke off")


def test_what_was_found_before_is_not_measured_again(tmp_path: Path) -> None:
    said: list[str] = []
    steps(tmp_path, said, resume=False).take("kept", "kept predictions", found)
    resumed = steps(tmp_path, said, resume=True)
    assert resumed.take("kept", "kept predictions", broken) == FOUND
    assert resumed.resumed == ["kept predictions"]
    assert said == ["kept predictions", "kept predictions: as measured before"]


def test_a_new_run_measures_everything(tmp_path: Path) -> None:
    steps(tmp_path, [], resume=False).take("kept", "kept predictions", found)
    with pytest.raises(RuntimeError, match="it broke off"):
        steps(tmp_path, [], resume=False).take("kept", "kept predictions", broken)


def test_a_step_that_broke_off_is_measured_again(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="it broke off"):
        steps(tmp_path, [], resume=False).take("kept", "kept predictions", broken)
    assert steps(tmp_path, [], resume=True).take("kept", "kept predictions", found) == FOUND
