"""The features of version 1 must never change: models have learnt them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.email.mails import MAILS, features

ROOT = Path(__file__).parents[3]
GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))


def test_every_mail_is_in_the_golden_file() -> None:
    assert list(GOLDEN) == list(MAILS)


@pytest.mark.parametrize("name", MAILS)
def test_features_are_those_of_the_golden_file(name: str) -> None:
    assert features(MAILS[name]) == GOLDEN[name]


def test_features_are_the_same_in_a_process_with_another_hash_seed() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "77", "LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}
    program = [sys.executable, "-m", "tests.features.email.mails"]
    told = subprocess.run(program, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert json.loads(told.stdout) == GOLDEN
    assert [list(each) for each in json.loads(told.stdout).values()] == [list(each) for each in GOLDEN.values()]
