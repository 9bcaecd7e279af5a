"""The page docs/quality.md: the tables of a run between texts that do not change."""

from collections.abc import Iterable

from load_tests.harness.report import machine_list, misses, table, targets_table
from load_tests.quality import sources, texts
from load_tests.quality.contenders.contender import told
from load_tests.quality.contenders.names import OURS, SPARSE
from load_tests.quality.rates import mean_curve
from load_tests.quality.results import Results, targets
from load_tests.quality.rows import Row
from load_tests.quality.sizes import NATURAL, POINTS, RARE, RATIOS
from load_tests.quality.speed import Cost

URL_STREAMS = tuple(name for source in sources.SOURCES if source.kind == "url" for name in source.streams)


def quality_page(results: Results) -> str:
    """The whole page."""
    found = targets(results)
    parts = [
        texts.HEAD,
        machine_list([*results.machine, f"It took {results.minutes:.0f} minutes"], results.load_averages, own="2"),
        *results.absent,
        f"## Targets\n{targets_table(found)}\n\n{misses(found)}\n\n{texts.CAUTION}",
        "## The streams\n" + _facts_table(results),
        "## Every contender on every stream\n" + texts.CONTENDERS,
        *(f"### {facts.stream}\n{stream_table(results, facts.stream)}" for facts in results.facts),
        f"{texts.CAUTION}",
        "## Sparsity\n" + texts.SPARSITY + "\n\n" + _sparsity_table(results),
        "## Cold start\n" + texts.COLD,
        *_cold_tables(results),
        "## What features cost\n" + _cost_table(results),
        texts.METHOD,
    ]
    return "\n\n".join(parts) + "\n"


def stream_table(results: Results, stream: str) -> str:
    """All contenders on one stream."""
    names = _ours_first(row.contender for row in results.rows if row.stream == stream)
    header = ("", "error %", "balanced %", "... last half %", f"balanced % at {RARE}", "spread", "settings")
    return table(header, (_stream_line(results, stream, name) for name in names))


def _stream_line(results: Results, stream: str, name: str) -> tuple[str, ...]:
    natural, rare = results.row(stream, name, NATURAL), results.row(stream, name, RARE)
    return (
        f"**{name}**" if name == OURS else name,
        _cell(results, natural, "error"),
        _cell(results, natural, "balanced"),
        percent(natural.mean("last_half") if natural and not _is_limited(results, natural) else None),
        _cell(results, rare, "balanced"),
        percent(rare.spread("balanced") if rare else None),
        settings_told(natural, rare),
    )


def _cell(results: Results, row: Row | None, name: str) -> str:
    """A figure; of those who were given the beginning only, with ours over the same examples."""
    if row is None:
        return "-"
    ours = results.row(row.stream, OURS, row.ratio)
    if ours is None or not _is_limited(results, row):
        return percent(row.mean(name))
    return f"{percent(row.mean(name))} (first {row.examples:,}; {OURS}: {percent(ours.mean(f'head_{name}'))})"


def _is_limited(results: Results, row: Row) -> bool:
    """Whether it was given the beginning of the stream only."""
    ours = results.row(row.stream, OURS, row.ratio)
    return ours is not None and row.examples < ours.examples


def settings_told(natural: Row | None, rare: Row | None) -> str:
    """What was chosen, once if it is the same for both ratios."""
    chosen = [(row.ratio, told(row.setting)) for row in (natural, rare) if row is not None and row.setting]
    if len({text for _, text in chosen}) <= 1:
        return next((text for _, text in chosen), "")
    return "; ".join(f"{ratio}: {text}" for ratio, text in chosen)


def _facts_table(results: Results) -> str:
    rows = (
        (
            f.stream,
            f"{f.examples:,}",
            percent(f.positives / f.examples, 1),
            f"{f.nonzeros / f.examples:.0f}",
            f"{f.features:,}",
            "by time" if f.stream not in {sources.PHISHSTORM, sources.PDD} else "shuffled",
        )
        for f in results.facts
    )
    header = ("stream", "examples", "anomalies %", "features each", "different features", "order")
    return table(header, rows)


def _sparsity_table(results: Results) -> str:
    rows = []
    for facts in results.facts:
        for ratio in RATIOS:
            sparse, lost = results.row(facts.stream, SPARSE, ratio), results.lost_by_sparsity(facts.stream, ratio)
            reached = percent(sparse.mean("sparsity") if sparse else None, 1)
            dense = results.row(facts.stream, OURS, ratio)
            by_itself = percent(dense.mean("sparsity") if dense else None, 1)
            rows.append((facts.stream, ratio, by_itself, reached, "-" if lost is None else f"{lost:+.2f}"))
    header = ("stream", "ratio", "sparsity of the default %", "sparsity reached %", "points of balanced accuracy lost")
    return table(header, rows)


def _cold_tables(results: Results) -> list[str]:
    kinds = {"URLs": URL_STREAMS, "E-mails": (sources.TREC,)}
    return [
        f"### {kind}, {ratio}\n{cold_table(results, streams, ratio)}"
        for kind, streams in kinds.items()
        for ratio in RATIOS
        if any(curve.stream in streams and curve.ratio == ratio for curve in results.curves)
    ]


def cold_table(results: Results, streams: Iterable[str], ratio: str) -> str:
    """The mean of balanced accuracy over streams, after so many labels."""
    curves = [curve for curve in results.curves if curve.stream in streams and curve.ratio == ratio]
    rows = []
    for name in _ours_first(curve.contender for curve in curves):
        values = mean_curve([curve.values for curve in curves if curve.contender == name])
        rows.append((f"**{name}**" if name == OURS else name, *(percent(value) for value in values)))
    return table(("balanced % after", *(f"{count:,} labels" for count in POINTS[ratio])), rows)


def _cost_table(results: Results) -> str:
    rows = [
        _cost_line("a URL", "`urlsplit` and `tldextract`", results.url_cost, "characters"),
        _cost_line("a mail of about 10 KB", "`email`: parse, walk, decode", results.mail_cost, "bytes"),
    ]
    header = ("input", "mean length", "features and score, us", "beside", "us", "ratio")
    peaks = ((shape, f"{peak:.1f}") for shape, peak in results.peaks.items())
    peak_table = table(("a mail of 25 MB, nearly all of it", "peak memory, times its size"), peaks)
    return f"{table(header, rows)}\n\n{peak_table}"


def _cost_line(name: str, beside: str, cost: Cost, unit: str) -> tuple[str, ...]:
    length = f"{cost.mean_length:,.0f} {unit}"
    return name, length, f"{cost.ours:.1f}", beside, f"{cost.limit:.1f}", f"{cost.ratio:.2f}"


def _ours_first(names: Iterable[str]) -> list[str]:
    """Each once; units of work end in any order."""
    return sorted(dict.fromkeys(names), key=lambda name: not name.startswith(OURS))


def percent(share: float | None, digits: int = 2) -> str:
    """A share in percent, or a dash where it is not defined."""
    return "-" if share is None else f"{100.0 * share:.{digits}f}"
