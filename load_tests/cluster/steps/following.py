"""Step 2: what it costs that every service asks for every shard's change feed, while nobody asks it for anything."""

import asyncio
import time
from dataclasses import dataclass

from load_tests.cluster.stage import FIRST, Stage
from load_tests.harness.processes import processor_seconds
from tests.servers import Server


@dataclass(frozen=True, slots=True)
class Following:
    """What idle services use."""

    service_cores: float  # of each
    node_cores: float  # of all primaries together, for each service
    commands_per_second: float  # that each service sends


@dataclass(frozen=True, slots=True)
class _Used:
    """Since the processes began, all of a kind together."""

    at: float
    services: float
    nodes: float
    commands: int


async def follow(stage: Stage) -> Following:
    """Look at the services while nothing is asked."""
    primaries = stage.cluster.primaries()
    before = _used(stage, primaries)
    await asyncio.sleep(stage.sizes.idle_seconds)
    after = _used(stage, primaries)
    share = (after.at - before.at) * len(FIRST)
    return Following(
        service_cores=(after.services - before.services) / share,
        node_cores=(after.nodes - before.nodes) / share,
        commands_per_second=(after.commands - before.commands) / share,
    )


def _used(stage: Stage, primaries: list[Server]) -> _Used:
    return _Used(
        time.perf_counter(),
        sum(processor_seconds(stage.services[name].pid) for name in FIRST),
        sum(processor_seconds(node.pid) for node in primaries),
        sum(int(node.ask("INFO", "stats")["total_commands_processed"]) for node in primaries),
    )
