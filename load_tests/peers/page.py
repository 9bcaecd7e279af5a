"""The section of docs/performance.md: the tables of a run between texts that do not change."""

from load_tests.harness.report import machine_list, misses, table, targets_table
from load_tests.peers.contenders.contender import Group
from load_tests.peers.figures import Latency, Loaded, Row, rate
from load_tests.peers.remarks import remark
from load_tests.peers.results import TITLES, Results, Table, balanced, ratios, targets
from load_tests.peers.sizes import BATCH, CONNECTIONS, SEED

METHOD = f"""### How it was measured
- **In turns**: all contenders run at the same time, each with one worker, and are asked one after the other, by a
  client process of its own each time: some hundred or thousand examples, then the next one gets the same. Rates are
  medians of the turns, ratios are medians of the ratios within a turn.
- **One connection**: each example is scored, then learnt, in the order of the stream; verdicts are those before
  learning.
- **{CONNECTIONS} connections** (as many processes at a time for bogofilter): services that were started anew and taught
  the same examples are asked for verdicts on them, then taught others. Each connection asks again as soon as it has its
  answer; whoever comes to the end of the examples begins again.
- **Features**: everyone but the mail filters and the raw rows gets the dicts that Sluice's featurizers make, scaled to
  length 1. river and scikit-learn stand behind the same FastAPI, uvicorn, uvloop, httptools and msgspec as Sluice.
- **1:99**: all normal examples and so few anomalies, at random (seed {SEED}), that they are 1 in 100.
- **Tuned** ones have the settings that `make bench-quality` found best in hindsight; Sluice has what it ships with.
- **Labels**: Sluice acknowledges a label when it is on the disk (`appendfsync always`); the peers keep what they learn
  in memory. So learning is compared where labels are kept alike: river and scikit-learn are also given a log like
  Sluice's (XADD to a Valkey with the same settings, then learning), and the mail filters are also compared with Sluice
  on a store that writes nothing. The columns "x Sluice" are always beside Sluice as it ships.
- **VW** is its own daemon in C++, out of the library of its Python package; a child for each connection.
- **rspamd** has its Bayes only, as Debian configures it: no rules, no other modules, no DNS. Mails are checked and
  learnt by its controller. Its store is a Valkey of its own.
- **Batches and NDJSON** have {BATCH} examples in a request; rates are of examples, latencies of requests."""

HEADER = (
    "contender",
    "scored and learnt per second, one connection",
    "x Sluice",
    "predict p50 / p99, ms",
    "learn p50 / p99, ms",
    f"predict per second, {CONNECTIONS} connections",
    "x Sluice",
    "p50 / p99, ms",
    f"learn per second, {CONNECTIONS} connections",
    "x Sluice",
    "p50 / p99, ms",
)


def peers_section(results: Results) -> str:
    """The whole section."""
    found = targets(results)
    facts = [*results.machine, f"It took {results.minutes:.0f} minutes"]
    parts = [
        machine_list(facts, results.load_averages, own="1 to 2"),
        *(f"### {TITLES[each.kind]}\n" + peers_table(each) for each in results.tables),
        "### Targets\n" + targets_table(found) + "\n\n" + misses(found),
        METHOD,
    ]
    return "\n\n".join(parts)


def peers_table(found: Table) -> str:
    """A row for every contender."""
    streams = [f"balanced % on {stream} (last half)" for stream in found.streams]
    return table((*HEADER, *streams, "remarks"), (_line(found, row) for row in found.rows))


def _line(found: Table, row: Row) -> tuple[object, ...]:
    name = f"**{row.name}**" if row.group is Group.OURS else row.name
    beside = ratios(found, row, row.beside)
    played = row.played.get(found.streams[0])
    return (
        name,
        f"{rate(played.rates):,.0f}" if played else "-",
        _times(beside.both),
        _latency(played.predict if played else None),
        _latency(played.learn if played else None),
        *_loaded(row.predicting, beside.predicting),
        *_loaded(row.learning, beside.learning),
        *(_balanced(row, stream) for stream in found.streams),
        remark(found, row),
    )


def _loaded(loaded: Loaded | None, beside: float | None) -> tuple[str, str, str]:
    if loaded is None:
        return "-", "-", "-"
    return f"{rate(loaded.rates):,.0f}", _times(beside), _latency(loaded.latency)


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"


def _latency(latency: Latency | None) -> str:
    return "-" if latency is None else f"{latency.p50:.2f} / {latency.p99:.2f}"


def _balanced(row: Row, stream: str) -> str:
    share = balanced(row, stream)
    if share is None:
        return "-"
    verdicts = row.played[stream].verdicts
    half = None if verdicts is None else verdicts.last_half
    return f"{share:.2f}" if half is None else f"{share:.2f} ({100.0 * half:.2f})"
