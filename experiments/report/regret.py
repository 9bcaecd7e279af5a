"""The section on regret."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev

from experiments.figures import regret as figure
from experiments.figures.style import LOOKS
from experiments.regret.theorems import THEOREMS
from experiments.studies.regret import FIXED, TUNED, Curve, Regret
from load_tests.harness.report import table

TEXT = """## Regret

Regret is the loss beyond that of the best fixed weights in hindsight, which are found exactly (a linear programme,
certified by its duality gap), for each of several lengths T. |x|_1 = 1 as the theorems want, lambda {strength:g}, r
{r:g}, {seeds} seeds. Bands reach from the lowest to the highest seed. Tuned: eta is the one that makes the
theorem's bound smallest, which takes the best weights of hindsight, so no online learner has it. The theorem on
SSOL is proved for the full matrix; the diagonal that everybody runs is shown beside it."""
FSOL = """**FSOL, O(sqrt T).** The paper: regret is at most D sqrt((X^2 + 2 lambda X) T). Measured: it grows like T
to the power in the table, and the largest regret was {share:.0%} of its bound. {verdict} Where labels are coin
flips, no learner can stay below sqrt(2 d T / pi) on average, so that the bound is of the right order."""
SSOL = """**SSOL, O(log T).** The paper: at most D^2 / (2 eta) + (eta / 2) r d log(1 + X^2 T / r) + lambda X (log T
+ 1), for weights with w' A_T w <= D^2, hence O(log T). Measured: the inequality holds (the largest regret was
{share:.0%} of it), the remark does not. w' A_T w = |w|^2 + sum (w.x)^2 / r grows with T for any fixed w: for the
best weights it grew from {small:,.0f} to {large:,.0f} between T = {first:,} and {last:,} ({sequence}). If D is held
at its value of T = {first:,} instead, the bound only speaks of weights that are so small that they lose {held:.0%}
of the rounds' loss at T = {last:,}, where the best lose {best:.0%}. With D as it is, the best rate gives O(sqrt(T
log T)), and coin flips rule out O(log T) for every learner. Second order changes the constant, not the order."""
FIXED_TEXT = """**A rate that stays fixed** (the lower row of the figure) ends in linear regret for SSOL even where
the classes can be separated: its weights A^-1 theta carry a penalty (w.x)^2 / (2 eta r) in every round that does
not fade. Minimising loss and penalty together predicts the regret per round at which the full matrix must end:"""


def section(found: Sequence[Regret], figures: Path) -> str:
    """Figure, tables and what they say."""
    figure.draw(found, figures / "regret.svg")
    head = TEXT.format(strength=found[0].strength, r=found[0].r, seeds=len(found[0].hindsight.losses))
    picture = f"![Regret against the number of rounds]({figures.name}/regret.svg)"
    return "\n\n".join([head, picture, _growth(found), _fsol(found), _ssol(found), FIXED_TEXT, _limits(found)])


def _growth(found: Sequence[Regret]) -> str:
    rows = [
        (
            f"{each.sequence}, d {each.dimensions}",
            LOOKS[algorithm].name,
            f"{fmean(own[-1] for own in tuned.regrets):,.0f}",
            f"{tuned.largest_share:.0%}",
            _exponent(tuned.exponents),
            *(_exponent(each.curve(algorithm, rate).late_exponents) for rate in FIXED),
        )
        for each in found
        for algorithm in THEOREMS
        for tuned in [each.curve(algorithm, TUNED)]
    ]
    fixed = (f"growth at eta {rate}, last decade" for rate in FIXED)
    last = f"regret at T = {found[0].horizons[-1]:,}, tuned"
    return table(("sequence", "algorithm", last, "of its bound, at most", "growth, tuned", *fixed), rows)


def _fsol(found: Sequence[Regret]) -> str:
    share = _share(found, "fsol")
    return FSOL.format(share=share, verdict="It **holds**." if share <= 1.0 else "It **does not hold**.")


def _ssol(found: Sequence[Regret]) -> str:
    shown = found[0]
    energies = shown.hindsight.energies
    last = shown.horizons[-1]
    return SSOL.format(
        share=_share(found, "ssol-full"),
        small=fmean(own[0] for own in energies),
        large=fmean(own[-1] for own in energies),
        first=shown.horizons[0],
        last=last,
        sequence=f"{shown.sequence}, d {shown.dimensions}",
        held=fmean(own[-1] for own in shown.hindsight.held_losses) / last,
        best=fmean(own[-1] for own in shown.hindsight.losses) / last,
    )


def _limits(found: Sequence[Regret]) -> str:
    rows = [
        (f"{each.sequence}, d {each.dimensions}", rate, f"{predicted:.3f}", f"{_per_round(each, rate):.3f}")
        for each in found
        for rate, predicted in each.limits.items()
    ]
    return table(("sequence", "eta", "predicted per round", "measured per round (the first seed)"), rows)


def _per_round(each: Regret, rate: str) -> float:
    """Over the last decade: what is lost in the beginning would hide where it ends."""
    regrets = each.curve("ssol-full", rate).regrets[0]
    return (regrets[-1] - regrets[-2]) / (each.horizons[-1] - each.horizons[-2])


def _share(found: Sequence[Regret], algorithm: str) -> float:
    curves: list[Curve] = [each.curve(algorithm, TUNED) for each in found]
    return max(curve.largest_share for curve in curves)


def _exponent(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "none: not above 0"
    return f"T^{fmean(known):.2f}" + (f" ± {stdev(known):.2f}" if len(known) > 1 else "")
