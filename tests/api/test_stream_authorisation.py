"""NDJSON streams with a key for some tenants only."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from app.auth.authenticator import Authenticator
from app.auth.keyring import Keyring
from tests.api.conftest import new_app, new_backend
from tests.api.fakes import FakeTenants
from tests.api.test_authorisation import MemoryKeys

pytestmark = pytest.mark.anyio

ENDS = {"/predict/batch": b"}\n", "/feedback/batch": b',"label":1}\n'}


@pytest.fixture(params=ENDS)
def path(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
async def client(tenants: FakeTenants) -> AsyncIterator[httpx.AsyncClient]:
    """A client that has a key for the tenant `mine`."""
    authenticator = Authenticator(Keyring(MemoryKeys()), "required")  # type: ignore[arg-type]
    await authenticator.read()
    _, token = await authenticator.create("", ["predict", "feedback"], ["mine"], None, None)
    headers = {"X-API-Key": token, "Content-Type": "application/x-ndjson"}
    transport = httpx.ASGITransport(new_app(new_backend(tenants, authenticator=authenticator)))
    async with httpx.AsyncClient(transport=transport, base_url="http://sluice", headers=headers) as client:
        yield client


def line(path: str, tenant: bytes) -> bytes:
    return b'{"tenant":"%b","features":{"a":1}' % tenant + ENDS[path]


def parsed(answer: httpx.Response) -> list[Any]:
    return [msgspec.json.decode(each) for each in answer.content.splitlines()]


@pytest.mark.parametrize("begin", [b"", b"\n \n"])
async def test_a_stream_whose_first_line_names_a_foreign_tenant_gets_403(
    client: httpx.AsyncClient, tenants: FakeTenants, path: str, begin: bytes
) -> None:
    answer = await client.post(path, content=begin + line(path, b"other") + line(path, b"mine"))
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert answer.headers["content-type"] == "application/problem+json"
    assert not tenants.tenants


async def test_a_stream_for_a_foreign_tenant_in_the_query_gets_403(
    client: httpx.AsyncClient, tenants: FakeTenants, path: str
) -> None:
    answer = await client.post(f"{path}?tenant=other", content=b'{"features":{"a":1}' + ENDS[path])
    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert not tenants.tenants


async def test_later_lines_of_a_foreign_tenant_are_refused_in_their_place(
    client: httpx.AsyncClient, tenants: FakeTenants, path: str
) -> None:
    answer = await client.post(path, content=line(path, b"mine") + line(path, b"other") + line(path, b"mine"))
    first, second, third = parsed(answer)
    assert first["tenant"] == third["tenant"] == "mine"
    assert second["error"]["status"] == 403
    assert set(tenants.tenants) == {"mine"}


@pytest.mark.parametrize("first", [b"nonsense\n", b"\xff\n", b"[]\n", b'{"tenant":1}\n', b"{}\n", 2000 * b"x" + b"\n"])
async def test_a_first_line_that_names_no_tenant_gets_an_error_in_its_place(
    client: httpx.AsyncClient, path: str, first: bytes
) -> None:
    answer = await client.post(path, content=first + line(path, b"mine"))
    assert answer.status_code == 200
    bad, good = parsed(answer)
    assert bad["error"]["status"] in {413, 422}
    assert good["tenant"] == "mine"


async def test_an_empty_stream_is_an_empty_answer(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.post(path, content=b"")
    assert (answer.status_code, answer.content) == (200, b"")
