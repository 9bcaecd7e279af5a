"""Step 4: a service is killed. The next one in each tenant's order answers for it."""

import asyncio
import time
from dataclasses import dataclass

from load_tests.cluster.connections import Answer, each
from load_tests.cluster.figures import Latency, latency
from load_tests.cluster.ledger import Checked
from load_tests.cluster.stage import Stage
from load_tests.cluster.traffic import Moderators

KILLED = "b"
LABELLED_EVERY = 5  # of its tenants, one in so many is given labels at the moment of the kill


@dataclass(frozen=True, slots=True)
class Killed:
    """How its tenants came through."""

    tenants: int
    labelled: int  # of them, while it was killed
    answered: int
    taken_over_by: int  # services
    seconds: float  # from the kill to the first answer of the last tenant
    first_prediction: Latency | None
    sent_on: int  # requests that got no answer from it, and were sent to the next
    differing: int
    checked: Checked


async def kill(stage: Stage) -> Killed:
    """Kill -9 while labels come, and ask all of its tenants."""
    mine = stage.tenants_of(KILLED)
    labelled = mine[::LABELLED_EVERY]
    quiet = [tenant for tenant in mine if tenant not in set(labelled)]
    before = await stage.states(quiet)
    async with Moderators(stage, labelled, "kill") as moderators:
        await asyncio.sleep(stage.sizes.traffic_seconds)
        killed_at, sent_on = time.perf_counter(), stage.router.sent_on
        stage.kill(KILLED)
        answers = await each(mine, stage.predict)
        await moderators.wait_for(len(labelled))
    after = await stage.states(quiet)
    return Killed(
        tenants=len(mine),
        labelled=len(labelled),
        answered=sum(answer.status == 200 for answer in answers.values()),
        taken_over_by=len({answer.service for answer in answers.values()}),
        seconds=max(map(_end, answers.values())) - killed_at,
        first_prediction=latency(answer.seconds for answer in answers.values()),
        sent_on=stage.router.sent_on - sent_on,
        differing=sum(before[tenant] != after[tenant] for tenant in quiet),
        checked=await stage.checked(),
    )


def _end(answer: Answer) -> float:
    return answer.at + answer.seconds
