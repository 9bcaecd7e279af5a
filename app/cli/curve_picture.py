"""The curve of a learner: the rates at every threshold, as text and as a picture."""

from html import escape
from typing import Final

from app.cli.output import percent, print_table, print_text
from app.learning.honest.curve import CurvePoint, curve_of, target_of
from app.learning.honest.figures import Rate
from app.learning.state import TenantState

RATES: Final = {"sensitivity": "#1f77b4", "specificity": "#2ca02c", "precision": "#d62728", "flagged": "#7f7f7f"}
HEADS: Final = ("threshold", *RATES)
POINTS: Final = 81
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 560, 360, 64, 44, 20, 76  # pixels of the picture


def show_target(state: TenantState) -> None:
    """Print what the threshold follows, and the rates at the threshold now."""
    target, curve = target_of(state), curve_of(state, POINTS)
    if target is not None:
        followed = "followed" if target.followed else f"not followed: {target.reason}"
        print_text("", f"Target: {target.name} = {target.value:g}, {followed}. Rates at the threshold at the end:", "")
    elif curve.now is not None:
        print_text("", "Rates at the threshold at the end:", "")
    if curve.now is not None:
        now = curve.now
        print_table(HEADS, [[f"{now.threshold:.4f}", *(_with_interval(getattr(now, name)) for name in RATES)]])


def svg(state: TenantState) -> str | None:
    """Return the curve as a picture, with 95% intervals; None if no scores are kept."""
    curve = curve_of(state, POINTS)
    if curve.points is None:
        return None
    first, last = curve.points[0].threshold, curve.points[-1].threshold
    name = escape(str(state.config.values["algorithm"]))
    width, height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14">Rates of {name} at every threshold</text>',
        f'<text x="{LEFT}" y="35">{curve.anomalies:,} labels of anomalies and {curve.normal:,} of normal items</text>',
    ]

    def x_of(threshold: float) -> float:
        share = (threshold - first) / (last - first) if last > first else 0.5
        return round(LEFT + WIDTH * min(max(share, 0.0), 1.0), 1)

    for tick in range(6):
        x, threshold = round(LEFT + WIDTH * tick / 5, 1), first + (last - first) * tick / 5
        parts += [
            f'<path d="M{x} {TOP}V{TOP + HEIGHT}M{LEFT} {_y(tick / 5)}H{LEFT + WIDTH}" stroke="#ddd"/>',
            f'<text x="{x}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{threshold:.3g}</text>',
            f'<text x="{LEFT - 8}" y="{_y(tick / 5) + 4}" text-anchor="end">{20 * tick}%</text>',
        ]
    for number, (rate, colour) in enumerate(RATES.items()):
        known = [(x_of(point.threshold), found) for point in curve.points if (found := _known(point, rate))]
        line = " ".join(f"{x},{_y(value)}" for x, (value, _, _) in known)
        band = [f"{x},{_y(high)}" for x, (_, _, high) in known] + [
            f"{x},{_y(low)}" for x, (_, low, _) in reversed(known)
        ]
        parts += [
            f'<polygon points="{" ".join(band)}" fill="{colour}" fill-opacity="0.12"/>',
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<text x="{LEFT + 130 * number}" y="{height - 12}" fill="{colour}">{rate}</text>',
        ]
    now = x_of(curve.threshold)
    return "\n".join(
        [
            *parts,
            f'<path d="M{now} {TOP}V{TOP + HEIGHT}" stroke="#000" stroke-dasharray="4 4"/>',
            f'<text x="{LEFT}" y="{height - 34}">The dashed line is the threshold, {curve.threshold:.4g}.</text>',
            "</svg>\n",
        ]
    )


def _known(point: CurvePoint, name: str) -> tuple[float, float, float] | None:
    rate: Rate = getattr(point, name)
    if rate.value is None or rate.low is None or rate.high is None:
        return None
    return rate.value, rate.low, rate.high


def _with_interval(rate: Rate) -> str:
    if rate.value is None:
        return "-"
    return f"{percent(rate.value)} ({percent(rate.low)} to {percent(rate.high)})"


def _y(share: float) -> float:
    return round(TOP + HEIGHT * (1.0 - share), 1)
