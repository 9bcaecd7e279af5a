"""How far moderators agree: with each other, and with what was answered; and whose labels differ from the others'."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from app.review.statistics import Kappa, Stratum, fisher, holm, kappa, mantel_haenszel
from app.tenants.labels.stored_labels import Retraction, StoredLabel

MOST_LABELS = 50_000  # the newest are read
MOST_MODERATORS = 100  # are returned, those with most labels
MOST_PAIRS = 1000
SIGNIFICANT = 0.05  # after the correction
LEAST_DIFFERENCE = {"second": 0.02, "overturned": 0.02, "verdicts": 0.05}  # of rates: less is of no importance
Kind = Literal["second", "overturned", "verdicts"]
KINDS: tuple[Kind, ...] = ("second", "overturned", "verdicts")


class Person(msgspec.Struct, frozen=True, order=True):
    """Who labels: a moderator, or else the holder of a key."""

    moderator: str | None = None
    key_id: str | None = None

    @classmethod
    def of(cls, moderator: str | None, key_id: str | None) -> "Person | None":
        """Return who gave a label; None if nobody is named."""
        if moderator is None and key_id is None:
            return None
        return cls(moderator) if moderator is not None else cls(None, key_id)


class SecondOpinion(msgspec.Struct, frozen=True):
    """What a second person said of a labelled prediction without knowing the label, which was of this version."""

    prediction_id: str
    version: int
    first: Person
    first_label: int
    second: Person
    label: int
    at_milliseconds: int


class Judgement(msgspec.Struct, frozen=True):
    """A prediction that two people have judged."""

    first: Person
    label: int
    second: Person
    second_label: int
    is_blind: bool


class Moderator(msgspec.Struct):
    """The labels of one person."""

    person: Person
    labels: int = 0
    anomalies: int = 0
    served: int = 0  # labels of predictions whose verdict is known,
    agreed: int = 0  # and that say the same
    replaced: int = 0  # by somebody else,
    overturned: int = 0  # with the opposite label
    retracted: int = 0
    kappa: Kappa = kappa(0, 0, 0, 0)  # with all others
    by_verdict: dict[int, list[int]] = {}  # for each verdict: labels that contradict it, all labels


class Pair(msgspec.Struct, frozen=True):
    """Two people, and how far they agree."""

    first: Person
    second: Person
    blind: int  # of the pairs of judgements
    kappa: Kappa


class Difference(msgspec.Struct, frozen=True):
    """A person whose labels differ significantly from those of the others, and in what."""

    person: Person
    kind: Kind
    hits: int
    trials: int
    other_hits: int
    other_trials: int
    p_value: float  # corrected
    comparisons: int

    @property
    def detail(self) -> str:
        """A sentence with the numbers."""
        mine, others = (
            f"{hits:,} of {trials:,} ({hits / trials:.1%})"
            for hits, trials in ((self.hits, self.trials), (self.other_hits, self.other_trials))
        )
        sentences = {
            "second": f"In blind second reviews, {mine} disagree with somebody else; without this person {others} do.",
            "overturned": f"Others replaced {mine} labels by the opposite; of everybody else's labels, {others}.",
            "verdicts": f"{mine} labels contradict the verdict; of everybody else's labels, {others}.",
        }
        return f"{sentences[self.kind]} {_chance(self.p_value)}"


class Agreement(msgspec.Struct, frozen=True):
    """What the labels of a tenant tell about those who gave them."""

    labels: int
    unnamed: int  # labels of nobody who is named
    overall: Kappa
    blind: Kappa
    corrections: Kappa
    moderators: list[Moderator]
    pairs: list[Pair]
    differences: list[Difference]
    no_differences: str | None  # why nobody can be compared


def agreement_of(
    labels: Sequence[tuple[StoredLabel, Retraction | None]], opinions: Sequence[SecondOpinion] = ()
) -> Agreement:
    """Return how far people agree by their labels, the newest first, and by blind second opinions.

    A label that a request has taken back counts as never given: it is only counted as taken back.
    """
    standing = [label for label, retraction in labels if retraction is None or retraction.is_replacement]
    gone = {label.version for label, retraction in labels if retraction is not None and not retraction.is_replacement}
    moderators = _count(labels)
    corrections = _corrections(standing, gone, moderators)
    blind = [
        Judgement(each.first, each.first_label, each.second, each.label, is_blind=True)
        for each in opinions
        if each.version not in gone and each.first != each.second
    ]
    judgements = [*corrections, *blind]
    for person, own in _by_person(judgements).items():
        moderators.setdefault(person, Moderator(person)).kappa = _overall(own)
    differences, no_differences = _differences(moderators, blind)
    ranked = sorted(moderators.values(), key=lambda each: (-each.labels, each.person.moderator or "~"))
    return Agreement(
        labels=len(labels),
        unnamed=sum(Person.of(label.moderator, label.key_id) is None for label, _ in labels),
        overall=_overall(judgements),
        blind=_overall(blind),
        corrections=_overall(corrections),
        moderators=ranked[:MOST_MODERATORS],
        pairs=_pairs(judgements),
        differences=differences,
        no_differences=no_differences,
    )


def _count(labels: Iterable[tuple[StoredLabel, Retraction | None]]) -> dict[Person, Moderator]:
    found: dict[Person, Moderator] = {}
    for label, retraction in labels:
        person = Person.of(label.moderator, label.key_id)
        if person is None:
            continue
        entry = found.setdefault(person, Moderator(person))
        entry.labels += 1
        entry.anomalies += label.label == 1
        if retraction is not None and not retraction.is_replacement:
            entry.retracted += 1
        elif label.served_label is not None:
            entry.served += 1
            entry.agreed += label.label == label.served_label
            counts = entry.by_verdict.setdefault(label.served_label, [0, 0])
            counts[0] += label.label != label.served_label
            counts[1] += 1
    return found


def _corrections(
    standing: Iterable[StoredLabel], gone: set[int], moderators: Mapping[Person, Moderator]
) -> list[Judgement]:
    """Return the predictions that somebody labelled again: two people count once, by the first label of each."""
    found: dict[tuple[str | None, frozenset[Person]], Judgement] = {}
    known = {label.version: label for label in standing}
    for label in sorted(known.values(), key=lambda each: each.version):
        earlier, second = label.replaces, Person.of(label.moderator, label.key_id)
        if earlier is None or second is None or earlier.version in gone:
            continue
        before = known.get(earlier.version)
        first = Person.of(earlier.moderator, None if before is None else before.key_id)
        if first is None or first == second:
            continue
        if before is not None:  # it is one of the labels that were counted
            moderators[first].replaced += 1
            moderators[first].overturned += earlier.label != label.label
        together = (label.prediction_id, frozenset({first, second}))
        found.setdefault(together, Judgement(first, earlier.label, second, label.label, is_blind=False))
    return list(found.values())


def _by_person(judgements: Iterable[Judgement]) -> dict[Person, list[Judgement]]:
    found: dict[Person, list[Judgement]] = {}
    for each in judgements:
        for person in (each.first, each.second):
            found.setdefault(person, []).append(each)
    return found


def _overall(judgements: Iterable[Judgement]) -> Kappa:
    cells = Counter((each.label, each.second_label) for each in judgements)
    return kappa(cells[1, 1], cells[1, -1], cells[-1, 1], cells[-1, -1], exchangeable=True)


def _pairs(judgements: Iterable[Judgement]) -> list[Pair]:
    """Return those who judged the same predictions, by their names, with most of them first."""
    cells: dict[tuple[Person, Person], Counter[tuple[int, int]]] = {}
    blind: Counter[tuple[Person, Person]] = Counter()
    for each in judgements:
        (low, low_label), (high, high_label) = sorted(
            [(each.first, each.label), (each.second, each.second_label)], key=lambda one: _name(one[0])
        )
        cells.setdefault((low, high), Counter())[low_label, high_label] += 1
        blind[low, high] += each.is_blind
    found = [
        Pair(low, high, blind[low, high], kappa(each[1, 1], each[1, -1], each[-1, 1], each[-1, -1]))
        for (low, high), each in cells.items()
    ]
    found.sort(key=lambda pair: (-pair.kappa.pairs, _name(pair.first), _name(pair.second)))
    return found[:MOST_PAIRS]


def _name(person: Person) -> tuple[bool, str]:
    return person.moderator is None, person.moderator or person.key_id or ""


def _differences(
    moderators: Mapping[Person, Moderator], blind: Sequence[Judgement]
) -> tuple[list[Difference], str | None]:
    """Compare each person with all others, and return those who differ, or why that cannot be known."""
    people = sorted(moderators.values(), key=lambda each: -each.labels)[:MOST_MODERATORS]
    if len(people) < 2:  # noqa: PLR2004 - it takes two
        return [], "there are no labels of two people to compare"
    tests = [test for person in people for test in _tests(person, moderators.values(), blind)]
    if not tests:
        return [], "there are no labels yet that can be compared"
    corrected = holm([p_value for _, p_value in tests])
    found = [
        msgspec.structs.replace(difference, p_value=p_value, comparisons=len(tests))
        for (difference, _), p_value in zip(tests, corrected, strict=True)
        if p_value < SIGNIFICANT and _matters(difference)
    ]
    return sorted(found, key=lambda each: each.p_value), None


def _tests(
    one: Moderator, everybody: Iterable[Moderator], blind: Sequence[Judgement]
) -> Iterable[tuple[Difference, float]]:
    """Yield what one person is compared by, with its p-value."""
    others = [each for each in everybody if each is not one]
    shared = [each for each in blind if one.person in {each.first, each.second}]
    apart = [each for each in blind if one.person not in {each.first, each.second}]
    second = Stratum(_disagree(shared), len(shared), _disagree(apart), len(apart))
    overturned = Stratum(
        one.overturned, one.labels - one.retracted,
        sum(each.overturned for each in others), sum(each.labels - each.retracted for each in others),
    )  # fmt: skip
    verdicts = []
    for verdict in (1, -1):
        mine = one.by_verdict.get(verdict, (0, 0))
        theirs = _sum(each.by_verdict.get(verdict, (0, 0)) for each in others)
        verdicts.append(Stratum(mine[0], mine[1], *theirs))
    exact = [("second", second), ("overturned", overturned)]
    for kind, stratum in exact:
        if stratum.trials and stratum.other_trials and stratum.hits + stratum.other_hits:
            yield _difference(one.person, kind, stratum), fisher(stratum)  # type: ignore[arg-type]  # a kind
    p_value = mantel_haenszel(verdicts)
    if p_value is not None:
        numbers = zip(*map(msgspec.structs.astuple, verdicts), strict=True)
        yield _difference(one.person, "verdicts", Stratum(*map(sum, numbers))), p_value


def _difference(person: Person, kind: Kind, found: Stratum) -> Difference:
    return Difference(person, kind, found.hits, found.trials, found.other_hits, found.other_trials, 1.0, 0)


def _matters(found: Difference) -> bool:
    """Whether a difference is large enough; who is overturned less than others is not meant."""
    difference = found.hits / found.trials - found.other_hits / found.other_trials
    return (abs(difference) if found.kind == "verdicts" else difference) >= LEAST_DIFFERENCE[found.kind]


def _disagree(judgements: Iterable[Judgement]) -> int:
    return sum(each.label != each.second_label for each in judgements)


def _sum(counts: Iterable[Sequence[int]]) -> tuple[int, int]:
    hits = trials = 0
    for some, all_of_them in counts:
        hits, trials = hits + some, trials + all_of_them
    return hits, trials


def _chance(p_value: float) -> str:
    shown = "less than 0.0001" if p_value < 0.0001 else f"{p_value:.4f}"  # noqa: PLR2004 - the last digit that is shown
    return f"By chance, a difference as large would have a probability of {shown}, corrected for all comparisons."
