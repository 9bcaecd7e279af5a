"""The features of version 1 must never change: models have learnt them."""

import json
from pathlib import Path

import pytest

from tests.features.email.mails import MAILS, features

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))


def test_every_mail_is_in_the_golden_file() -> None:
    assert list(GOLDEN) == list(MAILS)


@pytest.mark.parametrize("name", MAILS)
def test_features_are_those_of_the_golden_file(name: str) -> None:
    assert features(MAILS[name]) == GOLDEN[name]
