import os
from collections import Counter
from pathlib import Path

import pytest

from app.datasets.reading import read

DATA = Path(os.environ.get("SLUICE_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.parametrize(
    ("name", "positives", "negatives"), [("sparse/w8a.xz", 1_479, 48_270), ("urls/phishstorm.tsv.xz", 48_009, 48_009)]
)
def test_every_row_is_read(name: str, positives: int, negatives: int) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is absent; SLUICE_DATA names the folder")
    counts = Counter[float]()
    for batch in read(DATA / name):
        counts.update(batch.labels.tolist())
    assert counts == {1.0: positives, -1.0: negatives}
