"""axe-core, with all of its rules, on a page as it is."""

from importlib.resources import files

from playwright.sync_api import Page

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
# Also the rules that are off by default: those of level AAA, and those that are new.
RUN = """async () => {
  const rules = Object.fromEntries(axe.getRules().map((rule) => [rule.ruleId, { enabled: true }]));
  return (await axe.run(document, { resultTypes: ["violations"], rules })).violations;
}"""


def axe(page: Page) -> list[str]:
    """Return what axe-core finds in a page, light and dark: a line for each place."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += [f"{scheme}: {each}" for each in _violations(page)]
    page.emulate_media(color_scheme="light")
    return found


def _violations(page: Page) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return [
        f"{each['id']} ({each['impact']}): {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for each in page.evaluate(RUN)
        for node in each["nodes"]
    ]
