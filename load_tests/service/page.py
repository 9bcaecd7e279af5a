"""The section of docs/performance.md: the tables of a run between texts that do not change."""

from load_tests.harness import traffic
from load_tests.harness.report import machine_list, misses, table, targets_table
from load_tests.service import many_tenants, routes, stalls
from load_tests.service.results import Results, targets
from load_tests.service.runs import Percentiles, Series

LATENCIES = ("p50, ms", "p99, ms", "p99.9, ms", "worst, ms")

PROFILE = """### What the profile showed
Shares of a worker's time under load, by py-spy, while this was built; the figures moved with what was changed.
- **/predict**: sending the answer 29%, receiving 12%, scoring 11%, reading names and numbers 9%, keeping the
  prediction 5%. Most of the rest is uvicorn's and the event loop's: the limit pays it, too. An answer is one write,
  whose time is the kernel's; as uvicorn sends it, checked header by header and in two writes, as the limit's is, there
  were some 5% fewer predictions a second.
- **/feedback**: at first 24% went into the follower, which read the worker's own events back from the log; it now
  leaves a tenant alone while an append is under way (3%). Then: sending the answer 22%, sending to the store 20%,
  learning 8%, making the event 7%.
- **/predict/batch**: reading names and numbers 25%, decoding the JSON around them 17%, sending 10%, sorting and scaling
  9%, scoring 6%. Reading and scoring many items in one kernel call brought an item from 21 us to 13, where nothing is
  kept. For 8 times /predict, which costs hardly more than the limit, an item may take 10 to 12: the JSON is still
  walked through twice (4 us of an item); a kernel that reads whole items from the body would do it once.
- **Batches whose inputs are kept** are held up by the disk: 40,000 inputs a second are 65 MB a second for the store to
  write and to sync, and a batch waits when 8 MiB are under way, rather than answer without a `prediction_id`.
- **Kept predictions** were fields of a hash at first: 6.7 us each on the worker, 4.2 as one string for many.
- **Pauses**: Python's collector looked through everything that the imports had made, 60 to 90 ms, when some hundred
  tenants had been loaded; it is told not to, after the start, and nothing of a tenant is on its lists. A snapshot's
  copy needs memory that was touched before: fetched on demand, its pages took 60 ms and more, so they are fetched
  before anyone has to wait.
- **The slowest feedback** waits for the disk under the store, with a snapshot or without: see the table. Predictions
  never do."""

METHOD = f"""### How it was measured
- **The limit** is a FastAPI route that reads its body and answers a constant of the size of a prediction, in a process
  of its own, under uvicorn with the very settings that Sluice has: one worker, uvloop, httptools, no access log.
- **The client** is the same for all, in a process of its own: plain sockets on uvloop, requests made beforehand,
  {routes.CONNECTIONS} connections that are kept ({routes.BATCH_CONNECTIONS} for batches and streams), each asking again
  as soon as it has its answer. It looks at the status and for a score in every answer; anything else ends the run.
- **The requests** have {traffic.FEATURES} features each with names such as `{traffic.name_of(12_345)}`, out of
  {traffic.VOCABULARY:,} by Zipf's law, in {routes.EXAMPLES:,} different bodies. Every example is learnt with either
  label, so that there is nearly always a loss, which is the dearest case.
- **Durable**: the embedded Valkey with `appendfsync always`; an answer means that the label is on the disk and learnt.
  Every second feedback has a `feedback_id`. Predictions are kept for feedback, except where it says keep=false.
- **Rounds**: every load has its turn in each. Rates and latencies are medians of the rounds, the worst is that of all,
  and ratios are medians of the ratios within a round.
- **Starts** count from the start of the process, the interpreter's own included, to the first answer 200. The service
  was killed (-9) before, so that there was no last snapshot. The slowest start counts.
- **Stalls**: {stalls.PER_SECOND:.0f} requests per second of each kind, sent at this rate whether answers come or not.
- **Many tenants**: {many_tenants.MODELS} are imported and copied inside the store, the service is killed and started
  anew, then each tenant is asked once, one after the other. Memory is that of the worker then, not of its Valkey."""


def service_section(results: Results) -> str:
    """The whole section."""
    found = targets(results)
    parts = [
        machine_list(results.machine, results.load_averages, own="1 to 2"),
        "### Targets\n" + targets_table(found) + "\n\n" + misses(found),
        "### Routes\n" + _routes_table(results.routes),
        "### Starts\n" + _starts_table(results),
        "### Snapshots\n" + _stalls_table(results),
        "### Many tenants\n" + _many(results),
        PROFILE,
        METHOD,
    ]
    return "\n\n".join(parts)


def _routes_table(found: dict[str, Series]) -> str:
    header = (
        "load",
        "items per second",
        "beside the limit",
        *LATENCIES,
        "server, us per item",
        "cores: server, store, client",
    )
    return table(header, (_route(name, series, found) for name, series in found.items()))


def _route(name: str, series: Series, found: dict[str, Series]) -> tuple[object, ...]:
    limit = found[routes.LONG_LIMIT if name == routes.LONG_PREDICT else routes.LIMIT]
    rates = (f"{series.rate:,.0f}", f"{series.rate_beside(limit):.2f} x")
    cores = f"{series.cores.server:.2f}, {series.cores.store:.2f}, {series.cores.client:.2f}"
    return (name, *rates, *_latencies(series.latency), f"{series.server_microseconds:.0f}", cores)


def _latencies(found: Percentiles | None) -> tuple[str, ...]:
    if found is None:
        return ("",) * 4
    return tuple(f"{value:.1f}" for value in (found.p50, found.p99, found.p999, found.worst))


def _starts_table(results: Results) -> str:
    starts = results.starts
    kinds = {
        "empty store, to ready": starts.empty,
        "large tenant, the service was killed": starts.restarts,
        "large tenant, its store was killed, too": starts.crashes,
    }
    rows = ((name, ", ".join(f"{seconds:.2f}" for seconds in found)) for name, found in kinds.items())
    return table(("start", "seconds"), rows)


def _stalls_table(results: Results) -> str:
    found = results.stalls
    cases = {"without": found.quiet, "with": found.with_snapshot}
    rows = ((kind, case, *_latencies(latencies[kind])) for kind in found.quiet for case, latencies in cases.items())
    taken = ", ".join(f"{seconds:.1f}" for seconds in found.snapshot_seconds)
    text = f"Constant traffic around a tenant of {results.sizes.features:,} features. A snapshot took {taken} s."
    header = ("requests", "snapshot", *LATENCIES)
    return f"{text}\n\n{table(header, rows)}"


def _many(results: Results) -> str:
    many = results.many
    each = (many.resident_bytes - many.empty_bytes) / many.tenants
    return (
        f"{many.tenants:,} tenants of {many.features:,} features with their names: {many.resident_bytes / 2**20:,.0f} "
        f"MiB resident, of which {many.empty_bytes / 2**20:,.0f} MiB are there without any; {each / 2**10:.0f} KiB for "
        f"each. The first prediction of a cold tenant, loading included: p50 {many.loading.p50:.1f} ms, "
        f"p99 {many.loading.p99:.1f} ms, p99.9 {many.loading.p999:.1f} ms, the worst {many.loading.worst:.1f} ms."
    )
