"""Steps of the services: tenants are spread, a service is added, killed, and loaded from nothing; one tenant is hot."""

import asyncio
import re
import time
from collections import Counter
from dataclasses import dataclass
from itertools import cycle
from typing import Annotated, Any

from load_tests.cluster.figures import Figure, Latency, latency
from load_tests.cluster.logs import Checked
from load_tests.cluster.nodes import PRIMARIES
from load_tests.cluster.services import FIRST, Deployment, each, label, new_id, prediction
from load_tests.cluster.slots import SLOT_OF_SHARD, slot_of
from load_tests.cluster.traffic import Moderators
from load_tests.harness.client import call
from load_tests.harness.processes import Service, processor_seconds, resident_bytes

ADDED, KILLED = "e", "b"
UNEVEN = 1.3  # times the even share
SOON = 1000  # milliseconds: by then a worker has looked at its tenants anyway, without a change feed
SNAPSHOT_EVERY = 10  # tenants: so some are loaded from a snapshot later, and the others from their log
LABELLED_EVERY = 5  # of the tenants of the killed service, one in so many gets labels meanwhile
PATIENCE_SECONDS = 10.0
HELD = re.compile(r"^sluice_tenants_held\{[^}]*\} (\S+)$", re.MULTILINE)
LABELS = "labels acknowledged so far"


@dataclass(frozen=True, slots=True)
class NodeShare:
    """What a primary of the cluster has."""

    name: str
    shards: int
    tenants: int
    keys: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ServiceShare:
    """What a service has."""

    name: str
    home_of: int
    held: int
    added_bytes: int  # to the memory of the process, by its tenants


@dataclass(frozen=True, slots=True)
class Spread:
    """How tenants lie on nodes and services."""

    nodes: list[NodeShare]
    services: list[ServiceShare]
    fullest_service: Annotated[float, Figure("fullest service: tenants beside the even share", "{:.2f} x", UNEVEN)]
    fullest_node: Annotated[float, Figure("fullest node: tenants beside the even share", "{:.2f} x", UNEVEN)]


async def spread(deployment: Deployment) -> Spread:
    """Start the services, give every tenant its first labels, and ask it once."""
    await deployment.start(*FIRST)
    deployment.router.up.update(FIRST)
    empty = {name: resident_bytes(deployment.services[name].pid) for name in FIRST}
    await each(deployment.tenants, deployment.teach, 16)
    for tenant in deployment.tenants[::SNAPSHOT_EVERY]:
        (await deployment.router.send(tenant, "POST", f"/tenants/{tenant}/snapshot")).read()
    homes = Counter(map(deployment.router.home, deployment.tenants))
    services = []
    for name in FIRST:
        service = deployment.services[name]
        added = resident_bytes(service.pid) - empty[name]
        services.append(ServiceShare(name, homes[name], tenants_held(service), added))
    nodes = _nodes(deployment)
    fullest_service = max(service.held for service in services) * len(services) / len(deployment.tenants)
    fullest_node = max(node.tenants for node in nodes) * len(nodes) / len(deployment.tenants)
    return Spread(nodes, services, fullest_service, fullest_node)


def _nodes(deployment: Deployment) -> list[NodeShare]:
    members = {member.port: member for member in deployment.cluster.members()}
    primaries, found = deployment.cluster.primaries(), []
    assert len(primaries) == PRIMARIES
    for node in primaries:
        has = members[node.port].has
        shards = sum(has(slot) for slot in SLOT_OF_SHARD.values())
        tenants = sum(has(slot_of(tenant)) for tenant in deployment.tenants)
        with node.client() as client:
            used = int(client.info("memory")["used_memory_dataset"])
            found.append(NodeShare(deployment.cluster.names[node.port], shards, tenants, int(client.dbsize()), used))
    return found


def tenants_held(service: Service) -> int:
    """How many tenants a service has in memory, by its own metrics."""
    return held_in(call(service.port, "GET", "/metrics").decode())


def held_in(metrics: str) -> int:
    """The tenants in memory of all workers together."""
    return sum(int(float(value)) for value in HELD.findall(metrics))


@dataclass(frozen=True, slots=True)
class Following:
    """What services use without requests, to follow the change feeds of all shards."""

    service_cores: Annotated[float, Figure("cores of each service", "{:.2f}")]
    node_cores: Annotated[float, Figure("cores of all primaries together, for each service", "{:.3f}")]
    commands_per_second: Annotated[float, Figure("commands that each service sends a second", "{:,.0f}")]


async def follow(deployment: Deployment) -> Following:
    """Look at the services without requests."""
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
    return Following(*(some / seconds / len(FIRST) for some in found))


