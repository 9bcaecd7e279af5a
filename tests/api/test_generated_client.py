"""A client that openapi-python-client generates from the document, against a real service."""

import importlib
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.api.conftest import new_app
from tests.services import Service

PACKAGE = "sluice_client"


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    program = shutil.which("openapi-python-client", path=sysconfig.get_path("scripts"))
    assert program
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(new_app().openapi()), encoding="utf-8")
    done = subprocess.run(
        [program, "generate", "--path", str(document), "--output-path", str(tmp_path / PACKAGE), "--meta", "none"],
        check=False, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module(PACKAGE)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.mark.timeout(180)
def test_a_generated_client_predicts_and_gives_feedback(generated: ModuleType, tmp_path: Path) -> None:
    models = importlib.import_module(f"{PACKAGE}.models")
    predict = importlib.import_module(f"{PACKAGE}.api.predict.predict")
    give_feedback = importlib.import_module(f"{PACKAGE}.api.feedback.give_feedback")
    with (
        Service(tmp_path / "service", auth="open", max_lag_milliseconds=0).start() as service,
        generated.Client(base_url=service.url) as client,
    ):
        features = models.PredictRequestFeatures.from_dict({"token:free": 1, "len": 0.4})
        asked = models.PredictRequest(tenant="acme", features=features, explain=2)
        verdict = predict.sync(client=client, body=asked)
        assert isinstance(verdict, models.PredictResponse)
        assert verdict.tenant == "acme"
        anomaly = models.FeedbackRequestLabel(1)
        label = models.FeedbackRequest(tenant="acme", prediction_id=verdict.prediction_id, label=anomaly)
        learnt = give_feedback.sync(client=client, body=label)
        assert isinstance(learnt, models.FeedbackResponse)
        assert (learnt.label, learnt.updated, learnt.duplicate) == (1, True, False)
        refused = predict.sync(client=client, body=models.PredictRequest(tenant="acme"))
        assert isinstance(refused, models.Problem)
        assert refused.type_ == "/problems/bad-input"
