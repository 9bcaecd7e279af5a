"""A service as `sluice demo --console` fills it, and all pages with the tenant or key that each shows best."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.cli.client import Client
from app.cli.demo.moderation import fill
from app.console.menu import TENANT_PAGES, WHOLE_PAGES
from tests.services import Service

TENANT = "demo"
MAIL_TENANT = "demo-mail"
URLS = 600
SEED = 0
KEYS = (
    {"name": "moderation page", "roles": ["predict", "feedback"], "tenants": ["demo", "demo-*"]},
    {"name": "kim", "roles": ["predict", "feedback", "review"], "tenants": ["demo*"], "moderator": "kim"},
    {"name": "lee", "roles": ["feedback", "review"], "tenants": ["demo"], "moderator": "lee"},
    {"name": "Prometheus", "roles": ["metrics"], "tenants": ["*"]},
)


@contextmanager
def demo_service(folder: Path, urls: int = URLS) -> Iterator[Service]:
    """Run a service with the pretend moderation of the demo; no key is needed."""
    with Service(folder, auth="open").start() as service:
        with Client(service.url, timeout_seconds=30.0) as client:
            fill(client, TENANT, urls, SEED, lambda _: None)
        for key in KEYS:
            assert service.post("/keys", key).is_success
        yield service


def addresses() -> dict[str, str]:
    """Return the address of every page by its name."""
    tenant = {name: f"/console/tenants/{TENANT}/{name}" for name in TENANT_PAGES}
    whole = {name: f"/console/{name}" for name in ("sign-in", *WHOLE_PAGES)}
    return whole | {"start": "/console/start"} | tenant | {"review-mail": f"/console/tenants/{MAIL_TENANT}/review"}
