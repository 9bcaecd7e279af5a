"""The search for the best point of a grid, in hindsight."""

from collections.abc import Callable, Sequence

from experiments.quality.contenders import Contender

Point = tuple[int, int]  # numbers of a step and of a weight

STARTS = 3


def lattice(contender: Contender) -> list[Point]:
    """Return points all over the grid, from which a search can start."""
    steps, weights = len(contender.steps), len(contender.weights)
    return [(s, w) for s in range(1, max(steps - 1, 2), 3) for w in range(weights // 2 % 2, weights, 2) if s < steps]


def climb(
    contender: Contender, firsts: Sequence[Point], losses: Callable[[Sequence[Point]], Sequence[float]], moves: int
) -> dict[Point, float]:
    """Start at the best few points; from each, move to the best neighbour until there is none, also diagonally.

    Return the loss of every measured point. One start is not enough: a small step with a large weight may be as good
    as the opposite, and points between them are worse.
    """
    found = dict(zip(firsts, losses(firsts), strict=True))
    for best in sorted(found, key=found.__getitem__)[:STARTS]:
        here = best
        for _ in range(moves):
            around = _around(contender, here)
            beside = [point for point in around if here[0] == point[0] or here[1] == point[1]]
            new = [point for point in beside if point not in found] or [point for point in around if point not in found]
            found.update(zip(new, losses(new), strict=True))
            after = min((here, *around), key=lambda point: found.get(point, float("inf")))
            if after == here and not any(point not in found for point in around):
                break
            here = after
    return found


def _around(contender: Contender, point: Point) -> list[Point]:
    return [
        (step, weight)
        for step in range(max(point[0] - 1, 0), min(point[0] + 2, len(contender.steps)))
        for weight in range(max(point[1] - 1, 0), min(point[1] + 2, len(contender.weights)))
        if (step, weight) != point
    ]


def edge_of(contender: Contender, point: Point) -> str:
    """Say at which ends of its grid a point lies; an optimum there may not be the best."""
    axes = (("step", contender.steps, point[0]), ("weight", contender.weights, point[1]))
    ends = [name for name, values, place in axes if len(values) > 1 and place in {0, len(values) - 1}]
    return " and ".join(ends)
