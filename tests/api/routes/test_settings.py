"""GET /settings."""

import pytest

from app.learning.config import DEFAULTS, config_of, defaults_of
from app.learning.first_settings import settings_of_new_tenants
from kernels.registry import ALGORITHMS
from tests.api.conftest import Service

pytestmark = pytest.mark.anyio


async def test_every_setting_has_a_meaning_and_what_is_allowed(service: Service) -> None:
    found = (await service.client.get("/settings")).json()["settings"]
    assert {each["name"] for each in found} == DEFAULTS.keys() - {"target_value"}
    assert all(each["meaning"].endswith(".") and each["allowed"] for each in found)


async def test_every_algorithm_has_its_settings_with_their_defaults(service: Service) -> None:
    found = (await service.client.get("/settings")).json()["algorithms"]
    assert found.keys() == ALGORITHMS.keys()
    for name, algorithm in found.items():
        assert algorithm["summary"].endswith((".", ").", "d."))
        assert algorithm["defaults"] == {k: v for k, v in defaults_of(name).items() if k != "target_value"}


async def test_new_tenants_have_their_own_values(service: Service) -> None:
    found = (await service.client.get("/settings")).json()["new_tenants"]
    values = config_of(settings_of_new_tenants()).values
    assert found == {name: value for name, value in values.items() if name != "target_value"}


async def test_what_is_chosen_from_is_accepted(service: Service) -> None:
    for each in (await service.client.get("/settings")).json()["settings"]:
        if each["name"] in {"threshold", "costs", "keep_inputs", "numbers", "normalize"}:
            assert each["choices"]
            for choice in each["choices"]:
                answer = await service.client.put("/tenants/acme", json={each["name"]: choice})
                assert answer.status_code == 200, answer.text
