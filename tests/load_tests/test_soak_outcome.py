"""How the soak test judges what it finds, and what it plans."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from load_tests.soak.__main__ import main
from load_tests.soak.client import Ledger, StoredLabel
from load_tests.soak.deployment import SERVICES, Shown
from load_tests.soak.disturbances import LEAST_GAP_SECONDS, Action, Disturbance, planned
from load_tests.soak.memory import LEAST_SECONDS, MIB, WARM_UP_SECONDS, Period, Sample
from load_tests.soak.outcome import Outcome, TenantFound, moved, report, silence_seconds, targets

LONG = WARM_UP_SECONDS + LEAST_SECONDS + 2.0
A, B = StoredLabel("acme", "a", 1, 2), StoredLabel("acme", "b", -1, 3)  # after a configuration
ACKNOWLEDGED = {"a": A, "b": B}
SAME = Shown(3, "d1")
WORST = "Memory of a service late beside early, the worst"
STORE = "Memory that the store needs for a label"


def tenant(*labels: StoredLabel, version: int = 3, in_order: bool = True, **shown: Shown | None) -> TenantFound:
    labels = labels or (A, B)
    everywhere = {"service 1": SAME, "service 2": SAME} | shown
    return TenantFound("acme", version, labels, version - len(labels), in_order, everywhere)


def period(*mebibytes: float, seconds: float = LONG, labels: int = 0) -> Period:
    """Evenly spread samples; labels are given at a steady rate."""
    last = len(mebibytes) - 1
    samples = [Sample(seconds * k / last, value * MIB, labels * k // last) for k, value in enumerate(mebibytes)]
    return Period("service 1", 0.0, samples)


def outcome(*tenants: TenantFound, periods: Sequence[Period] = (), done: Sequence[Disturbance] = ()) -> Outcome:
    ledger = Ledger(acknowledged=ACKNOWLEDGED)
    ledger.predicted_at.append(1.0)
    ledger.prediction_seconds.append(0.002)
    found = (list(done), list(periods), Period("store", 0.0), list(tenants))
    return Outcome(LONG, 0.0, ledger, *found, old_primary_follows=True, appended_again=0, rescued=0, tracebacks=0)


def missed(found: Outcome) -> dict[str, str]:
    return {target.text: target.measured for target in targets(found) if target.met is False}


def test_a_run_without_losses_misses_nothing() -> None:
    assert missed(outcome(tenant())) == {}


def test_an_acknowledged_label_that_is_not_in_the_log_of_its_tenant_as_given_is_lost() -> None:
    for found, names in (
        (tenant(A), "1, b"),
        (tenant(A, replace(B, label=1)), "1, b"),
        (tenant(replace(A, tenant="other"), B), "1, a"),
    ):
        assert missed(outcome(found))["Acknowledged labels that their tenant's log does not have"] == names


def test_a_label_that_is_there_twice_was_learnt_twice() -> None:
    twice = tenant(A, B, replace(A, version=4), version=4)
    assert missed(outcome(twice))["Labels that a log has more than once"] == "1, a"


@pytest.mark.parametrize(
    "found",
    [tenant(A, B, StoredLabel("acme", "unknown", 1, 4), version=4), tenant(in_order=False)],
    ids=["more", "gap"],
)
def test_a_version_is_the_number_of_acknowledged_labels_and_other_events_without_a_gap(found: TenantFound) -> None:
    assert missed(outcome(found))["Tenants whose version is not that of their labels and settings"] == "1, acme"


@pytest.mark.parametrize("odd", [Shown(3, "d2"), Shown(2, "d1"), None], ids=["digest", "version", "no answer"])
def test_all_must_show_the_same_digest_at_the_version_of_the_log(odd: Shown | None) -> None:
    assert tenant().agrees
    ((text, measured),) = missed(outcome(tenant(fresh=odd))).items()
    assert text == "Tenants on whose digest services, a fresh one and a replay differ"
    assert measured.startswith("1, acme at version 3, shown as")


def test_labels_at_another_version_than_their_answer_said_are_counted() -> None:
    assert moved(ACKNOWLEDGED, [tenant()]) == 0
    assert moved(ACKNOWLEDGED, [tenant(replace(A, version=3), replace(B, version=2))]) == 2
    assert moved({"a": replace(A, version=0)}, [tenant()]) == 0  # the answer had no version


def test_growth_compares_the_last_third_with_the_first_without_warm_up_and_peaks() -> None:
    pairs = [
        period(1.0, *[100.0] * 400, *[150.0] * 200, *[120.0] * 400).early_and_late(),
        period(*[100.0] * 900, 400.0, *[100.0] * 99).early_and_late(),
    ]
    assert [pair and pair[1].bytes / pair[0].bytes for pair in pairs] == [pytest.approx(1.2), 1.0]


@pytest.mark.parametrize("short", [Period("service 1", 0.0), period(*[100.0] * 100, seconds=LONG - 3.0)])
def test_a_short_period_says_nothing(short: Period) -> None:
    judged = {target.text: target for target in targets(outcome(tenant(), periods=[short]))}[WORST]
    assert judged.met is None
    assert "no period of" in judged.measured


def test_the_worst_period_decides_and_the_store_is_judged_by_the_label() -> None:
    even, growing = period(*[100.0] * 100), period(*(100.0 + k for k in range(100)), labels=99 * 1024)
    assert missed(outcome(tenant(), periods=[even])) == {}
    assert missed(outcome(tenant(), periods=[even, growing])).keys() == {WORST}
    judged = {target.text: target for target in targets(replace(outcome(tenant()), store=growing))}[STORE]
    assert (judged.measured, judged.met) == ("1 KiB", True)


@pytest.mark.parametrize(("clean", "expected"), [(True, set()), (False, {"Services that did not end well on SIGTERM"})])
def test_a_service_that_is_terminated_must_end_well(clean: bool, expected: set[str]) -> None:
    done = [Disturbance(Action.TERMINATE, 1.0, 2.0, clean), Disturbance(Action.KILL, 3.0, 4.0)]
    assert missed(outcome(tenant(), done=done)).keys() == expected


def test_the_time_without_labels_is_the_longest_gap_around_the_failover() -> None:
    assert silence_seconds([1.0, 90.0, 99.9, 100.1, 103.0, 103.5, 300.0], 100.0) == pytest.approx(2.9)


def test_the_section_has_every_table() -> None:
    done = [Disturbance(Action.KILL, 0.5, 1.5), Disturbance(Action.FAILOVER, 0.5, 1.5)]
    found = outcome(tenant(), periods=[period(*[100.0] * 100), period(100.0, 101.0, seconds=5.0)], done=done)
    section = report(found, ["a machine"]).text
    assert "| predictions while a service restarted | 1; p50 2.0 ms" in section
    assert "| service 1 | 0 s | 5 s | 100.0 | 101.0 | too short |" in section


@pytest.mark.parametrize("seconds", [20.0, 36.0, 120.0, 1200.0, 86_400.0])
def test_the_plan_alternates_restarts_around_one_failover_and_ends_undisturbed(seconds: float) -> None:
    steps = planned(seconds)
    store = [step for step in steps if step.action in {Action.FAILOVER, Action.COMEBACK}]
    assert [step.action for step in store] == [Action.FAILOVER, Action.COMEBACK]
    assert store[0].at_seconds == seconds / 2
    assert steps == sorted(steps, key=lambda step: step.at_seconds)
    assert steps[-1].at_seconds <= 0.701 * seconds
    for one, next_one in pairwise(step for step in steps if step not in store):
        assert {one.action, next_one.action} == {Action.TERMINATE, Action.KILL}
        assert next_one.service == (one.service + 1) % SERVICES
        assert next_one.at_seconds - one.at_seconds >= LEAST_GAP_SECONDS - 1e-6
    if seconds >= 1200.0:  # every service gets both kinds of restart
        assert len({(step.service, step.action) for step in steps if step not in store}) == 2 * SERVICES


@pytest.mark.parametrize("text", ["0", "19", "soon"])
def test_an_impossible_length_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--seconds", text])
    assert text in capsys.readouterr().err
