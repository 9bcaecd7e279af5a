"""The simulation of a cluster: its parts, the page that it writes, and a quick run in which nothing is lost or left."""

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
from load_tests.cluster.__main__ import report, run
from load_tests.cluster.figures import LABELS, Figure, Step
from load_tests.cluster.logs import Checked, compare
from load_tests.cluster.nodes import Member, busiest_share, members_in, slot_of
from load_tests.cluster.services import Router, order
from load_tests.cluster.store_steps import APPENDED
from load_tests.harness.jobs import Percentiles
from load_tests.harness.sizes import QUICK
from tests.load_tests.scripted import ScriptedPool
from tests.processes import command_of
from tests.reliability.oracle import StoredLog

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
SERVICES = ("a", "b", "c", "d")
TENANTS = [f"tenant-{number:05d}" for number in range(2000)]
WELL = Checked(acknowledged=4000)
SOON = Percentiles(2.0, 9.0, 15.0, 20.0)


def missed(*figures: Figure) -> list[str]:
    targets = report({"A step": Step(*figures)}, []).targets
    return [target.text for target in targets if target.met is False]


def test_figures_are_shown_and_judged() -> None:
    figures = [
        Figure("tenants", 2000),
        Figure("share", 1.257, "{:.2f} x", 1.3),
        Figure("refused", 0, most=0),
        Figure("delay", SOON, most=1000),
        Figure(LABELS, WELL),
    ]
    assert [figure.cell for figure in figures] == [
        "2,000",
        "1.26 x",
        "0",
        "p50 2.0 ms, p99 9.0 ms, worst 20.0 ms",
        "4,000: 0 lost, 0 learnt twice, 0 logs broken",
    ]
    assert missed(*figures) == []
    late = Figure("delay", replace(SOON, p99=1001.0), most=1000)
    assert len(missed(Figure("refused", 7, most=0), Figure("share", 1.31, "", 1.3), late)) == 3
    assert [target.met for target in Step(Figure("delay", None, most=1000)).targets("")] == [None]


@pytest.mark.parametrize("fate", ["lost", "twice", "broken"])
def test_a_label_that_is_lost_or_learnt_twice_is_a_miss(fate: str) -> None:
    assert missed(Figure(LABELS, replace(WELL, **{fate: 1}))) == ["A step: acknowledged labels lost, or learnt twice"]


def test_homes_are_spread_evenly_and_a_service_that_joins_takes_its_part_from_all() -> None:
    homes = {tenant: order(tenant, SERVICES)[0] for tenant in TENANTS}
    moved = {tenant: new for tenant in TENANTS if (new := order(tenant, (*SERVICES, "e"))[0]) != homes[tenant]}
    assert all(0.9 < count / (len(TENANTS) / 4) < 1.1 for count in Counter(homes.values()).values())
    assert set(moved.values()) == {"e"}
    assert 0.9 < len(moved) / (len(TENANTS) / 5) < 1.1


@pytest.mark.parametrize(("first", "place"), [(ConnectionRefusedError, 1), ((503, ""), 0), ((200, ""), 0)])
def test_the_router_passes_over_services_without_an_answer_for_the_next(
    first: tuple[int, str] | type[Exception], place: int
) -> None:
    services = order("tenant-1", SERVICES)
    router = Router({name: ScriptedPool(first if name == services[0] else (200, "")) for name in SERVICES})
    router.up.update(SERVICES)
    assert asyncio.run(router.send("tenant-1", "GET", "/")).service == services[place]
    assert router.up == set(services[place:])
    assert router.sent_on == place
    assert router.home("tenant-1") == services[place]


def test_slots_are_those_of_the_keys_and_few_nodes_share_the_shards_evenly() -> None:
    for tenant in TENANTS[:20]:
        assert key_slot(keys_of(tenant).log.encode()) == slot_of(tenant)
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


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")
def test_haproxy_accepts_the_configuration_on_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- haproxy -->\n")[2].partition("<!-- /haproxy -->")[0]
    path = tmp_path / "haproxy.cfg"
    path.write_text(textwrap.dedent(text))
    command = [str(shutil.which("haproxy")), "-c", "-f", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_labels_digests_and_predictions_survive_every_step_and_every_process_ends(tmp_path: Path) -> None:
    steps = asyncio.run(run(tmp_path, QUICK))
    counts = [target for target in report(steps, []).targets if target.wanted == "none"]
    assert [target for target in counts if not target.met] == []
    assert len(counts) == 17
    assert steps["Loaded from nothing"].values["tenants compared"] == QUICK.sample
    added = steps["A service is added"].values
    assert added["tenants in the memory of the new service then"] == added["tenants that move to the new service"]
    assert steps["A primary of the cluster is killed"].values[APPENDED]
    commands = (command_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    assert [command for command in commands if str(tmp_path) in command] == []
