"""The section of docs/scaling.md: the figures of a run between texts that do not change."""

from load_tests.cluster import telling
from load_tests.cluster.nodes import NODE_TIMEOUT_MILLISECONDS, PRIMARIES
from load_tests.cluster.results import Results, targets
from load_tests.cluster.stage import FIRST
from load_tests.harness.report import machine_list, misses, targets_table

METHOD = f"""### How it was done
- **The cluster**: {PRIMARIES} primaries and as many replicas, each a process of its own, with `appendonly yes`,
  `appendfsync always`, `cluster-node-timeout {NODE_TIMEOUT_MILLISECONDS}` and `cluster-require-full-coverage no`.
- **The services**: {len(FIRST)} to begin with, of one worker each, all told the same `SLUICE_REDIS_URL`. Everything
  else is as shipped.
- **The router** stands for the load balancer: rendezvous hashing of the tenant's name, and the next service where one
  gives no answer. A killed process refuses connections at once. A machine that vanishes does not: a balancer then needs
  a health check or a timeout to notice.
- **Labels** carry a `feedback_id`, and one that is refused is sent again until it is acknowledged. After each step all
  logs are read from the cluster, past the services: every acknowledged label must be there once, and every entry must
  chain onto the one before it.
- **Equal** means: the same version, digest and score, bit for bit.
- All of it shares one machine, so times are those of a crowded one. What is shown is the mechanism, no throughput."""


def simulation_section(results: Results) -> str:
    """The whole section."""
    found = targets(results)
    sizes = results.sizes
    acknowledged = results.agreed.checked.acknowledged
    intro = (
        f"One run of {results.seconds:.0f} s: {sizes.tenants:,} tenants, {acknowledged:,} labels acknowledged in all, "
        f"{results.agreed.checked.lost:,} of them lost."
    )
    parts = [
        intro,
        machine_list(results.machine, results.load_averages, own="2 to 4"),
        "### Targets\n" + targets_table(found) + "\n\n" + misses(found),
        "### 1. Tenants are spread\n" + telling.spread(results.spread),
        "### 2. What following costs\n" + telling.following(results.following),
        "### 3. A service is added\n" + telling.added(results.added),
        "### 4. A service is killed\n" + telling.killed(results.killed),
        "### 5. A primary of the cluster is killed\n" + telling.failed_over(results.failed_over),
        "### 6. A hot tenant\n" + telling.hot(results.hot),
        "### 7. A node is added to the cluster\n" + telling.resharded(results.resharded),
        "### 8. Loaded from nothing\n" + telling.agreed(results.agreed),
        METHOD,
    ]
    return "\n\n".join(parts)
