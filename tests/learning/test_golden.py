import os
import subprocess
import sys

import msgspec

from tests.learning.golden import FILE, digests

GOLDEN = msgspec.json.decode(FILE.read_bytes(), type=dict[str, str])
ON_A_GENERIC_PROCESSOR = """
from app.learning.state import replay
from tests.learning.golden import golden_log
print(*(replay(golden_log(name)).digest for name in ("cs-ssol", "ftrl", "cs-sol, numbers encoded, threshold auto")))
"""


def test_the_numbers_have_not_changed() -> None:
    assert digests(list(GOLDEN)) == GOLDEN


def test_a_generic_processor_computes_the_same_bits() -> None:
    environment = os.environ | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    answer = subprocess.run(
        [sys.executable, "-c", ON_A_GENERIC_PROCESSOR], capture_output=True, check=True, env=environment, text=True
    )
    names = ("cs-ssol", "ftrl", "cs-sol, numbers encoded, threshold auto")
    assert answer.stdout.split() == [GOLDEN[name] for name in names]
