"""What the simulation of a cluster is made of, without processes; and the page that it writes."""

import asyncio
import shutil
import subprocess
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from redis.crc import key_slot

from app.storage.event_codec import FeedbackRecord, encode
from app.storage.event_log import next_chain
from app.storage.redis_keys import keys_of
from load_tests.cluster.__main__ import report
from load_tests.cluster.figures import LABELS, Figure, Latency, Step
from load_tests.cluster.logs import Checked, compare
from load_tests.cluster.nodes import Member, members_in
from load_tests.cluster.service_steps import held_in
from load_tests.cluster.services import Router, order
from load_tests.cluster.slots import SLOTS, busiest_share, even_ranges, slot_of
from load_tests.harness.client import Pool, Response
from tests.reliability.oracle import StoredLog

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
SERVICES = ("a", "b", "c", "d")
TENANTS = [f"tenant-{number:05d}" for number in range(2000)]
WELL = Checked(acknowledged=4000)
SOON = Latency(2.0, 9.0, 20.0)


def missed(*figures: Figure) -> list[str]:
    targets = report({"A step": Step(*figures)}, "").targets
    return [target.text for target in targets if target.met is False]


def test_figures_are_shown_and_judged() -> None:
    figures = [Figure("tenants", 2000), Figure("share", 1.257, "{:.2f} x", 1.3), Figure("refused", 0, most=0)]
    more = [Figure("delay", SOON, most=1000), Figure(LABELS, WELL)]
    section = report({"A step": Step(*figures, *more, tables=["a table"])}, "a machine").text
    assert "### 1. A step\na table\n\n| what | measured |" in section
    assert "| tenants | 2,000 |\n| share | 1.26 x |" in section
    assert "| delay | p50 2.0 ms, p99 9.0 ms, worst 20.0 ms |" in section
    assert "| A step: delay, p99 | at most 1000 ms | 9 ms | yes |" in section
    assert "| labels acknowledged so far | 4,000: 0 lost, 0 learnt twice, 0 logs broken |" in section
    assert missed(*figures, *more) == []


@pytest.mark.parametrize("fate", ["lost", "twice", "broken"])
def test_a_label_that_is_lost_or_learnt_twice_is_a_miss(fate: str) -> None:
    assert missed(Figure(LABELS, replace(WELL, **{fate: 1}))) == ["A step: acknowledged labels lost, or learnt twice"]


def test_figures_above_their_bound_are_misses_and_missing_ones_unknown() -> None:
    late = Figure("delay", Latency(2.0, 1001.0, 2000.0), most=1000)
    assert len(missed(Figure("refused", 7, most=0), Figure("share", 1.31, "", 1.3), late)) == 3
    assert [target.met for target in Step(Figure("delay", None, most=1000)).targets("")] == [None]


def test_homes_are_spread_evenly_and_a_service_that_joins_takes_its_part_from_all() -> None:
    homes = {tenant: order(tenant, SERVICES)[0] for tenant in TENANTS}
    moved = {tenant: new for tenant in TENANTS if (new := order(tenant, (*SERVICES, "e"))[0]) != homes[tenant]}
    assert all(0.9 < count / (len(TENANTS) / 4) < 1.1 for count in Counter(homes.values()).values())
    assert set(moved.values()) == {"e"}
    assert 0.9 < len(moved) / (len(TENANTS) / 5) < 1.1


class Answering(Pool):
    """A service that is there, or not."""

    def __init__(self, status: int) -> None:
        super().__init__(port=0)
        self._status = status

    async def send(self, method: str, path: str, body: bytes = b"") -> Response:  # noqa: ARG002 - whatever is asked
        if not self._status:
            raise ConnectionRefusedError
        return Response(self._status, b"")


@pytest.mark.parametrize(("status", "place"), [(0, 1), (503, 0), (200, 0)])
def test_the_router_passes_over_services_without_an_answer_for_the_next(status: int, place: int) -> None:
    services = order("tenant-1", SERVICES)
    router = Router({name: Answering(status if name == services[0] else 200) for name in SERVICES})
    router.up.update(SERVICES)
    assert asyncio.run(router.send("tenant-1", "GET", "/")).service == services[place]
    assert router.up == set(services[place:])
    assert router.sent_on == place
    assert router.home("tenant-1") == services[place]


def test_slots_are_those_of_the_keys_and_ranges_cover_all_of_them() -> None:
    for tenant in TENANTS[:20]:
        assert key_slot(keys_of(tenant).log.encode()) == slot_of(tenant)
    for nodes in (1, 3, 7, 256):
        assert [slot for first, last in even_ranges(nodes) for slot in range(first, last + 1)] == list(range(SLOTS))
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
    chain, entries = "0123", []
    for version, feedback_id in enumerate(feedback_ids, start=1):
        payload = encode(FeedbackRecord(0, 1, b"", b"", feedback_id=feedback_id))
        chain = next_chain(chain, payload)
        entries.append((version, payload, chain))
    return StoredLog("0123", len(entries), entries, {}, {})


def test_logs_are_compared_with_what_was_acknowledged() -> None:
    log, given = stored("one", "two", "three"), {"acme": frozenset({"one", "two"})}
    assert compare({"acme": log}, given) == Checked(acknowledged=2)
    assert compare({"acme": stored("one")}, given) == Checked(2, lost=1)
    assert compare({"acme": stored("one", "two", "one")}, given) == Checked(2, twice=1)
    gap = replace(log, entries=[log.entries[0], log.entries[2]])
    assert compare({"acme": gap}, given) == Checked(2, lost=1, broken=1)
    assert compare({"acme": replace(log, entries=log.entries[1:])}, given) == Checked(2, lost=1, broken=1)
    assert compare({"acme": replace(log, incarnation="another")}, given) == Checked(2, broken=1)


def test_tenants_of_all_workers_are_counted() -> None:
    text = '# HELP sluice_tenants_held x\nsluice_tenants_held{worker="0"} 12.0\nsluice_tenants_held{worker="1"} 3.0\n'
    assert held_in(text) == 15


@pytest.mark.parametrize("name", ["plan", "simulation", "haproxy"])
def test_the_page_has_the_marks_of_every_section_alone_on_their_lines(name: str) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert lines.count(f"<!-- {name} -->") == lines.count(f"<!-- /{name} -->") == 1
    assert lines.index(f"<!-- {name} -->") < lines.index(f"<!-- /{name} -->")


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_haproxy_accepts_the_configuration_on_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- haproxy -->\n")[2].partition("<!-- /haproxy -->")[0]
    path = tmp_path / "haproxy.cfg"
    path.write_text(textwrap.dedent(text))
    command = [str(shutil.which("haproxy")), "-c", "-f", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
