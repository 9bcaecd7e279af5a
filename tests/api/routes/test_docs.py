"""What people type first: `/`, and other names of /docs, /livez, /readyz and /metrics."""

import pytest

from app.api.app import ROUTES
from app.api.middleware.rate_limit import UNLIMITED_PATHS
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ALIASES = [("/health", "/livez"), ("/healthz", "/livez"), ("/ready", "/readyz"), ("/metrics/", "/metrics")]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_browser_is_sent_to_the_console(service: Service, method: str) -> None:
    answer = await service.client.request(method, "/", headers={"accept": BROWSER})
    assert (answer.status_code, answer.headers["location"]) == (307, "/console")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_the_docs_are_also_found_with_a_slash(service: Service, method: str) -> None:
    answer = await service.client.request(method, "/docs/", headers={"accept": BROWSER})
    assert (answer.status_code, answer.headers["location"]) == (307, "/docs")
    followed = await service.client.request(method, "/docs/", headers={"accept": BROWSER}, follow_redirects=True)
    assert followed.status_code == 200
    assert followed.headers["content-type"].startswith("text/html")


async def test_a_program_gets_links_that_lead_somewhere(service: Service) -> None:
    answer = await service.client.get("/", headers={"accept": "*/*"})
    assert answer.headers["vary"] == "accept"
    links = set(answer.json()["links"].values())
    assert "/console" in links  # tests/console opens its pages, which this application is without
    for link in links - {"/console"}:
        assert (await service.client.get(link)).status_code == 200


@pytest.mark.parametrize("trouble", [None, "Redis is down"])
@pytest.mark.parametrize(("alias", "path"), ALIASES)
async def test_another_name_answers_the_same(service: Service, alias: str, path: str, trouble: str | None) -> None:
    service.tenants.trouble = trouble
    wanted = await service.client.get(path)
    answer = await service.client.get(alias)
    assert (answer.status_code, answer.content) == (wanted.status_code, wanted.content)
    assert (await service.client.head(alias)).status_code == wanted.status_code


@pytest.mark.parametrize(("alias", "path"), ALIASES)
def test_another_name_needs_the_same_role_and_has_the_same_limits(alias: str, path: str) -> None:
    roles = {route.path: route.role for route in ROUTES}
    assert roles[alias] == roles[path]
    assert {alias, path} <= UNLIMITED_PATHS
