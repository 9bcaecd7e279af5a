"""What the soak test makes of what it found."""

from collections.abc import Sequence

import pytest

from load_tests.soak.checking import Given, Shown, TenantFound
from load_tests.soak.disturbing import Disturbance
from load_tests.soak.judging import details, disagreeing, doubled, lost, miscounted, moved, targets
from load_tests.soak.ledger import Acknowledged, Ledger
from load_tests.soak.memory import LEAST_SECONDS, WARM_UP_SECONDS, Life, Sample, growth
from load_tests.soak.outcome import Outcome
from load_tests.soak.page import happened_table, memory_table, silence_seconds, soak_section
from load_tests.soak.plan import Deed
from load_tests.soak.traffic import Label

LONG = WARM_UP_SECONDS + LEAST_SECONDS + 2.0
MIB = 2**20
LABELS = (Given("a", 1, 2), Given("b", -1, 3))  # behind a configuration
ACKNOWLEDGED = {"a": Acknowledged("acme", 1, 2), "b": Acknowledged("acme", -1, 3)}
SAME = Shown(3, "d1")


def tenant(labels: Sequence[Given] = LABELS, version: int = 3, **shown: Shown | None) -> TenantFound:
    everywhere = {"service 1": SAME, "service 2": SAME} | shown
    return TenantFound("acme", version, labels, version - len(labels), in_order=True, shown=everywhere)


