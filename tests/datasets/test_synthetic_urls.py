import re
from ipaddress import ip_address, ip_network
from itertools import islice
from urllib.parse import urlsplit

import pytest

from app.datasets.synthetic_urls import ANOMALY_SHARE, NORMAL, TRICKS, SyntheticUrl, synthetic_urls
from app.features.featurizer import features_of
from app.learning.events import FeedbackGiven
from app.learning.parts.confusion import Confusion
from app.learning.state import TenantState, apply

RESERVED = re.compile(r"(\.|^)(example|test|example\.(com|net|org))$")  # RFC 2606
FOR_DOCUMENTATION = [ip_network(name) for name in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]  # RFC 5737


def stream(count: int, seed: int = 0, change_every: int = 1000) -> list[SyntheticUrl]:
    return list(islice(synthetic_urls(seed, change_every), count))


def test_a_seed_gives_the_same_stream_every_time() -> None:
    assert stream(2500) == stream(2500)
    assert stream(100) != stream(100, seed=1)


def test_a_prefix_does_not_depend_on_the_length() -> None:
    assert stream(2500)[:300] == stream(300)


@pytest.mark.parametrize("seed", range(3))
def test_one_in_twenty_is_an_attack(seed: int) -> None:
    attacks = sum(item.label == 1 for item in stream(20_000, seed))
    assert attacks / 20_000 == pytest.approx(ANOMALY_SHARE, abs=0.005)
    assert {item.label for item in stream(1000, seed)} == {1, -1}


def test_attackers_change_after_the_given_number_of_urls() -> None:
    assert [item.campaign for item in stream(35, change_every=10)] == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 5


def test_after_a_change_all_attacks_follow_other_templates() -> None:
    for item in stream(9000, change_every=3000):
        templates = TRICKS[item.campaign % len(TRICKS)] if item.label == 1 else NORMAL
        assert any(is_made_of(template, item.url) for template in templates), item


def test_every_host_is_reserved() -> None:
    for item in stream(9000, change_every=3000):
        host = urlsplit(item.url).hostname or ""
        if host.replace(".", "").isdigit():
            assert any(ip_address(host) in network for network in FOR_DOCUMENTATION), item
        else:
            assert RESERVED.search(host), item


def test_urls_hardly_repeat() -> None:
    urls = [item.url for item in stream(5000)]
    assert len(set(urls)) > 0.95 * len(urls)


def test_it_can_be_learnt_and_a_change_sets_the_learner_back() -> None:
    before, after, end = (balanced_accuracy(part) for part in verdicts(6000, change_at=3000, span=400))
    assert 0.85 < before < 1.0
    assert after < before - 0.1
    assert end > after + 0.1


def verdicts(count: int, change_at: int, span: int) -> list[list[tuple[int, int]]]:
    """Labels and verdicts, test then train: before a change, just after it, and at the end."""
    state, met = TenantState(), []
    for item in stream(count, change_every=change_at):
        example = features_of("url", item.url).example
        met.append((item.label, state.predict(example)[1]))
        apply(state, FeedbackGiven(example, label=item.label))
    return [met[change_at - span : change_at], met[change_at : change_at + span], met[-span:]]


def balanced_accuracy(met: list[tuple[int, int]]) -> float:
    pairs = ((-1, -1), (-1, 1), (1, -1), (1, 1))
    share = Confusion(*(met.count(pair) for pair in pairs)).balanced_accuracy
    assert share is not None
    return share


def is_made_of(template: str, url: str) -> bool:
    fixed = re.split(r"\{\w+\}", template)
    return re.fullmatch("[^/?]+".join(map(re.escape, fixed)), url) is not None
