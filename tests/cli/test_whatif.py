"""`sluice whatif` against a running service."""

import json
from collections.abc import Iterator

import numpy as np
import pytest

from app.cli import main
from tests.services import Service

pytestmark = pytest.mark.timeout(90)
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")).start() as service:
        rng = np.random.default_rng(1)
        for tenant in ("acme", "trial"):
            items = [
                {"features": {f"f{k}": 1.0 for k in rng.integers(0, 9, 3).tolist()}, "label": label, "moderator": "ann"}
                for label in rng.choice([1, -1, -1], 100).tolist()
            ]
            answer = service.request("POST", "/feedback/batch", json={"tenant": tenant, "items": items})
            assert answer.is_success, answer.text
        yield service


def test_other_settings_beside_the_tenant_s_own(service: Service, capsys: Output) -> None:
    before = service.digest("acme")
    asked = ["whatif", "acme", "--algorithm", "cs-ssol", "--threshold", "-0.1", "--flips", "3", "--url", service.url]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "tenant acme: 100 labels compared, from the beginning of the log on"
    assert lines[2].split() == ["actual", "other", "difference"]
    assert [line.split()[0] for line in lines[4:12]] == [
        "balanced", "sensitivity,", "specificity,", "error,", "true", "false", "true", "false"
    ]  # fmt: skip
    assert "verdicts would be different: " in lines[13]
    assert len(lines) == 15 + 2 + 3
    assert " ann " in lines[-1]
    assert main([*asked, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["other"]["config"]["algorithm"] == "cs-ssol"
    assert answer["other"]["config"]["threshold"] == -0.1
    assert answer["flipped"] == answer["corrected"] + answer["spoilt"] > 0
    assert len(answer["flips"]) == 3
    assert service.digest("acme") == before


def test_the_model_of_another_tenant_within_a_time(service: Service, capsys: Output) -> None:
    asked = ["whatif", "acme", "--model-of", "trial", "--until", "2020-01-01T00:00:00Z", "--url", service.url]
    assert main(asked) == 0
    assert "0 labels compared" in capsys.readouterr().out


def test_an_error_is_one_sentence(service: Service, capsys: Output) -> None:
    assert main(["whatif", "acme", "--eta", "-1", "--url", service.url]) == 1
    assert "eta is -1; it must be" in capsys.readouterr().err
    assert main(["whatif", "unknown", "--url", service.url]) == 1
    assert "there is no tenant 'unknown'; check its name\n" in capsys.readouterr().err


def test_the_help_shows_no_defaults_that_a_tenant_need_not_have(capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["whatif", "--help"])
    assert "unless the algorithm has another" not in capsys.readouterr().out
