"""What labels tell about those who gave them."""

from collections.abc import Sequence

import numpy as np
import pytest

from app.learning.events import ReplacedLabel
from app.review.agreement import Agreement, Moderator, Person, SecondOpinion, agreement_of
from app.tenants.labels.stored_labels import Retraction, StoredLabel

ANN, BOB, CAT = Person("ann"), Person("bob"), Person("cat")
Given = tuple[StoredLabel, Retraction | None]


class Log:
    """Labels as a log has them, the newest first."""

    def __init__(self) -> None:
        self.given: list[Given] = []

    def add(
        self,
        moderator: str | None,
        label: int,
        served: int | None = None,
        *,
        key_id: str | None = None,
        replaces: StoredLabel | None = None,
    ) -> StoredLabel:
        version = len(self.given) + 1
        found = StoredLabel(
            version=version,
            hash=version.to_bytes(20),
            at_milliseconds=version,
            label=label,
            feedback_id=None,
            prediction_id=replaces.prediction_id if replaces else f"p-{version}",
            moderator=moderator,
            key_id=key_id,
            request_id=None,
            served_label=served,
            served_score=None,
            served_at_milliseconds=None,
            replaces=ReplacedLabel(replaces.version, replaces.label, None, replaces.moderator) if replaces else None,
        )
        self.given.insert(0, (found, None))
        if replaces:
            self.take_back(replaces, is_replacement=True)
        return found

    def take_back(self, label: StoredLabel, *, is_replacement: bool = False) -> None:
        place = len(self.given) - label.version
        self.given[place] = (label, Retraction(0, 0, None, None, None, is_replacement))

    def agreement(self, opinions: Sequence[SecondOpinion] = ()) -> Agreement:
        return agreement_of(self.given, opinions)


def of(found: Agreement, person: Person) -> Moderator:
    return next(each for each in found.moderators if each.person == person)


def opinion(first: Person, label: int, second: Person, second_label: int, number: int = 1) -> SecondOpinion:
    return SecondOpinion(f"q-{number}", 10_000 + number, first, label, second, second_label, 5)


def test_each_person_has_counts() -> None:
    log = Log()
    first = log.add("ann", 1, served=1)
    log.add("ann", -1, served=1)
    log.add("ann", -1)
    log.take_back(log.add("ann", 1, served=-1))
    log.add("bob", -1, replaces=first)
    log.add(None, 1, key_id="k1")
    log.add(None, 1)
    found = log.agreement()
    ann = of(found, ANN)
    assert (ann.labels, ann.anomalies, ann.served, ann.agreed) == (4, 2, 2, 1)
    assert (ann.replaced, ann.overturned, ann.retracted) == (1, 1, 1)
    assert of(found, Person(None, "k1")).labels == 1
    assert (found.labels, found.unnamed) == (7, 1)


def test_corrections_and_blind_opinions_are_pairs() -> None:
    log = Log()
    log.add("bob", 1, replaces=log.add("ann", 1))
    log.add("bob", -1, replaces=log.add("ann", 1))
    found = log.agreement([opinion(BOB, -1, ANN, -1)])
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.blind, pair.kappa.pairs) == (ANN, BOB, 1, 3)
    assert pair.kappa.agreement == pytest.approx(2 / 3)
    assert (found.overall.pairs, found.blind.pairs, found.corrections.pairs) == (3, 1, 2)
    assert of(found, ANN).kappa.pairs == 3


def test_nobody_disagrees_with_oneself() -> None:
    log = Log()
    log.add("ann", -1, replaces=log.add("ann", 1))
    found = log.agreement([opinion(ANN, 1, ANN, -1)])
    assert found.overall.pairs == 0
    assert of(found, ANN).replaced == 0


def test_a_dispute_counts_once_by_what_both_said_first() -> None:
    log = Log()
    first = log.add("ann", 1)
    second = log.add("bob", -1, replaces=first)
    log.add("ann", 1, replaces=second)
    assert log.agreement().overall.pairs == 1


def test_a_label_that_was_taken_back_is_no_evidence() -> None:
    log = Log()
    first = log.add("ann", 1)
    wrong = log.add("bob", -1, replaces=first)
    log.take_back(wrong)
    assert log.agreement().overall.pairs == 0
    assert of(log.agreement(), ANN).overturned == 0
    first = log.add("ann", 1)
    log.take_back(first)
    seen = SecondOpinion(str(first.prediction_id), first.version, ANN, 1, BOB, -1, 5)
    assert log.agreement([seen]).overall.pairs == 0


def test_without_two_people_nobody_is_compared() -> None:
    log = Log()
    assert log.agreement().no_differences == "there are no labels of two people to compare"
    log.add("ann", 1)
    log.add("bob", 1)
    assert log.agreement().no_differences == "there are no labels yet that can be compared"


def test_who_is_often_overturned_is_pointed_out_with_the_numbers() -> None:
    log = Log()
    for number in range(200):
        first = log.add(("ann", "cat")[number % 2], 1)
        if number % 2 and number < 60:
            log.add("bob", -1, replaces=first)
    (found,) = log.agreement().differences
    assert (found.person, found.kind) == (CAT, "overturned")
    assert (found.hits, found.trials, found.other_hits, found.other_trials) == (30, 100, 0, 130)
    assert found.detail == (
        "Others replaced 30 of 100 (30.0%) labels by the opposite; of everybody else's labels, 0 of 130 (0.0%). "
        "By chance, a difference as large would have a probability of less than 0.0001, corrected for all comparisons."
    )


def test_who_corrects_others_is_not_pointed_out() -> None:
    log = Log()
    for number in range(100):
        first = log.add(("ann", "cat")[number % 2], 1)
        if number < 40:
            log.add("bob", -1, replaces=first)
    assert log.agreement().differences == []


def test_who_says_yes_to_everything_is_pointed_out() -> None:
    draw = np.random.default_rng(5)
    log = Log()
    for number in range(600):
        served = int(draw.choice([1, -1]))
        right = served if draw.random() < 0.8 else -served
        log.add(("ann", "bob", "cat")[number % 3], served if number % 3 == 1 else right, served=served)
    found = {each.person: each for each in log.agreement().differences if each.kind == "verdicts"}
    assert found[BOB].hits == 0
    assert "0 of 200 (0.0%) labels contradict the verdict" in found[BOB].detail
    assert found[BOB].p_value == min(each.p_value for each in found.values())


def test_who_disagrees_in_blind_reviews_is_pointed_out() -> None:
    people = [ANN, BOB, CAT]
    opinions = [
        opinion(people[k % 3], 1, people[(k + 1) % 3], -1 if CAT in {people[k % 3], people[(k + 1) % 3]} else 1, k)
        for k in range(90)
    ]
    (found,) = [each for each in Log().agreement(opinions).differences if each.person == CAT]
    assert (found.kind, found.hits, found.trials, found.other_hits, found.other_trials) == ("second", 60, 60, 0, 30)


def test_equal_people_are_hardly_ever_pointed_out() -> None:
    pointed_out = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        log = Log()
        for _ in range(200):
            served = int(draw.choice([1, -1]))
            right = served if draw.random() < 0.85 else -served
            log.add(str(draw.choice(["ann", "bob", "cat", "dan"])), right, served=served)
        pointed_out += bool(log.agreement().differences)
    assert pointed_out <= 10, "5 in 100 are expected"


def test_only_those_with_most_labels_are_shown() -> None:
    log = Log()
    for number in range(150):
        log.add(f"m{number:03}", 1)
    log.add("m007", 1)
    found = log.agreement()
    assert len(found.moderators) == 100
    assert found.moderators[0].person == Person("m007")
