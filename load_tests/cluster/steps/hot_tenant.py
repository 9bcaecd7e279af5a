"""Step 6: one tenant is asked at all services. A label that is given at one is seen at the others, soon."""

import asyncio
import time
from dataclasses import dataclass
from itertools import cycle

from load_tests.cluster import inputs
from load_tests.cluster.figures import Latency, latency
from load_tests.cluster.stage import Scored, Stage

LOOK_SECONDS = 0.001
PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Hot:
    """How far behind the others were."""

    services: int
    labels: int
    delay: Latency | None  # from the acknowledgement at one to the version at another
    differing: int  # services that end with another state than the first


async def heat(stage: Stage) -> Hot:
    """Give labels at the services in turn, and ask the others until they know them."""
    tenant, services = stage.tenants[0], sorted(stage.router.up)
    delays: list[float] = []
    for number, giver in zip(range(stage.sizes.hot_labels), cycle(services)):
        version = await _give(stage, tenant, giver, number)
        acknowledged_at = time.perf_counter()
        others = [service for service in services if service != giver]
        seen = await asyncio.gather(*(_seen(stage, tenant, other, version) for other in others))
        delays += [at - acknowledged_at for at in seen]
    states = [(await stage.states([tenant], service))[tenant] for service in services]
    return Hot(len(services), stage.sizes.hot_labels, latency(delays), sum(state != states[0] for state in states))


async def _give(stage: Stage, tenant: str, giver: str, number: int) -> int:
    feedback_id = inputs.new_id("hot")
    answer = await stage.connections[giver].ask("POST", "/feedback", inputs.label(tenant, number, feedback_id))
    version: int = answer.read(dict)["version"]
    stage.ledger.note(tenant, feedback_id)
    return version


async def _seen(stage: Stage, tenant: str, service: str, version: int) -> float:
    """When a service first answered with this version."""
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while True:
        answer = await stage.connections[service].ask("POST", "/predict", inputs.prediction(tenant))
        if answer.read(Scored).version >= version:
            return answer.at + answer.seconds
        if time.perf_counter() > deadline:
            raise TimeoutError(f"service {service} does not come to version {version} of {tenant}")
        await asyncio.sleep(LOOK_SECONDS)
