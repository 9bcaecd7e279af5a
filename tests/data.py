"""Where the shared data is; it is not part of the project, and tests that need it are skipped without it."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def shared_data(name: str) -> Path:
    """The path of a file of it."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is absent; SLUICE_DATA names the folder")
    return path
