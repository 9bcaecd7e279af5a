"""The search for the best point of a grid, in hindsight."""

from collections.abc import Callable, Sequence

from experiments.quality.contenders import Contender

Point = tuple[int, int]  # numbers of a step and of a weight

STARTS = 2


def lattice(contender: Contender) -> list[Point]:
    """Return points all over the grid, from which a search can start."""
    steps, weights = len(contender.steps), len(contender.weights)
    return [
        (s, w) for s in range(1, max(steps - 1, 2), 4) for w in range(weights > 1, max(weights - 1, 1), 3) if s < steps
    ]


def climb(
    contender: Contender,
    firsts: Sequence[Point],
    losses: Callable[[Sequence[Point]], Sequence[float]],
    moves: int,
) -> dict[Point, float]:
    """Start at the best few points; from each, move to the best neighbour on an axis until there is none.

    Return the loss of every measured point. One start is not enough: a small step with a large weight may be as good
    as the opposite, and points between them are worse.
    """
    found = dict(zip(firsts, losses(firsts), strict=True))
    for best in sorted(found, key=found.__getitem__)[:STARTS]:
        here = best
        for _ in range(moves):
            around = _around(contender, here)
            new = [point for point in around if point not in found]
            found.update(zip(new, losses(new), strict=True))
            after = min((here, *around), key=found.__getitem__)
            if after == here:
                break
            here = after
    return found


def _around(contender: Contender, point: Point) -> list[Point]:
    here, beside = point
    around = ((here - 1, beside), (here + 1, beside), (here, beside - 1), (here, beside + 1))
    return [
        (step, weight)
        for step, weight in around
        if 0 <= step < len(contender.steps) and 0 <= weight < len(contender.weights)
    ]


def edge_of(contender: Contender, point: Point) -> str:
    """Say at which ends of its grid a point lies; an optimum there may not be the best."""
    axes = (("step", contender.steps, point[0]), ("weight", contender.weights, point[1]))
    ends = [name for name, values, place in axes if len(values) > 1 and place in {0, len(values) - 1}]
    return " and ".join(ends)
