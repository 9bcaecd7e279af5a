"""What the simulation of a cluster is made of, without processes."""

import asyncio
from collections import Counter

import pytest
from redis.crc import key_slot

from app.storage.event_codec import FeedbackRecord, encode
from app.storage.event_log import next_chain
from app.storage.redis_keys import keys_of
from load_tests.cluster import inputs
from load_tests.cluster.connections import NO_ANSWER, Answer, Connections, each
from load_tests.cluster.figures import held_in, latency
from load_tests.cluster.ledger import Ledger, StoredLog
from load_tests.cluster.nodes import Member, members_in
from load_tests.cluster.rendezvous import home, order
from load_tests.cluster.routing import Router
from load_tests.cluster.slots import SLOTS, busiest_share, even_ranges, slot_of

SERVICES = ("a", "b", "c", "d")
TENANTS = inputs.names_of(2000)
BORN = "0123456789abcdef"


def test_homes_are_spread_evenly() -> None:
    found = Counter(home(tenant, SERVICES) for tenant in TENANTS)
    assert all(0.9 < count / (len(TENANTS) / len(SERVICES)) < 1.1 for count in found.values())


def test_a_service_that_joins_takes_its_part_and_nobody_else_moves() -> None:
    moved = {tenant: home(tenant, (*SERVICES, "e")) for tenant in TENANTS}
    changed = {tenant: new for tenant, new in moved.items() if new != home(tenant, SERVICES)}
    assert set(changed.values()) == {"e"}
    assert 0.9 < len(changed) / (len(TENANTS) / 5) < 1.1


def test_the_next_in_order_is_the_home_without_the_first() -> None:
    for tenant in TENANTS[:100]:
        first, second, *_ = order(tenant, SERVICES)
        assert first == home(tenant, SERVICES)
        assert second == home(tenant, set(SERVICES) - {first})


class Answering(Connections):
    """A service that is there, or not."""

    def __init__(self, service: str, status: int) -> None:
        super().__init__(service, port=0)
        self._status = status

    async def ask(self, method: str, path: str, body: bytes = b"") -> Answer:  # noqa: ARG002 - whatever is asked
        return Answer(self.service, self._status, b"", 0.0, 0.0)


def test_the_router_goes_on_to_the_next_service_and_remembers_who_gave_no_answer() -> None:
    first, second, *_ = order("tenant-1", SERVICES)
    router = Router({name: Answering(name, NO_ANSWER if name == first else 200) for name in SERVICES})
    router.up.update(SERVICES)
    assert asyncio.run(router.ask("tenant-1", "GET", "/")).service == second
    assert router.up == set(SERVICES) - {first}
    assert router.sent_on == 1
    assert router.home("tenant-1") == second


def test_a_refusal_is_an_answer() -> None:
    router = Router({name: Answering(name, 503) for name in SERVICES})
    router.up.update(SERVICES)
    answer = asyncio.run(router.ask("tenant-1", "GET", "/"))
    assert (answer.service, answer.status) == (home("tenant-1", SERVICES), 503)
    assert router.up == set(SERVICES)


def test_every_item_is_worked_on_once() -> None:
    async def doubled(number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number

    assert asyncio.run(each(range(20), doubled, at_once=3)) == {number: 2 * number for number in range(20)}


@pytest.mark.parametrize("tenant", TENANTS[:20])
def test_the_slot_of_a_tenant_is_that_of_its_keys(tenant: str) -> None:
    keys = keys_of(tenant)
    assert {key_slot(name.encode()) for name in (keys.log, keys.meta, keys.changes)} == {slot_of(tenant)}


@pytest.mark.parametrize("nodes", [1, 3, 7, 256])
def test_even_ranges_cover_every_slot_once(nodes: int) -> None:
    assert [slot for first, last in even_ranges(nodes) for slot in range(first, last + 1)] == list(range(SLOTS))


def test_the_fullest_of_many_nodes_has_more_than_its_part() -> None:
    assert busiest_share(1) == 1.0
    assert busiest_share(4) < 1.1
    assert busiest_share(64) > 1.5


def test_nodes_that_have_failed_and_slots_on_the_move_are_left_out() -> None:
    text = """
aa 127.0.0.1:7001@17001 myself,master - 0 0 1 connected 0-5460 5462 [93->-bb]
bb 127.0.0.1:7002@17002 slave aa 0 0 1 connected
cc 127.0.0.1:7003@17003 master,fail - 0 0 2 disconnected 5461
dd 127.0.0.1:7004@17004 master,fail? - 0 0 3 connected 5463-16383
"""
    assert members_in(text) == [
        Member(7001, is_primary=True, slots=((0, 5460), (5462, 5462))),
        Member(7002, is_primary=False, slots=()),
        Member(7004, is_primary=True, slots=((5463, 16383),)),
    ]
    assert members_in(text)[0].has(5462)
    assert not members_in(text)[0].has(5461)


def stored(*feedback_ids: str) -> StoredLog:
    chain, entries = BORN, []
    for version, feedback_id in enumerate(feedback_ids, start=1):
        payload = encode(FeedbackRecord(0, 1, b"", b"", feedback_id=feedback_id))
        chain = next_chain(chain, payload)
        entries.append((version, payload, chain))
    return StoredLog(BORN, entries)


def test_a_log_knows_how_often_a_label_is_in_it() -> None:
    assert stored("one", "two", "one").feedback_ids == {"one": 2, "two": 1}


def test_a_log_with_a_gap_or_with_an_entry_of_another_history_is_not_whole() -> None:
    log = stored("one", "two", "three")
    assert log.is_whole
    assert not StoredLog(BORN, [log.entries[0], log.entries[2]]).is_whole
    assert not StoredLog("another", log.entries).is_whole


def test_what_is_acknowledged_later_does_not_change_what_had_been_given() -> None:
    ledger = Ledger()
    ledger.note("acme", "one", "two")
    ledger.note("other", "three")
    before = ledger.given()
    ledger.note("acme", "four")
    assert before == {"acme": {"one", "two"}, "other": {"three"}}
    assert ledger.given(["acme"]) == {"acme": {"one", "two", "four"}}


def test_every_run_asks_the_same_and_every_tenant_something_else() -> None:
    assert inputs.prediction("tenant-00001") == inputs.prediction("tenant-00001")
    assert (
        inputs.prediction("tenant-00001").partition(b"features")[2]
        != inputs.prediction("tenant-00002").partition(b"features")[2]
    )
    assert inputs.new_id("x") != inputs.new_id("x")


def test_tenants_of_all_workers_are_counted() -> None:
    text = '# HELP sluice_tenants_held x\nsluice_tenants_held{worker="0"} 12.0\nsluice_tenants_held{worker="1"} 3.0\n'
    assert held_in(text) == 15


def test_nothing_measured_has_no_latency() -> None:
    assert latency([]) is None
    found = latency([0.001, 0.003])
    assert found is not None
    assert (found.p50, found.worst) == pytest.approx((2.0, 3.0))
