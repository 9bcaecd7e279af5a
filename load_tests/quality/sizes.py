"""How much is played."""

from dataclasses import dataclass

NATURAL = "natural"
RARE = "1:99"
RATIOS = (NATURAL, RARE)
POINTS = {NATURAL: (50, 100, 200, 500), RARE: (500, 1000, 2000)}  # labels after which a cold start is looked at
HEAD = 20_000  # examples; over these all can be compared, also those who are given no more


@dataclass(frozen=True, slots=True)
class Sizes:
    """Examples of each file at most, seeds of the samples, and cold starts."""

    examples: int
    seeds: tuple[int, ...]
    starts: dict[str, int]  # by ratio; those at 1:99 share the samples of the seeds


WHOLE = Sizes(1 << 62, (1, 2, 3, 4), {NATURAL: 20, RARE: 8})
QUICK = Sizes(5000, (1,), {NATURAL: 4, RARE: 2})
