"""What a single feature means, without its input and without knowing its kind."""

import pytest

from app.features.reasons import wording_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("len:name:14", "domain name is 14 characters long"),
        ("path4:.pdf", 'path contains ".pdf"'),
        ("rcvd:hops:3", "mail went through 3 servers"),
        ("length:7", "text has 7 to 13 characters"),
        ("token:free", "token:free"),
        ("browser=chrome", 'browser is "chrome"'),
        ("amount 1,500 (1,024-2,048)", "amount is 1,500 (1,024 to 2,048)"),
        ("", ""),
    ],
)
def test_a_feature_is_worded_by_its_name(name: str, words: str) -> None:
    assert wording_of(name) == words
