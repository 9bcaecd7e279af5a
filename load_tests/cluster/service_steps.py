"""Steps of the services: tenants are spread, a service is added, killed, and loaded from nothing; one tenant is hot."""

import asyncio
import re
import time
from collections import Counter
from itertools import cycle
from typing import Any

from load_tests.cluster.figures import LABELS, Figure, Step, latency
from load_tests.cluster.nodes import PRIMARIES
from load_tests.cluster.services import FIRST, Deployment, each, label, new_id, prediction
from load_tests.cluster.slots import SLOT_OF_SHARD, busiest_share, slot_of
from load_tests.cluster.traffic import Moderators
from load_tests.harness.client import call
from load_tests.harness.processes import Service, processor_seconds, resident_bytes
from load_tests.harness.report import table, table_of

ADDED, KILLED = "e", "b"
NODES = (3, 4, 8, 16, 32, 64)
MIB = 2**20
UNEVEN = 1.3  # times the even share
SOON = 1000  # milliseconds: by then a worker has looked at its tenants anyway, without a change feed
SNAPSHOT_EVERY = 10  # tenants: so some are loaded from a snapshot later, and the others from their log
LABELLED_EVERY = 5  # of the tenants of the killed service, one in so many gets labels meanwhile
PATIENCE_SECONDS = 10.0
HELD = re.compile(r"^sluice_tenants_held\{[^}]*\} (\S+)$", re.MULTILINE)


async def spread(deployment: Deployment) -> Step:
    """Start the services, give every tenant its first labels, and ask it once."""
    await deployment.start(*FIRST)
    deployment.router.up.update(FIRST)
    empty = {name: resident_bytes(deployment.services[name].pid) for name in FIRST}
    await each(deployment.tenants, deployment.teach, 16)
    for tenant in deployment.tenants[::SNAPSHOT_EVERY]:
        (await deployment.router.send(tenant, "POST", f"/tenants/{tenant}/snapshot")).read()
    homes, services = Counter(map(deployment.router.home, deployment.tenants)), deployment.services
    held = {name: tenants_held(services[name]) for name in FIRST}
    added = {name: (resident_bytes(services[name].pid) - empty[name]) / MIB for name in FIRST}
    nodes, on_nodes = _nodes(deployment)
    tables = [
        table(("node", "shards of 256", "tenants", "keys", "data, MiB"), nodes),
        table_of(
            FIRST,
            ("service", lambda name: name),
            ("home of", lambda name: f"{homes[name]:,}"),
            ("tenants in memory", lambda name: f"{held[name]:,}"),
            ("memory they added, MiB", lambda name: f"{added[name]:.1f}"),
        ),
        table_of(
            NODES,
            ("nodes", lambda nodes: nodes),
            ("shards for each", lambda nodes: f"{256 / nodes:.3g}"),
            ("the fullest has", lambda nodes: f"{busiest_share(nodes):.2f} x"),
        ),
    ]
    shares = [max(some) * len(some) / len(deployment.tenants) for some in (list(held.values()), on_nodes)]
    return Step(
        Figure("fullest service: tenants beside the even share", shares[0], "{:.2f} x", UNEVEN),
        Figure("fullest node: tenants beside the even share", shares[1], "{:.2f} x", UNEVEN),
        Figure(
            "tenants in the memory of a service that is not their home", sum((Counter(held) - homes).values()), most=0
        ),
        tables=tables,
    )


def _nodes(deployment: Deployment) -> tuple[list[tuple[str | int, ...]], list[int]]:
    """A row for each primary, and how many tenants each has."""
    members = {member.port: member for member in deployment.cluster.members()}
    primaries, counts = deployment.cluster.primaries(), []
    rows: list[tuple[str | int, ...]] = []
    assert len(primaries) == PRIMARIES
    for node in primaries:
        has = members[node.port].has
        counts.append(sum(has(slot_of(tenant)) for tenant in deployment.tenants))
        shards, name = sum(map(has, SLOT_OF_SHARD.values())), deployment.cluster.names[node.port]
        with node.client() as client:
            used = client.info("memory")["used_memory_dataset"] / MIB
            rows.append((name, shards, f"{counts[-1]:,}", f"{client.dbsize():,}", f"{used:.1f}"))
    return rows, counts


def tenants_held(service: Service) -> int:
    """How many tenants a service has in memory, by its own metrics."""
    return held_in(call(service.port, "GET", "/metrics").decode())


def held_in(metrics: str) -> int:
    """The tenants in memory of all workers together."""
    return sum(int(float(value)) for value in HELD.findall(metrics))


async def follow(deployment: Deployment) -> Step:
    """Look at what services use without requests, to follow the change feeds of all shards."""
    primaries = deployment.cluster.primaries()

    def used() -> tuple[float, ...]:
        return (
            time.perf_counter(),
            sum(processor_seconds(deployment.services[name].pid) for name in FIRST),
            sum(processor_seconds(node.pid) for node in primaries),
            sum(int(node.ask("INFO", "stats")["total_commands_processed"]) for node in primaries),
        )

    before = used()
    await asyncio.sleep(deployment.sizes.idle_seconds)
    seconds, *found = (late - early for early, late in zip(before, used(), strict=True))
    service_cores, node_cores, commands = (some / seconds / len(FIRST) for some in found)
    return Step(
        Figure("cores of each service", service_cores, "{:.2f}"),
        Figure("cores of all primaries together, for each service", node_cores, "{:.3f}"),
        Figure("commands that each service sends a second", commands, "{:,.0f}"),
    )


