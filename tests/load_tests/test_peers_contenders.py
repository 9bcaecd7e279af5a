"""Every contender for real: started, scored, taught, and ended."""

import json
from pathlib import Path

import pytest

from load_tests.harness.client import run
from load_tests.harness.sizes import BATCH, FULL, QUICK, Sizes
from load_tests.peers import registry
from load_tests.peers.contenders import Contender, Group, Library, Limit
from load_tests.peers.examples import Example, features_json
from load_tests.peers.filters import Rspamd
from load_tests.peers.measurement import Round, fresh_examples, load, play, take_turns
from load_tests.peers.results import BOTH, LEARNING, PREDICTING, Row

LIMIT = Limit("the limit", Group.LIMIT, "")
SMALL = Sizes(taught=100, rounds=1, load_seconds=0.2)
SLOW_TO_LEARN = "river FTRL, its defaults"  # its steps are small: 60 examples do not change its verdicts
FILTERS = [
    each for each in registry.contenders("email") if each.group is Group.MAIL or each.name == registry.RAW["email"]
]
MAIL = b"From: a@example.org\nSubject: %b\nMessage-ID: <%d@example.org>\n\n%b %d\n"
BAD, GOOD = b"win a cheap prize now " * 4, b"the minutes of our meeting " * 4


def urls(count: int) -> list[Example]:
    """Every third one is bad, and easy to recognise."""
    raws = [
        (1, b"http://bad.example/login/%d" % k) if k % 3 == 0 else (-1, b"https://good.example/%d" % k)
        for k in range(count)
    ]
    return [Example(label, raw, features_json("url", raw)) for label, raw in raws]


def mails(count: int) -> list[Example]:
    words = [
        (1, MAIL % (b"prize", k, BAD, k)) if k % 2 else (-1, MAIL % (b"minutes", k, GOOD, k)) for k in range(count)
    ]
    return [Example(label, raw, features_json("email", raw)) for label, raw in words]


def verdicts(contender: Contender, folder: Path, examples: list[Example]) -> list[bool]:
    """What a new contender says of a stream that it learns."""
    if reason := contender.absent():
        pytest.skip(reason)
    with contender.served(folder, 1) as place:
        return [bool(said) for said in run(contender.job(place, contender.played(examples))).verdicts]


@pytest.mark.e2e
@pytest.mark.timeout(120)
@pytest.mark.parametrize("contender", registry.contenders("url"), ids=lambda each: each.name)
def test_every_contender_answers_the_same_stream(contender: Contender, tmp_path: Path) -> None:
    examples = urls(600 if contender.name == SLOW_TO_LEARN else 60)
    said = verdicts(contender, tmp_path, examples)
    right = [verdict == (example.label > 0) for verdict, example in zip(said, examples, strict=True)]
    if contender.group is not Group.LIMIT:
        assert sum(right[-30:]) >= 25


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.parametrize("contender", FILTERS, ids=lambda each: each.name)
def test_raw_mails_are_scored_and_learnt(contender: Contender, tmp_path: Path) -> None:
    examples = mails(460 if isinstance(contender, Rspamd) else 30)  # rspamd gives no verdict before 200 of each class
    said = verdicts(contender, tmp_path, examples)
    assert said[-10:] == [example.label > 0 for example in examples[-10:]]


@pytest.mark.e2e
@pytest.mark.timeout(120)
def test_a_stream_is_played_in_turns_and_a_load_after(tmp_path: Path) -> None:
    some = [each for each in registry.contenders("url") if each.name in {registry.LIMIT, registry.OURS}]
    rows = {each.name: Row(each) for each in some}
    play(tmp_path / "play", rows, some, ("a stream", urls(40)), turn=20)
    load(tmp_path / "load", rows, some, urls(200), SMALL)
    for row in rows.values():
        assert not row.absent
        assert {work: len(rates) for work, rates in row.rates.items()} == {BOTH: 2, PREDICTING: 1, LEARNING: 1}
        assert min(min(rates) for rates in row.rates.values()) > 0.0
    assert [list(row.verdicts) for row in rows.values()] == [[], ["a stream"]]


def test_a_peer_that_cannot_start_is_out_and_the_others_go_on(tmp_path: Path) -> None:
    broken = Library("broken", Group.PYTHON, "", learner="no_such_learner", package="msgspec")
    absent = Library("absent", Group.PYTHON, "", learner="sgd", package="no_such_package")
    requests = Round("one", lambda each: each.predicts(urls(1)))
    found, failed = take_turns(tmp_path, [absent, broken, LIMIT], 1, [requests])
    assert {name: len(done) for name, done in found.items()} == {"the limit": 1}
    assert "KeyError" in failed["broken"]
    assert failed["absent"] == "the Python package no_such_package is not installed"


def test_every_round_learns_other_examples_in_full_batches() -> None:
    examples = urls(650)
    first, second = fresh_examples(examples, rounds=2)
    assert (len(first), len(second)) == (300, 300)
    assert [*first, *second] == examples[:600]
    with pytest.raises(ValueError, match="too few"):
        fresh_examples(examples[:150], rounds=2)
    assert QUICK.taught % BATCH == FULL.taught % BATCH == 0


def test_features_have_length_one() -> None:
    values = json.loads(features_json("url", b"http://a.example/b?c=d")).values()
    assert sum(value * value for value in values) == pytest.approx(1.0, abs=1e-4)
