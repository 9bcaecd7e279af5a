import json
import os
import subprocess
import sys

from tests.features.golden import FILE, golden

MAILS = json.loads((FILE.parent / "email" / FILE.name).read_text(encoding="utf-8"))
PROGRAM = """
import json
from tests.features.email.mails import MAILS, features
from tests.features.golden import golden
print(json.dumps([golden(), {name: features(raw) for name, raw in MAILS.items()}]))
"""


def test_features_have_not_changed() -> None:
    assert golden() == json.loads(FILE.read_text(encoding="utf-8"))


def test_features_do_not_depend_on_hash_seed_and_locale() -> None:
    environment = os.environ | {"PYTHONHASHSEED": "7", "LC_ALL": "C"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, env=environment)
    inputs, mails = json.loads(ran.stdout)
    assert inputs == json.loads(FILE.read_text(encoding="utf-8"))
    assert mails == MAILS
    assert [list(each) for each in mails.values()] == [list(each) for each in MAILS.values()]  # also in this order
