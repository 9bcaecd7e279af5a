import os
import subprocess
import sys

import msgspec
import pytest

from app.learning.events import LabelRetracted, RetractionMade
from app.learning.replay import replay
from tests.learning.golden import FILE, TAKEN_BACK, digests, golden_log

GOLDEN = msgspec.json.decode(FILE.read_bytes(), type=dict[str, str])
ON_A_GENERIC_PROCESSOR = """
from app.learning.replay import replay
from tests.learning.golden import golden_log
print(*(replay(golden_log(name)).digest for name in ("cs-ssol", "ftrl", "cs-sol, numbers encoded, threshold auto")))
"""


def test_the_numbers_have_not_changed() -> None:
    assert digests(list(GOLDEN)) == GOLDEN


def test_labels_taken_back_leave_no_trace_but_the_version() -> None:
    for entry in (entry for entry in GOLDEN if entry.endswith(TAKEN_BACK)):
        log = list(golden_log(entry))
        state = replay([event for event in log if not isinstance(event, LabelRetracted | RetractionMade)])
        state.version = len(log)
        assert state.digest == GOLDEN[entry]


@pytest.mark.e2e
def test_a_generic_processor_computes_the_same_bits() -> None:
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    answer = subprocess.run(
        [sys.executable, "-c", ON_A_GENERIC_PROCESSOR], capture_output=True, check=True, env=environment, text=True
    )
    names = ("cs-ssol", "ftrl", "cs-sol, numbers encoded, threshold auto")
    assert answer.stdout.split() == [GOLDEN[name] for name in names]
