"""Who plays what: a unit for each file, and one more for those who read its inputs as they are."""

from functools import partial

from load_tests.quality.contenders import bogofilter
from load_tests.quality.contenders.registry import contenders
from load_tests.quality.jobs import Unit
from load_tests.quality.pool import Make
from load_tests.quality.sizes import Sizes
from load_tests.quality.sources import Source


def units(sizes: Sizes, files: list[Source]) -> list[Make]:
    """What is to be played, the longest first."""
    makes = [partial(_unit, source, sizes, raw=False) for source in files]
    if bogofilter.is_installed():
        makes += [partial(_unit, source, sizes, raw=True) for source in files if source.kind == "email"]
    return sorted(makes, key=lambda make: -sum(job.seconds for job in make().jobs()))


def _unit(source: Source, sizes: Sizes, *, raw: bool) -> Unit:
    return Unit(source, contenders(source.kind, raw=raw), sizes, raw=raw)
