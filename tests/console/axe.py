"""axe-core, with all of its rules, on a page as it is."""

from importlib.resources import files

from playwright.sync_api import Page

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
BAR = 200  # room for what is fixed at the bottom of a window: it covers nothing in a window as high as the page
# Also the rules that are off by default: those of level AAA, and those that are new.
RUN = """async () => {
  const rules = Object.fromEntries(axe.getRules().map((rule) => [rule.ruleId, { enabled: true }]));
  return (await axe.run(document, { resultTypes: ["violations"], rules })).violations;
}"""


def axe(page: Page) -> list[str]:
    """Return what axe-core finds in a whole page, light and dark: a line for each place."""
    found = []
    size = page.viewport_size
    assert size is not None
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], height + BAR)})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found += [f"{scheme}: {each}" for each in _violations(page)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(size)
    return found


def _violations(page: Page) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return [
        f"{each['id']} ({each['impact']}): {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for each in page.evaluate(RUN)
        for node in each["nodes"]
    ]
