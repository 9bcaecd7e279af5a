"""Tenants with their own series; no counter ever decreases."""

from collections.abc import Iterator

from app.telemetry.counters import ELECTION_SECONDS, OTHER, TenantCounters


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def use(counters: TenantCounters, name: str, times: int = 1) -> None:
    for _ in range(times):
        counters.of(name).scored(0.0, 0.5, 1)


def counted(counters: TenantCounters) -> dict[str, int]:
    return {name: sum(series.predictions) for name, series in counters.series()}


def elections(counters: TenantCounters, clock: Clock) -> Iterator[None]:
    while True:
        clock.now += ELECTION_SECONDS
        counters.elect()
        yield


def test_the_first_tenants_are_named_and_the_others_counted_together() -> None:
    counters = TenantCounters(at_most=2)
    for name in ("a", "b", "c", "d"):
        use(counters, name)
    assert counted(counters) == {"a": 1, "b": 1, OTHER: 2}
    assert counters.named() == ["a", "b"]


def test_without_others_there_is_no_series_for_them() -> None:
    counters = TenantCounters(at_most=2)
    use(counters, "a")
    assert counted(counters) == {"a": 1}


def test_a_tenant_chosen_by_the_operator_is_always_named() -> None:
    counters = TenantCounters(at_most=0, always=("vip",))
    use(counters, "vip", 3)
    use(counters, "a")
    assert counted(counters) == {"vip": 3, OTHER: 1}


def test_a_busy_tenant_becomes_named_and_no_counter_decreases() -> None:
    clock = Clock()
    counters = TenantCounters(at_most=1, clock=clock)
    election = elections(counters, clock)
    use(counters, "first", 10)
    use(counters, "busy", 100)
    assert counted(counters) == {"first": 10, OTHER: 100}
    next(election)
    use(counters, "busy", 5)
    use(counters, "first", 7)
    assert counted(counters) == {"busy": 5, OTHER: 107}


def test_a_name_is_kept_against_a_rival_that_is_only_a_little_busier() -> None:
    clock = Clock()
    counters = TenantCounters(at_most=1, clock=clock)
    use(counters, "first", 10)
    use(counters, "rival", 15)
    next(elections(counters, clock))
    assert "first" in counters.named()


def test_older_uses_count_less() -> None:
    clock = Clock()
    counters = TenantCounters(at_most=1, clock=clock)
    election = elections(counters, clock)
    use(counters, "first", 1000)
    counters.of("rival")
    for _ in range(8):
        use(counters, "rival", 50)
        next(election)
    assert "rival" in counters.named()


def test_between_elections_nothing_changes() -> None:
    clock = Clock()
    counters = TenantCounters(at_most=1, clock=clock)
    use(counters, "first")
    use(counters, "busy", 100)
    clock.now += ELECTION_SECONDS - 1
    counters.elect()
    assert "first" in counters.named()


def test_a_deleted_tenant_is_removed() -> None:
    counters = TenantCounters(at_most=1)
    use(counters, "gone")
    counters.forget("gone")
    use(counters, "next")
    assert counted(counters) == {"next": 1}


def test_labels_are_counted_by_cell() -> None:
    counter = TenantCounters().of("a")
    for label, predicted in ((1, 1), (1, -1), (-1, 1), (-1, -1), (-1, -1)):
        counter.labelled(label, predicted)
    counter.labelled_served(1, -1, 120.0)
    counter.labelled_served(1, 1, None)
    assert counter.series.labels == [2, 1, 1, 1]
    assert counter.series.served == [0, 0, 1, 1]
    assert sum(counter.series.delays.counts) == 1
