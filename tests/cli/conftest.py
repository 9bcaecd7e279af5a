from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """300 examples: one feature determines the label, the others are noise."""
    rng = np.random.default_rng(0)
    path = tmp_path / "sample.libsvm"
    with path.open("w") as file:
        for label in rng.choice([1, -1, -1, -1], size=300).tolist():
            noise = " ".join(f"{i}:{rng.normal():.3f}" for i in sorted(rng.choice(range(3, 60), size=5, replace=False)))
            file.write(f"{label:+d} {1 if label == 1 else 2}:1 {noise}\n")
    return path
