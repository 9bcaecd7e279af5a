"""The search for the best point of a grid, in hindsight."""

from collections.abc import Callable, Sequence

from experiments.quality.contenders import Contender

Point = tuple[int, int]  # numbers of a step and of a weight


def climb(
    contender: Contender, first: Point, losses: Callable[[Sequence[Point]], Sequence[float]], moves: int
) -> dict[Point, float]:
    """Move to the best neighbour until there is none, also diagonally; return the loss of every measured point."""
    found = {first: losses([first])[0]}
    for _ in range(moves):
        best = min(found, key=found.__getitem__)
        around = [
            (step, weight)
            for step in range(max(best[0] - 1, 0), min(best[0] + 2, len(contender.steps)))
            for weight in range(max(best[1] - 1, 0), min(best[1] + 2, len(contender.weights)))
            if (step, weight) not in found
        ]
        beside = [point for point in around if best[0] == point[0] or best[1] == point[1]]
        if not around:
            break
        found.update(zip(beside or around, losses(beside or around), strict=True))
    return found


def edge_of(contender: Contender, point: Point) -> str:
    """Say at which ends of its grid a point lies; an optimum there may not be the best."""
    axes = (("step", contender.steps, point[0]), ("weight", contender.weights, point[1]))
    ends = [name for name, values, place in axes if len(values) > 1 and place in {0, len(values) - 1}]
    return " and ".join(ends)
