"""GET /overview."""

import pytest

from tests.api.conftest import Service

pytestmark = pytest.mark.anyio


async def test_pages_lead_to_each_other(service: Service) -> None:
    for name in ("acme", "links", "mail"):
        await service.tenants.hold(name)
    first = (await service.client.get("/overview?limit=2")).json()
    assert ([each["tenant"] for each in first["tenants"]], first["total"], first["next"]) == (["acme", "links"], 3, 2)
    last = (await service.client.get("/overview?limit=2&offset=2")).json()
    assert ([each["tenant"] for each in last["tenants"]], last["next"]) == (["mail"], None)
    found = (await service.client.get("/overview?search=ink")).json()
    assert [each["tenant"] for each in found["tenants"]] == ["links"]
    assert found["tenants"][0] | {"tenant": None, "loaded": None, "damaged": None} == dict.fromkeys(found["tenants"][0])


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "offset=-1", "search=" + "a" * 129, "sort=name"])
async def test_a_wrong_question_is_refused(service: Service, query: str) -> None:
    assert (await service.client.get(f"/overview?{query}")).status_code == 422
