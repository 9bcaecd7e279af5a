"""The last step: a service that knows nothing loads a sample of the tenants, and says the same as their homes."""

from dataclasses import dataclass

from load_tests.cluster.figures import Latency, latency
from load_tests.cluster.ledger import Checked
from load_tests.cluster.stage import Stage
from load_tests.cluster.steps.killing import KILLED


@dataclass(frozen=True, slots=True)
class Agreed:
    """Whether all that was done has left its traces anywhere."""

    sample: int
    differing: int
    loading: Latency | None
    checked: Checked


async def agree(stage: Stage) -> Agreed:
    """Start the killed service again, beside the others, and compare."""
    await stage.start(KILLED)
    sample = stage.tenants[:: max(len(stage.tenants) // stage.sizes.sample, 1)][: stage.sizes.sample]
    at_home = await stage.states(sample)
    loads = [await stage.connections[KILLED].ask("GET", f"/tenants/{tenant}") for tenant in sample]
    anew = await stage.states(sample, KILLED)
    return Agreed(
        sample=len(sample),
        differing=sum(at_home[tenant] != anew[tenant] for tenant in sample),
        loading=latency(answer.seconds for answer in loads),
        checked=await stage.checked(),
    )
