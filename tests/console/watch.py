"""Watches what pages do in a browser: nothing may fail, break the Content-Security-Policy or ask another host."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response

REPORT = "reportViolation"
LISTEN = f"""addEventListener("securitypolicyviolation", (event) => {{
  const {{ effectiveDirective, blockedURI, sourceFile, lineNumber, sample }} = event;
  {REPORT}(`${{effectiveDirective}}: ${{blockedURI}} ${{sourceFile}}:${{lineNumber}} ${{sample}}`);
}}, true);"""
ABORTED = "net::ERR_ABORTED"  # a page that is left drops its requests
LOCAL_SCHEMES = {"data", "blob", "about"}


@dataclass
class Watch:
    """What went wrong in the pages of a browser context, and every request that they sent."""

    origin: str
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    _expected: list[str] = field(default_factory=list)

    def attach(self, context: BrowserContext) -> None:
        """Watch every page of a context."""
        context.expose_function(REPORT, self._note_violation)
        context.add_init_script(LISTEN)
        context.on("page", self._attach_page)
        context.on("request", self._note_request)
        context.on("requestfailed", self._note_failure)
        context.on("response", self._note_response)
        context.on("console", self._note_message)

    def _attach_page(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.problems.append(f"error on {page.url}: {error}"))
        page.on("crash", lambda _: self.problems.append(f"crash on {page.url}"))

    def _note_violation(self, text: str) -> None:
        self.violations.append(text)
        self.problems.append(f"policy: {text}")

    def _note_request(self, request: Request) -> None:
        self.requests.append(request.url)
        if not request.url.startswith(f"{self.origin}/") and urlsplit(request.url).scheme not in LOCAL_SCHEMES:
            self.problems.append(f"another host: {request.url}")

    def _note_failure(self, request: Request) -> None:
        if request.failure != ABORTED:
            self.problems.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _note_response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status}: {response.request.method} {response.url}")

    def _note_message(self, message: ConsoleMessage) -> None:
        # A response that is an error has been noted already, with its status.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.problems.append(f"console on {message.location['url']}: {message.text}")

    def other_hosts(self) -> set[str]:
        """Return the hosts, apart from the service, that a page has asked for something."""
        hosts = {urlsplit(url).netloc for url in self.requests if urlsplit(url).scheme not in LOCAL_SCHEMES}
        return hosts - {urlsplit(self.origin).netloc}

    def expect(self, pattern: str) -> None:
        """Let problems that match a regular expression pass, from now on and before."""
        self._expected.append(pattern)

    @contextmanager
    def expecting(self, pattern: str) -> Iterator[None]:
        """Let problems that match a regular expression pass, while a part of a test runs."""
        begin = len(self.problems)
        yield
        self.problems[begin:] = [each for each in self.problems[begin:] if not re.search(pattern, each)]

    def check(self) -> None:
        """Fail if there was a problem that was not expected."""
        unexpected = [each for each in self.problems if not any(re.search(one, each) for one in self._expected)]
        assert not unexpected, "\n".join(unexpected)
