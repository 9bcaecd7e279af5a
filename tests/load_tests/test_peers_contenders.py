"""Every contender for real: started, scored, taught, and ended."""

import json
from pathlib import Path

import pytest

from load_tests.harness.client import run
from load_tests.harness.jobs import ClosedLoop, Request
from load_tests.harness.sizes import Sizes
from load_tests.peers import registry
from load_tests.peers.contenders import Contender, Group, Library, Limit, Place
from load_tests.peers.examples import Example, features_json, made_rare
from load_tests.peers.filters import Rspamd
from load_tests.peers.measurement import Round, fresh_examples, load, play, take_turns

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


def asked(contender: Contender, place: Place, examples: list[Example]) -> list[bool]:
    job = ClosedLoop(
        wire=contender.wire,
        verdict=contender.verdict,
        requests=contender.played(examples),
        port=place.port,
        folder=place.folder,
        marks=0,
    )
    return [bool(said) for said in run(job).verdicts]


def skip_if_absent(contender: Contender) -> None:
    if reason := contender.absent():
        pytest.skip(reason)


@pytest.mark.e2e
@pytest.mark.timeout(120)
@pytest.mark.parametrize("contender", registry.contenders("url"), ids=lambda each: each.name)
def test_every_contender_answers_the_same_stream(contender: Contender, tmp_path: Path) -> None:
    skip_if_absent(contender)
    examples = urls(600 if contender.name == SLOW_TO_LEARN else 60)
    with contender.served(tmp_path, 1) as place:
        said = asked(contender, place, examples)
    right = [verdict == (example.label > 0) for verdict, example in zip(said, examples, strict=True)]
    if contender.group is not Group.LIMIT:
        assert sum(right[-30:]) >= 25


@pytest.mark.e2e
@pytest.mark.timeout(180)
@pytest.mark.parametrize("contender", FILTERS, ids=lambda each: each.name)
def test_raw_mails_are_scored_and_learnt(contender: Contender, tmp_path: Path) -> None:
    skip_if_absent(contender)
    examples = mails(460 if isinstance(contender, Rspamd) else 30)  # rspamd gives no verdict before 200 of each class
    with contender.served(tmp_path, 1) as place:
        said = asked(contender, place, examples)
    assert said[-10:] == [example.label > 0 for example in examples[-10:]]


@pytest.mark.e2e
@pytest.mark.timeout(120)
def test_a_stream_is_played_in_turns_and_a_load_after(tmp_path: Path) -> None:
    some = [each for each in registry.contenders("url") if each.name in {registry.LIMIT, registry.OURS}]
    found, failed = play(tmp_path / "play", some, urls(40), turn=20)
    assert not failed
    assert [len(each.rates) for each in found.values()] == [2, 2]
    assert found[registry.LIMIT].verdicts is None
    loaded, failed = load(tmp_path / "load", some, urls(200), SMALL)
    assert not failed
    assert all(part.rates[0] > 0.0 for pair in loaded.values() for part in pair)


def test_a_peer_that_cannot_start_is_out_and_the_others_go_on(tmp_path: Path) -> None:
    broken = Library("broken", Group.PYTHON, "", learner="no_such_learner", package="msgspec")
    absent = Library("absent", Group.PYTHON, "", learner="sgd", package="no_such_package")
    requests = Round("one", lambda each: each.predicts(urls(1)))
    found, failed = take_turns(tmp_path, [absent, broken, LIMIT], 1, [requests])
    assert {name: len(done) for name, done in found.items()} == {"the limit": 1}
    assert "KeyError" in failed["broken"]
    assert failed["absent"] == "the Python package no_such_package is not installed"


def test_nothing_runs_after_a_failure(tmp_path: Path) -> None:
    pids: list[Path] = []

    def fail(_: Contender) -> list[Request]:
        pids.extend(_processes_of(tmp_path))
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        take_turns(tmp_path, [LIMIT], 1, [Round("one", fail)])
    assert pids
    assert not any(pid.exists() for pid in pids)


def test_every_round_learns_other_examples() -> None:
    examples = urls(650)
    first, second = fresh_examples(examples, rounds=2)
    assert (len(first), len(second)) == (300, 300)
    assert [*first, *second] == examples[:600]
    with pytest.raises(ValueError, match="too few"):
        fresh_examples(examples[:150], rounds=2)


def test_rare_examples_keep_their_order() -> None:
    examples = urls(3000)
    sample = made_rare(examples, seed=1)
    assert sum(example.label > 0 for example in sample) == round(2000 / 99)
    places = [examples.index(example) for example in sample[:200]]
    assert places == sorted(places)


def test_features_have_length_one() -> None:
    values = json.loads(features_json("url", b"http://a.example/b?c=d")).values()
    assert sum(value * value for value in values) == pytest.approx(1.0, abs=1e-4)


def _processes_of(folder: Path) -> list[Path]:
    """Processes whose log is in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "fd" / "1").readlink().is_relative_to(folder):
                found.append(process)
        except OSError:
            continue
    return found
