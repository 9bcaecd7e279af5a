"""The sections on drift, and their figure: a row for each stream, a column for each learner."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from experiments.paper.drift import DEFAULTS, FLIP, IN_ORDER, LEARNERS, Drifting
from experiments.paper.report.figures import BAND, GREY, LOOKS, STEPS, legend_below, page, percent, picture
from load_tests.harness.report import table

NAMES: Final = {name: LOOKS[name].name for name in LEARNERS} | {"ftrl": LOOKS["cs-ftrl"].name}  # with online costs
TITLES: Final = {
    "phishtank": "PhishTank, Lobsters",
    "jpcert": "JPCERT, Lobsters",
    "elec2": "ELEC2",
    FLIP: "labels flipped",
}
SHOWN: Final = (0.0, 3e-5, 1e-4, 1e-3)


def sections(found: Sequence[Drifting], figures: Path) -> dict[str, str]:
    flips = [each for each in found if each.flipped_at is not None]
    texts = {"drift": "", "flips": _flipped(flips) if flips else "", "pasts": _pasts(flips) if flips else ""}
    if found:
        path = figures / "drift.svg"
        draw(found, path)
        ordered = [_ordered(each) for each in found if each.flipped_at is None]
        texts["drift"] = "\n\n".join([picture(path, "Balanced accuracy along streams that change"), *ordered])
    return texts


def draw(results: Sequence[Drifting], path: Path) -> None:
    """Draw bands: 95% intervals of a window as if verdicts were independent; where labels flip, all seeds."""
    order = [*((name, rates) for name, _, _, both, _ in IN_ORDER for rates in both), (FLIP, DEFAULTS)]
    rows = [([each for each in results if each.stream == name], rates) for name, rates in order]
    rows = [(streams, rates) for streams, rates in rows if streams]
    with page(path, len(rows), 3, (3.7, 2.3), 2, sharex="row", sharey="row") as (figure, panels):
        for place, (streams, rates) in enumerate(rows):
            line = panels[place * 3 : place * 3 + 3]
            for axes, learner in zip(line, LEARNERS, strict=True):
                _draw_learner(axes, streams, rates, learner)
            title = TITLES[streams[0].stream] + ("" if rates == DEFAULTS else f", {rates}")
            line[0].set_ylabel(f"{title}\nbalanced accuracy (%)")
        for axes, learner in zip(panels, LEARNERS, strict=False):
            axes.set_title(NAMES[learner])
        for axes in panels[-3:]:
            axes.set_xlabel("examples")
        legend_below(figure, panels, columns=3)


def _draw_learner(axes: Axes, streams: list[Drifting], rates: str, learner: str) -> None:
    one = streams[0]
    whole = one.examples // one.window  # the rest is too short to show
    ends = np.arange(1, whole + 1) * one.window
    for share, colour in zip(SHOWN, STEPS, strict=False):
        every = [each for stream in streams for each in stream.played]
        played = [each for each in every if (each.learner, each.rates, each.forgetting) == (learner, rates, share)]
        if not played:
            continue
        windows = np.array([each.windows for each in played], np.float64)[:, :whole]  # None becomes NaN: a gap
        middle, low, high = windows.mean(axis=0), windows.min(axis=0), windows.max(axis=0)
        if len(played) == 1:
            margins = np.array(played[0].margins, np.float64)[:whole]
            low, high = middle - margins, middle + margins
        axes.fill_between(ends, low, high, color=colour, alpha=BAND, linewidth=0)
        label = f"forgetting {share:.0e}".replace("e-0", "e-") if share else "no forgetting"
        axes.plot(ends, middle, color=colour, label=label)
    if one.flipped_at is not None:
        axes.axvline(one.flipped_at, color=GREY, linestyle=":", label="flip")
    elif one.stream == "elec2":
        axes.axhline(one.persistent, color=GREY, linestyle="--", label="the last label again (ELEC2)")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    percent(axes.yaxis)


def _ordered(stream: Drifting) -> str:
    shares = sorted({played.forgetting for played in stream.played})
    head = (
        f"**{TITLES[stream.stream]}**: {stream.examples:,} examples, {stream.positives:,} of them positive; repeating "
        f"the last label has a balanced accuracy of {100 * stream.persistent:.1f}%."
    )
    rows = []
    for learner, rates in dict.fromkeys((played.learner, played.rates) for played in stream.played):
        own = {p.forgetting: p for p in stream.played if (p.learner, p.rates) == (learner, rates)}
        low, high = own[shares[0]].interval
        gains = []
        for share in shares[1:]:
            least, most = own[share].gain_interval
            gains.append(f"{100 * own[share].gain:+.2f} [{100 * least:+.2f}, {100 * most:+.2f}]")
        name = NAMES[learner] if rates == DEFAULTS else f"{NAMES[learner]}, {rates}"
        rows.append((name, f"{100 * own[shares[0]].balanced:.2f} [{100 * low:.2f}, {100 * high:.2f}]", *gains))
    header = ("algorithm", "without forgetting %", *(f"{share:g}: gain" for share in shares[1:]))
    return f"{head}\n\n{table(header, rows)}"


def _flipped(flips: Sequence[Drifting]) -> str:
    rows = []
    for learner, share in dict.fromkeys((played.learner, played.forgetting) for played in flips[0].played):
        own = [p for flip in flips for p in flip.played if (p.learner, p.forgetting) == (learner, share)]
        halves = [[100 * (getattr(p, half) or 0.0) for p in own] for half in ("before", "after")]
        spreads = [f"{fmean(v):.2f}" + (f" ± {stdev(v):.2f}" if len(v) > 1 else "") for v in halves]
        rows.append((NAMES[learner], f"{share:g}", *spreads, _labels([p.recovered_after for p in own])))
    return table(("algorithm", "forgetting", "before %", "after %", "labels until recovery, median (range)"), rows)


def _pasts(flips: Sequence[Drifting]) -> str:
    found: dict[tuple[str, float], dict[int, list[int | None]]] = defaultdict(lambda: defaultdict(list))
    for each in (each for flip in flips for each in flip.recoveries):
        found[each.learner, each.forgetting][each.past].append(each.labels)
    pasts = sorted({past for own in found.values() for past in own})
    rows = [
        (NAMES[name], f"{share:g}", *(_labels(own[past]) for past in pasts)) for (name, share), own in found.items()
    ]
    return table(("algorithm", "forgetting", *(f"{past:,}" for past in pasts)), rows)


def _labels(values: Sequence[int | None]) -> str:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return f"not in {len(values) - len(known)} of {len(values)} until the end"
    return f"{median(known):,.0f} ({min(known):,}-{max(known):,})"
