import json
import os
import subprocess
import sys

from tests.features.golden import FILE, golden

PROGRAM = "import json; from tests.features.golden import golden; print(json.dumps(golden()))"


def test_features_are_what_they_were() -> None:
    assert golden() == json.loads(FILE.read_text(encoding="utf-8"))


def test_features_are_the_same_in_another_process() -> None:
    environment = os.environ | {"PYTHONHASHSEED": "7", "LC_ALL": "C"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, env=environment)
    assert json.loads(ran.stdout) == json.loads(FILE.read_text(encoding="utf-8"))
