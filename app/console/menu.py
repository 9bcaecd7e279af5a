"""The pages of the console by name, in the order of the menu, and the roles that each needs."""

from collections.abc import Collection
from typing import NamedTuple


class Page(NamedTuple):
    """A page; its template and its script have its name."""

    name: str
    title: str
    roles: frozenset[str]  # all of them are needed
    icon: str


def _pages(*pages: tuple[str, str, str, str]) -> dict[str, Page]:
    return {name: Page(name, title, frozenset(roles.split()), icon) for name, title, roles, icon in pages}


START = Page("start", "Start", frozenset(), "grid")  # for keys that may not list tenants
WHOLE_PAGES = _pages(
    ("tenants", "All tenants", "review", "grid"),
    ("keys", "Keys", "admin", "key"),
)
TENANT_PAGES = _pages(
    ("review", "Review", "feedback", "inbox"),
    ("bulk", "Bulk", "feedback review", "layers"),
    ("history", "History", "review", "clock"),
    ("overview", "Overview", "review", "chart"),
    ("quality", "Quality of labels", "review", "people"),
    ("try", "Try it", "predict", "spark"),
    ("threshold", "Threshold", "review", "sliders"),
    ("what-if", "What if", "review", "branch"),
    ("settings", "Settings", "review", "gear"),
)


def open_to(page: Page, roles: Collection[str]) -> bool:
    """Whether a page can be opened with some roles."""
    return page.roles <= set(roles)


def first_page(roles: Collection[str]) -> str:
    """Return the page that a visitor with these roles begins with."""
    return next((page.name for page in WHOLE_PAGES.values() if open_to(page, roles)), START.name)