def life(*mebibytes: float, seconds: float = LONG, labels: int = 0) -> Life:
    """Of evenly spread samples, from the first moment on; labels are given at a steady rate."""
    last = len(mebibytes) - 1
    samples = [Sample(seconds * k / last, int(value * MIB), labels * k // last) for k, value in enumerate(mebibytes)]
    return Life("service 1", 0.0, samples)


def outcome(*tenants: TenantFound, lives: Sequence[Life] = (), deeds: Sequence[Disturbance] = ()) -> Outcome:
    ledger = Ledger()
    for name, given in ACKNOWLEDGED.items():
        label = Label(given.tenant, name, given.label, b"{}")
        ledger.acknowledge(label, "with features", 1.0, given.version, duplicate=False)
    ledger.predicted(1.0, 1.002, kept=True)
    return Outcome(
        seconds=LONG,
        began=0.0,
        ledger=ledger,
        disturbances=list(deeds),
        lives=list(lives),
        store=Life("store", 0.0),
        tenants=list(tenants),
        old_primary_follows=True,
        appended_again=0,
        rescued=0,
        tracebacks=0,
    )


def missed(found: Outcome) -> list[str]:
    return [target.text for target in targets(found) if target.met is False]


def test_a_run_that_went_well_misses_nothing() -> None:
    assert missed(outcome(tenant())) == []
    assert details(outcome(tenant())) == []


def test_an_acknowledged_label_that_is_not_in_the_log_is_lost() -> None:
    assert lost(ACKNOWLEDGED, [tenant(LABELS[:1])]) == ["b"]
    assert lost(ACKNOWLEDGED, [tenant()]) == []
    (text, *_) = missed(outcome(tenant(LABELS[:1])))
    assert text == "Acknowledged labels that their tenant's log does not have"
    assert "Lost: b" in details(outcome(tenant(LABELS[:1])))


def test_a_label_that_is_there_as_another_one_or_in_another_log_is_lost() -> None:
    assert lost(ACKNOWLEDGED, [tenant([LABELS[0], Given("b", 1, 3)])]) == ["b"]
    other = TenantFound("other", 3, LABELS, 1, in_order=True, shown={"service 1": SAME})
    assert lost(ACKNOWLEDGED, [other]) == ["a", "b"]


def test_a_label_that_is_there_twice_was_learnt_twice() -> None:
    twice = tenant([*LABELS, Given("a", 1, 4)], version=4)
    assert doubled([twice]) == ["a"]
    assert doubled([tenant()]) == []
    assert "Labels that a log has more than once" in missed(outcome(twice))


def test_a_version_is_the_number_of_acknowledged_labels_and_other_events() -> None:
    assert miscounted(ACKNOWLEDGED, [tenant()]) == []
    assert miscounted(ACKNOWLEDGED, [tenant([*LABELS, Given("nobody's", 1, 4)], version=4)]) == ["acme"]


def test_a_log_with_a_gap_is_miscounted_whatever_its_version() -> None:
    gap = TenantFound("acme", 3, LABELS, 1, in_order=False, shown={"service 1": SAME})
    assert miscounted(ACKNOWLEDGED, [gap]) == ["acme"]


@pytest.mark.parametrize("odd", [Shown(3, "d2"), Shown(2, "d1"), None], ids=["digest", "version", "no answer"])
def test_all_must_show_the_same_digest_at_the_version_of_the_log(odd: Shown | None) -> None:
    assert disagreeing([tenant()]) == []
    assert disagreeing([tenant(fresh=odd)]) == ["acme"]
    assert "acme is at version 3" in details(outcome(tenant(fresh=odd)))[0]


def test_labels_that_stand_elsewhere_than_they_were_told_are_counted() -> None:
    assert moved(ACKNOWLEDGED, [tenant()]) == 0
    assert moved(ACKNOWLEDGED, [tenant([Given("a", 1, 3), Given("b", -1, 2)])]) == 2
    assert moved({"a": Acknowledged("acme", 1, 0)}, [tenant()]) == 0  # the answer did not tell


def test_growth_is_of_the_last_third_beside_the_first_without_the_warm_up() -> None:
    found = growth(life(1.0, *[100.0] * 400, *[150.0] * 200, *[120.0] * 400))
    assert found is not None
    assert found.ratio == pytest.approx(1.2)


def test_a_single_peak_is_no_growth() -> None:
    found = growth(life(*[100.0] * 900, 400.0, *[100.0] * 99))
    assert found is not None
    assert found.ratio == 1.0


@pytest.mark.parametrize("short", [Life("service 1", 0.0), life(*[100.0] * 100, seconds=LONG - 3.0)])
def test_of_a_short_life_nothing_is_told(short: Life) -> None:
    assert growth(short) is None
    found = {target.text: target for target in targets(outcome(tenant(), lives=[short]))}
    judged = found["Memory of a service late in its life beside early, the worst"]
    assert judged.met is None
    assert "no life of" in judged.measured


def test_the_worst_life_decides() -> None:
    even, leaking = life(*[100.0] * 100), life(*(100.0 + k for k in range(100)))
    assert missed(outcome(tenant(), lives=[even])) == []
    assert missed(outcome(tenant(), lives=[even, leaking])) == [
        "Memory of a service late in its life beside early, the worst"
    ]


def test_the_store_is_judged_by_the_label() -> None:
    found = growth(life(*(10.0 + k for k in range(100)), labels=99 * 1024))
    assert found is not None
    assert found.bytes_per_label == pytest.approx(1024.0, rel=0.01)
    still = growth(life(*[10.0] * 100))
    assert still is not None
    assert still.bytes_per_label is None


@pytest.mark.parametrize(("clean", "expected"), [(True, []), (False, ["Services that did not end well on SIGTERM"])])
def test_a_service_that_is_asked_to_stop_ends_well(clean: bool, expected: list[str]) -> None:
    deeds = [Disturbance(Deed.TERMINATE, 1.0, 2.0, clean), Disturbance(Deed.KILL, 3.0, 4.0)]
    assert missed(outcome(tenant(), deeds=deeds)) == expected


def test_the_time_without_labels_is_the_longest_gap_around_the_failover() -> None:
    assert silence_seconds([1.0, 90.0, 99.9, 100.1, 103.0, 103.5, 300.0], 100.0) == pytest.approx(2.9)


def test_the_section_has_every_table() -> None:
    deeds = [Disturbance(Deed.KILL, 0.5, 1.5), Disturbance(Deed.FAILOVER, 0.5, 1.5)]
    found = outcome(tenant(), lives=[life(*[100.0] * 100), life(100.0, 101.0, seconds=5.0)], deeds=deeds)
    section = soak_section(found, ["a machine"], (0.1, 0.2))
    assert happened_table(found) in section
    assert "| predictions while a service restarted | 1; p50 2.0 ms" in section
    assert memory_table(found) in section
    assert "| service 1 | 0 s | 5 s | 100.0 | 101.0 | too short |" in section
