"""Which tenants are told by name, and that no counter ever goes back."""

from collections.abc import Iterator

from app.telemetry.tenant_counters import ELECTION_SECONDS, OTHER, TenantWatches


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def use(watches: TenantWatches, name: str, times: int = 1) -> None:
    for _ in range(times):
        watches.of(name).scored(0.0, 0.5, 1)


def counted(watches: TenantWatches) -> dict[str, int]:
    return {name: sum(meter.predictions) for name, meter in watches.meters()}


def elections(watches: TenantWatches, clock: Clock) -> Iterator[None]:
    while True:
        clock.now += ELECTION_SECONDS
        watches.elect()
        yield


def test_the_first_tenants_are_told_by_name_and_all_others_together() -> None:
    watches = TenantWatches(at_most=2)
    for name in ("a", "b", "c", "d"):
        use(watches, name)
    assert counted(watches) == {"a": 1, "b": 1, OTHER: 2}
    assert watches.named() == ["a", "b"]


def test_without_others_there_is_no_line_for_them() -> None:
    watches = TenantWatches(at_most=2)
    use(watches, "a")
    assert counted(watches) == {"a": 1}


def test_a_tenant_of_the_operators_choice_is_always_told_by_name() -> None:
    watches = TenantWatches(at_most=0, always=("vip",))
    use(watches, "vip", 3)
    use(watches, "a")
    assert counted(watches) == {"vip": 3, OTHER: 1}


def test_a_tenant_that_becomes_busy_gets_a_name_and_what_was_counted_stays_where_it_was() -> None:
    clock = Clock()
    watches = TenantWatches(at_most=1, clock=clock)
    election = elections(watches, clock)
    use(watches, "first", 10)
    use(watches, "busy", 100)
    assert counted(watches) == {"first": 10, OTHER: 100}
    next(election)
    use(watches, "busy", 5)
    use(watches, "first", 7)
    assert counted(watches) == {"busy": 5, OTHER: 107}


def test_a_name_is_kept_against_a_rival_that_is_only_a_little_busier() -> None:
    clock = Clock()
    watches = TenantWatches(at_most=1, clock=clock)
    use(watches, "first", 10)
    use(watches, "rival", 15)
    next(elections(watches, clock))
    assert "first" in watches.named()


def test_what_was_long_ago_counts_less() -> None:
    clock = Clock()
    watches = TenantWatches(at_most=1, clock=clock)
    election = elections(watches, clock)
    use(watches, "first", 1000)
    watches.of("rival")
    for _ in range(8):
        use(watches, "rival", 50)
        next(election)
    assert "rival" in watches.named()


def test_between_elections_nothing_changes() -> None:
    clock = Clock()
    watches = TenantWatches(at_most=1, clock=clock)
    use(watches, "first")
    use(watches, "busy", 100)
    clock.now += ELECTION_SECONDS - 1
    watches.elect()
    assert "first" in watches.named()


def test_a_deleted_tenant_is_forgotten() -> None:
    watches = TenantWatches(at_most=1)
    use(watches, "gone")
    watches.forget("gone")
    use(watches, "next")
    assert counted(watches) == {"next": 1}


def test_labels_are_counted_by_cell() -> None:
    watch = TenantWatches().of("a")
    for label, predicted in ((1, 1), (1, -1), (-1, 1), (-1, -1), (-1, -1)):
        watch.labelled(label, predicted)
    watch.answered(1, -1, 120.0)
    watch.answered(1, 1, None)
    assert watch.meter.labels == [2, 1, 1, 1]
    assert watch.meter.served == [0, 0, 1, 1]
    assert sum(watch.meter.delays.counts) == 1