async def add(deployment: Deployment) -> Step:
    """Start a service, send it its tenants, and compare them with those at their old homes, which still hold them."""
    router, tenants = deployment.router, deployment.tenants
    homes = {tenant: router.home(tenant) for tenant in tenants}
    await deployment.start(ADDED)
    router.up.add(ADDED)
    moves = Counter(router.home(tenant) for tenant in tenants if router.home(tenant) != homes[tenant])
    mine = deployment.tenants_of(ADDED)
    firsts = [await deployment.predict(tenant) for tenant in mine]
    held, now = tenants_held(deployment.services[ADDED]), await deployment.states(mine)
    before: dict[str, Any] = {}
    for home in FIRST:
        before |= await deployment.states([tenant for tenant in mine if homes[tenant] == home], home)
    for tenant in mine:
        await deployment.teach(tenant)
    share = len(mine) * len(router.up) / len(tenants)
    differing = sum(now[tenant] != before[tenant] for tenant in mine) + sum(answer.status != 200 for answer in firsts)
    return Step(
        Figure("services now", len(router.up)),
        Figure("tenants in all", len(tenants)),
        Figure("tenants that move to the new service", len(mine)),
        Figure("tenants that move, beside the even share", share, "{:.2f} x", UNEVEN),
        Figure("tenants that move between others", moves.total() - moves[ADDED], most=0),
        Figure("tenants in the memory of the new service then", held),
        Figure("first prediction of each", latency(answer.seconds for answer in firsts if answer.status == 200)),
        Figure("tenants that differ in version, digest or score from their old home", differing, most=0),
        Figure(LABELS, await deployment.checked()),
    )


async def kill(deployment: Deployment) -> Step:
    """Kill -9 of a service while labels come, and ask all of its tenants: the next in each one's order answers."""
    mine = deployment.tenants_of(KILLED)
    labelled = mine[::LABELLED_EVERY]
    quiet = [tenant for tenant in mine if tenant not in set(labelled)]
    before = await deployment.states(quiet)
    async with Moderators(deployment, labelled, "kill") as moderators:
        await asyncio.sleep(deployment.sizes.traffic_seconds)
        killed_at, sent_on = time.perf_counter(), deployment.router.sent_on
        deployment.kill(KILLED)
        answers = list((await each(mine, deployment.predict)).values())
        await moderators.wait_for(len(labelled))
    after = await deployment.states(quiet)
    seconds = max(answer.end for answer in answers) - killed_at
    differing = sum(before[tenant] != after[tenant] for tenant in quiet)
    return Step(
        Figure("tenants of the killed service", len(mine)),
        Figure("its tenants with labels meanwhile", len(labelled)),
        Figure("its tenants without an answer", sum(answer.status != 200 for answer in answers), most=0),
        Figure("services that answer for it", len({answer.service for answer in answers})),
        Figure("from the kill to the first answer of the last tenant", seconds, "{:.2f} s"),
        Figure("first prediction of each", latency(answer.seconds for answer in answers)),
        Figure("requests without an answer, sent to the next service", deployment.router.sent_on - sent_on),
        Figure("tenants without labels that differ in version, digest or score then", differing, most=0),
        Figure(LABELS, await deployment.checked()),
    )


async def heat(deployment: Deployment) -> Step:
    """Give labels of one tenant at all services in turn, and ask the others until they know them."""
    tenant, services = deployment.tenants[0], sorted(deployment.router.up)
    delays: list[float] = []

    async def seen(service: str, version: int) -> float:
        deadline = time.perf_counter() + PATIENCE_SECONDS
        while True:
            answer = await deployment.router.send_to(service, "POST", "/predict", prediction(tenant))
            if answer.read("version")[0] >= version:
                return answer.end
            if time.perf_counter() > deadline:
                raise TimeoutError(f"service {service} does not reach version {version} of {tenant}")
            await asyncio.sleep(0.001)

    for number, giver in zip(range(deployment.sizes.hot_labels), cycle(services)):
        feedback_id = new_id("hot")
        body = label(tenant, number, feedback_id)
        (version,) = (await deployment.router.send_to(giver, "POST", "/feedback", body)).read("version")
        acknowledged_at = time.perf_counter()
        deployment.acknowledged[tenant].add(feedback_id)
        others = [service for service in services if service != giver]
        delays += [at - acknowledged_at for at in await asyncio.gather(*(seen(other, version) for other in others))]
    states = [(await deployment.states([tenant], service))[tenant] for service in services]
    return Step(
        Figure("services", len(services)),
        Figure("labels, given at each in turn", deployment.sizes.hot_labels),
        Figure("from acknowledged at one service to seen at another", latency(delays), most=SOON),
        Figure("services that end with another digest", sum(state != states[0] for state in states), most=0),
    )


async def reload(deployment: Deployment) -> Step:
    """Start the killed service with nothing in memory, beside the others, and compare some tenants."""
    await deployment.start(KILLED)
    count = deployment.sizes.sample
    sample = deployment.tenants[:: max(len(deployment.tenants) // count, 1)][:count]
    at_home = await deployment.states(sample)
    loads = [await deployment.router.send_to(KILLED, "GET", f"/tenants/{tenant}") for tenant in sample]
    anew = await deployment.states(sample, KILLED)
    differing = sum(at_home[tenant] != anew[tenant] for tenant in sample)
    return Step(
        Figure("tenants compared", len(sample)),
        Figure("to load one", latency(answer.seconds for answer in loads)),
        Figure("tenants that differ in version, digest or score from their home", differing, most=0),
        Figure(LABELS, await deployment.checked()),
    )