@dataclass(frozen=True, slots=True)
class Added:
    """A service is added: its share of the tenants moves to it, and it loads each with its first request."""

    services: Annotated[int, Figure("services now")]
    tenants: Annotated[int, Figure("tenants in all")]
    moved: Annotated[int, Figure("tenants that move to the new service")]
    share: Annotated[float, Figure("tenants that move, beside the even share", "{:.2f} x", UNEVEN)]
    moved_elsewhere: Annotated[int, Figure("tenants that move between others", most=0)]
    held: Annotated[int, Figure("tenants in the memory of the new service then")]
    first_prediction: Annotated[Latency | None, Figure("first prediction of each")]
    differing: Annotated[int, Figure("tenants that differ in version, digest or score from their old home", most=0)]
    checked: Annotated[Checked, Figure(LABELS)]


async def add(deployment: Deployment) -> Added:
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
    failed = sum(answer.status != 200 for answer in firsts)
    return Added(
        services=len(router.up),
        tenants=len(tenants),
        moved=moves[ADDED],
        share=moves[ADDED] * len(router.up) / len(tenants),
        moved_elsewhere=moves.total() - moves[ADDED],
        held=held,
        first_prediction=latency(answer.seconds for answer in firsts if answer.status == 200),
        differing=failed + sum(now[tenant] != before[tenant] for tenant in mine),
        checked=await deployment.checked(),
    )


@dataclass(frozen=True, slots=True)
class Killed:
    """A service is killed: the next one in each tenant's order answers for it."""

    tenants: Annotated[int, Figure("tenants of the killed service")]
    labelled: Annotated[int, Figure("its tenants with labels meanwhile")]
    unanswered: Annotated[int, Figure("its tenants without an answer", most=0)]
    taken_over_by: Annotated[int, Figure("services that answer for it")]
    seconds: Annotated[float, Figure("from the kill to the first answer of the last tenant", "{:.2f} s")]
    first_prediction: Annotated[Latency | None, Figure("first prediction of each")]
    sent_on: Annotated[int, Figure("requests without an answer, sent to the next service")]
    differing: Annotated[int, Figure("tenants without labels that differ in version, digest or score then", most=0)]
    checked: Annotated[Checked, Figure(LABELS)]


async def kill(deployment: Deployment) -> Killed:
    """Kill -9 while labels come, and ask all of its tenants."""
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
    return Killed(
        tenants=len(mine),
        labelled=len(labelled),
        unanswered=sum(answer.status != 200 for answer in answers),
        taken_over_by=len({answer.service for answer in answers}),
        seconds=max(answer.end for answer in answers) - killed_at,
        first_prediction=latency(answer.seconds for answer in answers),
        sent_on=deployment.router.sent_on - sent_on,
        differing=sum(before[tenant] != after[tenant] for tenant in quiet),
        checked=await deployment.checked(),
    )


@dataclass(frozen=True, slots=True)
class Hot:
    """One tenant is asked at all services: a label that is given at one is seen at the others soon."""

    services: Annotated[int, Figure("services")]
    labels: Annotated[int, Figure("labels, given at each in turn")]
    delay: Annotated[Latency | None, Figure("from acknowledged at one service to seen at another", most=SOON)]
    differing: Annotated[int, Figure("services that end with another digest", most=0)]


async def heat(deployment: Deployment) -> Hot:
    """Give labels at the services in turn, and ask the others until they know them."""
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
    differing = sum(state != states[0] for state in states)
    return Hot(len(services), deployment.sizes.hot_labels, latency(delays), differing)


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The killed service starts again with nothing in memory, and loads some tenants from the cluster."""

    sample: Annotated[int, Figure("tenants compared")]
    load: Annotated[Latency | None, Figure("to load one")]
    differing: Annotated[int, Figure("tenants that differ in version, digest or score from their home", most=0)]
    checked: Annotated[Checked, Figure(LABELS)]


async def reload(deployment: Deployment) -> Reloaded:
    """Start the killed service, beside the others, and compare."""
    await deployment.start(KILLED)
    count = deployment.sizes.sample
    sample = deployment.tenants[:: max(len(deployment.tenants) // count, 1)][:count]
    at_home = await deployment.states(sample)
    loads = [await deployment.router.send_to(KILLED, "GET", f"/tenants/{tenant}") for tenant in sample]
    anew = await deployment.states(sample, KILLED)
    differing = sum(at_home[tenant] != anew[tenant] for tenant in sample)
    load = latency(answer.seconds for answer in loads)
    return Reloaded(len(sample), load, differing, await deployment.checked())
