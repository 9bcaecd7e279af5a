"""axe-core, with all of its rules, on a page as it is."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# `experimental` and `best-practice` rules are off by default in what people call WCAG checks; here all count.
OPTIONS = {"resultTypes": ["violations"], "rules": {}}


def violations(page: Page) -> list[str]:
    """Return what axe-core finds, a line for each place."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(
        """async () => {
          const rules = Object.fromEntries(axe.getRules().map((rule) => [rule.ruleId, { enabled: true }]));
          return (await axe.run(document, { resultTypes: ["violations"], rules })).violations;
        }"""
    )
    return [
        f"{each['id']} ({each['impact']}): {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for each in found
        for node in each["nodes"]
    ]


def axe(page: Page) -> list[str]:
    """Return what axe-core finds in a page, light and dark."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += [f"{scheme}: {each}" for each in violations(page)]
    page.emulate_media(color_scheme=None)
    return found
