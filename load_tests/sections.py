"""docs/performance.md: a page of several sections, each of which is written by the command that measures it."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PERFORMANCE = DOCS / "performance.md"


def write_section(name: str, text: str, page: Path = PERFORMANCE) -> None:
    """Put a text between the marks of its section; what others have written stays."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    whole = page.read_text(encoding="utf-8")
    before, found, rest = whole.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page.name} has no section between {begin.strip()} and {end.strip()}")
    page.write_text(f"{before}{begin}{text.strip()}\n{end}{after}", encoding="utf-8")
