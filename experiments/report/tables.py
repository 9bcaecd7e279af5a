"""The tables of the page."""

from collections.abc import Mapping, Sequence

from experiments.curves import Figure, at, by_learner, fit_on, sets_in
from experiments.figures.style import LOOKS
from experiments.fitting import Fits
from experiments.preparing import Facts
from experiments.report.claims import Claim
from experiments.studies.timing import Timing
from load_tests.harness.report import table

LEVELS = (None, 0.6, 0.8, 0.9, 0.96, 0.98, 0.99)


def sets(facts: Mapping[str, Facts], titles: Mapping[str, str]) -> str:
    """What the sets are made of."""
    rows = (
        (
            titles[name],
            f"{each.train:,}" if each.test is not None else f"{each.train - round(0.2 * each.train):,}",
            f"{each.test if each.test is not None else round(0.2 * each.train):,}",
            f"{each.features:,}",
            f"{each.nonzeros:,}",
            f"{100 * each.positives / (each.train + (each.test or 0)):.1f}",
        )
        for name, each in facts.items()
    )
    return table(("set", "train", "test", "features", "non-zeros", "positives %"), rows)


def summary(found: Sequence[Claim], wider: Sequence[Claim]) -> str:
    """Each claim in a line, on both grids."""
    rows = ((a.name, a.paper, a.summary, b.summary) for a, b in zip(found, wider, strict=True))
    return table(("claim", "the paper says", "settings of the paper's grid", "settings of the wider grid"), rows)


def verdicts(claim: Claim) -> str:
    """A claim, set by set."""
    rows = ((each.where, each.measured, "yes" if each.holds else "**no**") for each in claim.verdicts)
    return table(("set", "measured", "holds"), rows)


def values(fits: Mapping[str, Fits], grid: str, figure: Figure) -> str:
    """Learners against sparsities."""
    header = ("algorithm", *("lambda 0" if level is None else f"{100 * level:g}%" for level in LEVELS))
    rows = (
        (LOOKS[name].name, *(str(at(fit_on(each, grid).curve, level, figure) or "-") for level in LEVELS))
        for name, each in fits.items()
    )
    return table(header, rows)


def settings(found: Mapping[str, Fits], titles: Mapping[str, str]) -> str:
    """What each grid has chosen."""
    return table(
        ("set", "algorithm", "the paper's grid", "loss there %", "beyond its edges", "loss %", "settings tried"),
        (
            (
                titles[name],
                LOOKS[learner].name,
                _setting(fits, "paper"),
                f"{100 * fit_on(fits, 'paper').chosen.loss:.2f}",
                _setting(fits, "wider") if len(fits.fits) > 1 else "the same",
                f"{100 * fit_on(fits, 'wider').chosen.loss:.2f}",
                sum(len(fit.chosen.tried) for fit in fits.fits),
            )
            for name in sets_in(found)
            for learner, fits in by_learner(found, name).items()
        ),
    )


def options(base: Fits, found: Mapping[str, Fits], figure: Figure) -> str:
    """One option changed at a time, below what was used."""
    start = f"{base.learner} on {base.set}, "
    changed = {name.removeprefix(start): each for name, each in found.items() if name.startswith(start)}
    header = ("option", "settings", *("lambda 0" if level is None else f"{100 * level:g}%" for level in LEVELS))
    rows = (
        (
            name,
            _setting(each, "wider"),
            *(str(at(fit_on(each, "wider").curve, level, figure) or "-") for level in LEVELS),
        )
        for name, each in {"as used": base, **changed}.items()
    )
    return table(header, rows)


def times(timings: Mapping[str, Timing], titles: Mapping[str, str]) -> str:
    """Nanoseconds per non-zero: the median over sparsities, and the share of examples with a loss."""
    learners = dict.fromkeys(timed.learner for timing in timings.values() for timed in timing.timed)
    rows = [(LOOKS[name].name, *(_cost(timing, name) for timing in timings.values())) for name in learners]
    return table(("algorithm", *(titles[name] for name in timings)), rows)


def _cost(timing: Timing, learner: str) -> str:
    losses = [100 * timed.losses for timed in timing.of(learner)]
    return f"{timing.cost(learner):.1f} ns ({losses[0]:.0f} to {losses[-1]:.0f}% with a loss)"


def _setting(fits: Fits, grid: str) -> str:
    chosen = fit_on(fits, grid).chosen
    return ", ".join(
        f"{name} {value:g}{' (edge)' if name in chosen.at_edge else ''}" for name, value in chosen.setting.items()
    )
