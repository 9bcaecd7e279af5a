"""Sets in LIBSVM's format: those at hand, and any that the user has, such as the paper's own.

Labels are 1 or +1 against -1 or 0; a file with others, such as 1 and 2, is refused at the first of them.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from app.datasets.batch import Batch
from app.datasets.reader import read
from app.datasets.shuffle import shuffled
from experiments.sets.source import Reader, Source, first, located

W8A_FILE: Final = "sparse/w8a.xz"
SEED: Final = 1


def given(name: str, train_path: str | Path, test_path: str | Path | None = None) -> Source:
    """A set of the user's: plain files, or compressed by gzip, xz or bzip2; they are never held in memory.

    Nor are they shuffled: a limited read of a file in order of class gives one class only.
    """
    paths = [str(Path(path).resolve()) for path in (train_path, test_path) if path is not None]
    return _source(name, name, paths, "LIBSVM files that were given to this run.")


def _source(name: str, title: str, files: list[str], text: str) -> Source:
    readers: list[Reader] = [partial(_read, file) for file in files]
    return Source(name, title, text, tuple(files), *readers)


def _read(file: str, limit: int | None) -> Iterator[Batch]:
    return first(read(located(file), format="libsvm"), limit)


def _read_shuffled(file: str, limit: int | None) -> Iterator[Batch]:
    return first(shuffled(read(located(file), format="libsvm"), SEED), limit)


A9A: Final = _source(
    "a9a",
    "a9a",
    ["sparse/a9a.xz", "sparse/a9a.t.xz"],
    "UCI Adult as yes-or-no features: incomes above 50,000 dollars (1, a quarter) against others. Comes with its own "
    "test. Not one of the paper's sets; the training file at hand has 32,560 lines and 122 features, one less of each "
    "than is usual.",
)
W8A: Final = Source(
    name="w8a",
    title="w8a",
    text=(
        "Web pages as 300 yes-or-no features, of one category (1, 3%) or not. Not one of the paper's sets. Shuffled: "
        "in the file all positives stand among the first 5,000 lines."
    ),
    files=(W8A_FILE,),
    train=partial(_read_shuffled, W8A_FILE),
)
