"""The section on streams that change."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, stdev

from experiments.figures import drift as figure
from experiments.figures.drift import NAMES, TITLES
from experiments.figures.style import LOOKS
from experiments.studies.drift import DEFAULTS, Drifting, Played
from load_tests.harness.report import table

TEXT = """## Drift

Beyond the paper: every example is tested before it is learnt, in the order of time, with and without forgetting
(docs/algorithms.md); costs are estimated. Streams that happened have one order only, so intervals are 95%, by a
paired bootstrap of blocks of examples; the stream whose labels are turned round halfway has several orders, and the
spread is over these. The two classes of PhishTank and JPCERT come from different sites: no claim about production
follows. On ELEC2 learners also ran with the largest rates of the paper's grid. These were added after a look at
what they do there, so they show what can be reached, and are no fair comparison of tuned learners."""
FLIPPED = """**Labels turned round halfway** (phishstorm). Recovered: over the last 1,000 examples as good, within
two points, as over the 10,000 before the turn; that is easier for a learner that forgetting has made worse, so both
halves are shown."""
PASTS = """How long that takes depends on how much was learnt before: labels until recovery (median) after a past of
so many examples."""


def section(found: Sequence[Drifting], figures: Path) -> str:
    """Figure, tables and what they say."""
    figure.draw(found, figures / "drift.svg")
    picture = f"![Balanced accuracy along streams that change]({figures.name}/drift.svg)"
    ordered = [each for each in found if each.flipped_at is None]
    flips = [each for each in found if each.flipped_at is not None]
    parts = [TEXT, picture, *(_ordered(each) for each in ordered)]
    if flips:
        parts += [FLIPPED, _flipped(flips), PASTS, _pasts(flips)]
    return "\n\n".join(parts)


def _ordered(stream: Drifting) -> str:
    shares = sorted({played.forgetting for played in stream.played})
    head = (
        f"**{TITLES[stream.stream]}**: {stream.examples:,} examples, {stream.positives:,} of them positive; saying the "
        f"last label again has a balanced accuracy of {100 * stream.persistent:.1f}%."
    )
    header = ("algorithm", "without forgetting %", *(f"{share:g}: gain" for share in shares[1:]))
    rows = []
    for learner, rates in dict.fromkeys((played.learner, played.rates) for played in stream.played):
        own = {p.forgetting: p for p in stream.played if (p.learner, p.rates) == (learner, rates)}
        name = _name(learner) if rates == DEFAULTS else f"{_name(learner)}, {rates}"
        rows.append((name, _with_interval(own[shares[0]]), *(_gain(own[share]) for share in shares[1:])))
    return f"{head}\n\n{table(header, rows)}"


def _flipped(flips: Sequence[Drifting]) -> str:
    rows = []
    for learner, share in dict.fromkeys((played.learner, played.forgetting) for played in flips[0].played):
        own = [p for flip in flips for p in flip.played if (p.learner, p.forgetting) == (learner, share)]
        before, after = ([100 * (getattr(p, half) or 0.0) for p in own] for half in ("before", "after"))
        rows.append(
            (_name(learner), f"{share:g}", _spread(before), _spread(after), _labels([p.recovered_after for p in own]))
        )
    return table(("algorithm", "forgetting", "before %", "after %", "labels until recovery, median (range)"), rows)


def _pasts(flips: Sequence[Drifting]) -> str:
    found = [each for flip in flips for each in flip.recoveries]
    pasts = sorted({each.past for each in found})
    rows = [
        (
            _name(learner),
            f"{share:g}",
            *(
                _labels([e.labels for e in found if (e.learner, e.forgetting, e.past) == (learner, share, past)])
                for past in pasts
            ),
        )
        for learner, share in dict.fromkeys((each.learner, each.forgetting) for each in found)
    ]
    return table(("algorithm", "forgetting", *(f"{past:,}" for past in pasts)), rows)


def _name(learner: str) -> str:
    return NAMES.get(learner, LOOKS[learner].name)


def _with_interval(played: Played) -> str:
    low, high = played.interval
    return f"{100 * played.balanced:.2f} [{100 * low:.2f}, {100 * high:.2f}]"


def _gain(played: Played) -> str:
    low, high = played.gain_interval
    return f"{100 * played.gain:+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"


def _spread(values: Sequence[float]) -> str:
    return f"{fmean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def _labels(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return f"not in {len(values) - len(known)} of {len(values)} until the end"
    return f"{median(known):,.0f} ({min(known):,}-{max(known):,})"
