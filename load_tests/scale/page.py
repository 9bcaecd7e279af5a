"""The section of docs/performance.md: the tables of a run between texts that do not change."""

from app.storage.change_feed import POLL_SECONDS
from app.tenants.kept_predictions import WRITE_SECONDS
from load_tests.harness import traffic
from load_tests.harness.report import machine_list
from load_tests.scale import cost_tables, examples, following, memory_tables, residents, restarts, stores, tenants
from load_tests.scale.loading import CONNECTIONS
from load_tests.scale.results import Results
from load_tests.scenarios.traffic import EVEN_TENANTS, MIXED_TENANTS

METHOD = f"""### How it was measured
- **The client** is wrk, a program in C: on two cores it matters what the client takes. {CONNECTIONS} connections are
  kept, each of which asks again as soon as it has its answer. Any answer other than 2xx ends the run. What is compared
  takes turns, in several rounds: given are the median and, in brackets, the least and the most. Its percentiles are
  corrected: an answer that took long also stands for those who could not ask meanwhile.
- **Worker, us** and **store, us** are processor time for each request, of all workers and of the store: what a plan
  of capacity needs. A rate is what this machine had left for a service beside its store and the client.
- **The requests** have {traffic.FEATURES} features each unless it says otherwise, out of a vocabulary by Zipf's law.
  Inputs of predictions are kept for feedback unless it says keep=false. Feedback is durable: on the disk, and learnt.
- **Workers**: /predict for {EVEN_TENANTS} tenants evenly; the mixed day has {MIXED_TENANTS} tenants by Zipf's law, and
  one request in 100 is feedback.
- **Features in the model**: models are imported, then the service is killed and started anew, and each is loaded by
  its first prediction. Every feature of an example is in the model. Names of features are kept up to a million.
- **Features of an example**: out of {examples.VOCABULARY:,}, all in the model.
- **Tenants in memory**: of {tenants.FEATURES} features each. One is imported, the others are copied from it inside the
  store; in the worker they share nothing. At each size the service is killed and started, and each tenant is asked
  once, over {tenants.LOADING_CONNECTIONS} connections, so that all are in memory. None leaves it.
- **What a tenant takes**: each is loaded over one connection by a prediction of one feature; up to
  {residents.SNAPSHOTS} of them are then given a label each, and a snapshot is taken.
- **Restarts**: a tenant of {restarts.FEATURES:,} features. The service is killed (-9) and started; its embedded store
  is started anew, too, and reads its files.
- **One store**: the scripts of the service, called by a client that has all commands ready, without a service, for
  {stores.TENANTS} tenants, with `appendfsync always`; no file is written anew meanwhile. Predictions of one tenant
  within {1e3 * WRITE_SECONDS:.0f} ms are written together: where tenants are many, each is mostly alone.
- **Following**: one worker; then a second one that holds no tenant, in turns while nobody is labelled and while the
  first is given {following.LABELS_PER_SECOND:,.0f} labels a second. What a label adds is told as no less than the
  rounds without labels differ: less could be chance. One server tells a worker of changes; a cluster has to be asked,
  every {1e3 * POLL_SECONDS:.0f} ms."""


def scale_section(results: Results) -> str:
    """The whole section."""
    sizes = results.sizes
    parts = [
        machine_list(results.machine, results.load_averages, own="1 to 2"),
        f"The run took {results.minutes:.0f} minutes. Rounds: {sizes.rounds}, of {sizes.seconds:g} s for each load."
        + _resumed(results.resumed),
        "### Workers",
        cost_tables.workers_table(results),
        cost_tables.two_beside_one(results),
        "### Features in the model",
        _plot("features", "Cost of a request against the number of features in the model"),
        cost_tables.models_table(results),
        memory_tables.features_table(results),
        "### Features of an example",
        _plot("example", "Cost of a request against the number of features of its example"),
        cost_tables.examples_table(results),
        "### Tenants in memory",
        _plot("tenants", "Predictions per second, and memory, against the number of tenants"),
        cost_tables.tenants_table(results),
        memory_tables.holding_table(results),
        "### What a tenant takes",
        memory_tables.residents_table(results),
        "### Log length at a restart",
        _plot("restart", "Time of a restart against the number of events behind the snapshot"),
        memory_tables.restarts_table(results),
        "### Memory of the store",
        memory_tables.store_memory_table(results),
        "### What one store writes",
        memory_tables.writes_table(results),
        "### Following",
        memory_tables.following_table(results),
        f"Requests for {sizes.followed_tenants:,} tenants by Zipf's law, one worker:",
        cost_tables.stores_table(results),
        METHOD,
    ]
    return "\n\n".join(parts)


def _resumed(steps: list[str]) -> str:
    return f" Taken over from an earlier run: {'; '.join(steps)}." if steps else ""


def _plot(name: str, text: str) -> str:
    return f"![{text}](performance/{name}.svg)"
