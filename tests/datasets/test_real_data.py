from collections import Counter

import pytest

from app.datasets.reader import read
from tests.data import shared_data


@pytest.mark.parametrize(
    ("name", "positives", "negatives"), [("sparse/w8a.xz", 1_479, 48_270), ("urls/phishstorm.tsv.xz", 48_009, 48_009)]
)
def test_every_row_is_read(name: str, positives: int, negatives: int) -> None:
    counts = Counter[float]()
    for batch in read(shared_data(name)):
        counts.update(batch.labels.tolist())
    assert counts == {1.0: positives, -1.0: negatives}
