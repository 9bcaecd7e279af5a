"""The table of errors."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import pytest

from app.api import errors as api_errors
from app.api import problems
from app.api.problems import KINDS, TABLE, kind_of
from app.learning import errors as learning_errors
from app.learning.errors import SluiceError
from app.storage import errors as storage_errors
from app.tenants import errors as tenant_errors
from tests.api.conftest import Service

MANUAL = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
DOMAIN = [
    error
    for module in (api_errors, learning_errors, storage_errors, tenant_errors)
    for _, error in inspect.getmembers(module, inspect.isclass)
    if issubclass(error, SluiceError)
]


@pytest.mark.parametrize("error", sorted(set(DOMAIN), key=attrgetter("__name__")), ids=attrgetter("__name__"))
def test_every_domain_error_has_its_line(error: type[SluiceError]) -> None:
    assert error in TABLE


def test_a_kind_of_an_error_is_that_of_its_nearest_class() -> None:
    class Special(tenant_errors.TenantExists):
        pass

    assert kind_of(Special("acme")) is problems.TENANT_EXISTS
    assert kind_of(RuntimeError()) is problems.INTERNAL_ERROR


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_whole_and_in_the_manual(kind: problems.Kind) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.name)
    assert kind.title
    assert kind.remedy.endswith(".")
    assert re.search(rf"^\| `{kind.name}` \| {kind.status} \|", MANUAL, re.MULTILINE)


def test_names_are_unique() -> None:
    found = [value for value in vars(problems).values() if isinstance(value, problems.Kind)]
    assert {kind.name for kind in found} == KINDS.keys()
    assert len(found) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.anyio
async def test_a_type_can_be_followed(service: Service, kind: problems.Kind) -> None:
    answer = await service.client.get(kind.type)
    assert answer.json() == {"type": kind.type, "title": kind.title, "status": kind.status, "remedy": kind.remedy}


@pytest.mark.anyio
async def test_all_types_are_listed(service: Service) -> None:
    answer = await service.client.get("/problems")
    assert [each["type"] for each in answer.json()] == [kind.type for kind in KINDS.values()]


@pytest.mark.anyio
async def test_a_type_that_does_not_exist_is_not_found(service: Service) -> None:
    assert (await service.client.get("/problems/none")).status_code == 404
