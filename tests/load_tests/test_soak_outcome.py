"""How the soak test judges what it finds, and what it plans."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest

from load_tests.soak.__main__ import main
from load_tests.soak.client import Acknowledged, Ledger
from load_tests.soak.deployment import SERVICES, Shown
from load_tests.soak.disturbances import LEAST_GAP_SECONDS, Action, Disturbance, planned
from load_tests.soak.outcome import (
    LoggedLabel,
    Outcome,
    TenantFound,
    details,
    doubled,
    lost,
    miscounted,
    moved,
    targets,
)
from load_tests.soak.page import report, silence_seconds
from load_tests.soak.traffic import TENANTS, VOCABULARY, Label, Prediction, Traffic
from load_tests.soak.watch import LEAST_SECONDS, MIB, WARM_UP_SECONDS, Period, Sample, growth

LONG = WARM_UP_SECONDS + LEAST_SECONDS + 2.0
LABELS = (LoggedLabel("a", 1, 2), LoggedLabel("b", -1, 3))  # after a configuration
ACKNOWLEDGED = {"a": Acknowledged("acme", 1, 2), "b": Acknowledged("acme", -1, 3)}
SAME = Shown(3, "d1")
LENGTHS = [20.0, 36.0, 120.0, 1200.0, 86_400.0]
WORST = "Memory of a service late beside early, the worst"


def tenant(labels: Sequence[LoggedLabel] = LABELS, version: int = 3, **shown: Shown | None) -> TenantFound:
    everywhere = {"service 1": SAME, "service 2": SAME} | shown
    return TenantFound("acme", version, labels, version - len(labels), in_order=True, shown=everywhere)


def period(*mebibytes: float, seconds: float = LONG, labels: int = 0) -> Period:
    """Evenly spread samples; labels are given at a steady rate."""
    last = len(mebibytes) - 1
    samples = [Sample(seconds * k / last, int(value * MIB), labels * k // last) for k, value in enumerate(mebibytes)]
    return Period("service 1", 0.0, samples)


def outcome(*tenants: TenantFound, periods: Sequence[Period] = (), done: Sequence[Disturbance] = ()) -> Outcome:
    ledger = Ledger(acknowledged=ACKNOWLEDGED)
    ledger.predicted_at.append(1.0)
    ledger.prediction_seconds.append(0.002)
    found = (list(done), list(periods), Period("store", 0.0), list(tenants))
    return Outcome(LONG, 0.0, ledger, *found, old_primary_follows=True, appended_again=0, rescued=0, tracebacks=0)


def missed(found: Outcome) -> list[str]:
    return [target.text for target in targets(found) if target.met is False]


def test_a_run_without_losses_misses_nothing() -> None:
    assert missed(outcome(tenant())) == []
    assert details(outcome(tenant())) == []


def test_an_acknowledged_label_that_is_not_in_the_log_of_its_tenant_as_given_is_lost() -> None:
    assert lost(ACKNOWLEDGED, [tenant(LABELS[:1])]) == ["b"]
    assert lost(ACKNOWLEDGED, [tenant([LABELS[0], LoggedLabel("b", 1, 3)])]) == ["b"]
    other = TenantFound("other", 3, LABELS, 1, in_order=True, shown={"service 1": SAME})
    assert lost(ACKNOWLEDGED, [other]) == ["a", "b"]
    assert missed(outcome(tenant(LABELS[:1])))[0] == "Acknowledged labels that their tenant's log does not have"
    assert "Lost: b" in details(outcome(tenant(LABELS[:1])))


def test_a_label_that_is_there_twice_was_learnt_twice() -> None:
    twice = tenant([*LABELS, LoggedLabel("a", 1, 4)], version=4)
    assert doubled([twice]) == ["a"]
    assert "Labels that a log has more than once" in missed(outcome(twice))


def test_a_version_is_the_number_of_acknowledged_labels_and_other_events_without_a_gap() -> None:
    assert miscounted(ACKNOWLEDGED, [tenant()]) == []
    assert miscounted(ACKNOWLEDGED, [tenant([*LABELS, LoggedLabel("unknown", 1, 4)], version=4)]) == ["acme"]
    gap = TenantFound("acme", 3, LABELS, 1, in_order=False, shown={"service 1": SAME})
    assert miscounted(ACKNOWLEDGED, [gap]) == ["acme"]


@pytest.mark.parametrize("odd", [Shown(3, "d2"), Shown(2, "d1"), None], ids=["digest", "version", "no answer"])
def test_all_must_show_the_same_digest_at_the_version_of_the_log(odd: Shown | None) -> None:
    assert tenant().agrees
    found = outcome(tenant(fresh=odd))
    assert missed(found) == ["Tenants on whose digest services, a fresh one and a replay differ"]
    assert "acme is at version 3" in details(found)[0]


def test_labels_at_another_version_than_their_answer_said_are_counted() -> None:
    assert moved(ACKNOWLEDGED, [tenant()]) == 0
    assert moved(ACKNOWLEDGED, [tenant([LoggedLabel("a", 1, 3), LoggedLabel("b", -1, 2)])]) == 2
    assert moved({"a": Acknowledged("acme", 1, 0)}, [tenant()]) == 0  # the answer had no version


def test_growth_compares_the_last_third_with_the_first_without_warm_up_and_peaks() -> None:
    found = growth(period(1.0, *[100.0] * 400, *[150.0] * 200, *[120.0] * 400))
    peak = growth(period(*[100.0] * 900, 400.0, *[100.0] * 99))
    assert found is not None
    assert found.ratio == pytest.approx(1.2)
    assert peak is not None
    assert peak.ratio == 1.0


@pytest.mark.parametrize("short", [Period("service 1", 0.0), period(*[100.0] * 100, seconds=LONG - 3.0)])
def test_a_short_period_says_nothing(short: Period) -> None:
    judged = {target.text: target for target in targets(outcome(tenant(), periods=[short]))}[WORST]
    assert judged.met is None
    assert "no period of" in judged.measured


def test_the_worst_period_decides() -> None:
    even, growing = period(*[100.0] * 100), period(*(100.0 + k for k in range(100)))
    assert missed(outcome(tenant(), periods=[even])) == []
    assert missed(outcome(tenant(), periods=[even, growing])) == [WORST]


def test_the_store_is_judged_by_the_label() -> None:
    found = growth(period(*(10.0 + k for k in range(100)), labels=99 * 1024))
    assert found is not None
    assert found.kib_per_label == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(("clean", "expected"), [(True, []), (False, ["Services that did not end well on SIGTERM"])])
def test_a_service_that_is_terminated_must_end_well(clean: bool, expected: list[str]) -> None:
    done = [Disturbance(Action.TERMINATE, 1.0, 2.0, clean), Disturbance(Action.KILL, 3.0, 4.0)]
    assert missed(outcome(tenant(), done=done)) == expected


def test_the_time_without_labels_is_the_longest_gap_around_the_failover() -> None:
    assert silence_seconds([1.0, 90.0, 99.9, 100.1, 103.0, 103.5, 300.0], 100.0) == pytest.approx(2.9)


def test_the_section_has_every_table() -> None:
    done = [Disturbance(Action.KILL, 0.5, 1.5), Disturbance(Action.FAILOVER, 0.5, 1.5)]
    found = outcome(tenant(), periods=[period(*[100.0] * 100), period(100.0, 101.0, seconds=5.0)], done=done)
    section = report(found, "a machine").text
    assert "| predictions while a service restarted | 1; p50 2.0 ms" in section
    assert "| service 1 | 0 s | 5 s | 100.0 | 101.0 | too short |" in section


@pytest.mark.parametrize("seconds", LENGTHS)
def test_the_plan_alternates_restarts_around_one_failover_and_ends_undisturbed(seconds: float) -> None:
    steps = planned(seconds)
    store = [step for step in steps if step.action in {Action.FAILOVER, Action.COMEBACK}]
    restarts = [step for step in steps if step not in store]
    assert [step.action for step in store] == [Action.FAILOVER, Action.COMEBACK]
    assert store[0].at_seconds == seconds / 2
    assert steps == sorted(steps, key=lambda step: step.at_seconds)
    assert steps[-1].at_seconds <= 0.701 * seconds
    for one, next_one in pairwise(restarts):
        assert {one.action, next_one.action} == {Action.TERMINATE, Action.KILL}
        assert next_one.service == (one.service + 1) % SERVICES
        assert next_one.at_seconds - one.at_seconds >= LEAST_GAP_SECONDS - 1e-6


def test_in_a_run_of_the_default_length_every_service_gets_both_kinds_of_restart() -> None:
    kinds = defaultdict(set)
    for step in planned(1200.0):
        kinds[step.service].add(step.action)
    assert all({Action.TERMINATE, Action.KILL} <= kinds[service] for service in range(SERVICES))


def test_most_requests_are_predictions_and_labels_come_in_every_form_under_unique_ids() -> None:
    traffic = Traffic()
    sent = [*traffic.first_labels(), *(traffic.next_request() for _ in range(20_000))]
    kinds = Counter(type(each) for each in sent)
    assert kinds[Prediction] / len(sent) > 0.9
    assert kinds[Label] > len(TENANTS)
    assert kinds[list]
    labels = [one for each in sent for one in (each if isinstance(each, list) else [each]) if isinstance(one, Label)]
    ids = [label.feedback_id for label in labels]
    assert len(ids) == len(set(ids)) > 100


def test_popular_tenants_get_more_requests_and_know_every_feature_from_the_beginning() -> None:
    traffic = Traffic()
    known = set(msgspec.json.decode(next(traffic.first_labels()).features))
    sent = [each for each in (traffic.next_request() for _ in range(20_000)) if isinstance(each, Prediction)]
    tenants = Counter(each.tenant for each in sent)
    assert tenants.keys() == set(TENANTS)
    assert tenants[TENANTS[0]] > 10 * tenants[TENANTS[-1]]
    assert len(known) == VOCABULARY
    assert {name for each in sent[:2000] for name in msgspec.json.decode(each.example.features)} <= known


@pytest.mark.parametrize("text", ["0", "19", "soon"])
def test_an_impossible_length_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--seconds", text])
    assert text in capsys.readouterr().err
