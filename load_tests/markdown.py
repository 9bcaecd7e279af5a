"""Tables and lists of a page."""

from collections.abc import Iterable

from load_tests.targets import Target

VERDICTS = {True: "yes", False: "**no**", None: "**not known**"}


def table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    """Rows under a header."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def targets_table(found: list[Target]) -> str:
    """Each target beside what was measured."""
    rows = ((t.text, t.wanted, t.measured, VERDICTS[t.met]) for t in found)
    return table(("target", "wanted", "measured", "met"), rows)


def misses(found: list[Target]) -> str:
    """What this run did not keep, once more by itself."""
    missed = [f"- {t.text}: wanted {t.wanted}, measured {t.measured}." for t in found if not t.met]
    return "\n".join(["Not met in this run:", *missed]) if missed else "All were met in this run."


def machine_list(facts: list[str], load_averages: tuple[float, float], own: str) -> str:
    """What it ran on; `own` is the load that the benchmark makes by itself."""
    before, after = load_averages
    load = f"Load average: {before:.1f} before, {after:.1f} after (the benchmark itself makes {own})"
    return "\n".join(f"- {fact}" for fact in [*facts, load])
