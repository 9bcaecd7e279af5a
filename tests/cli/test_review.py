"""`sluice review` against a running service."""

import io
import json
from collections.abc import Iterator

import pytest

from app.cli import main
from tests.reviews import queue
from tests.services import Service

pytestmark = pytest.mark.timeout(90)
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("service")).start() as service:
        yield service


@pytest.fixture
def service(running: Service) -> Service:
    running.request("DELETE", "/tenants/acme?purge=true")
    for label, feature in ((1, "a"), (-1, "b")):
        assert running.feedback("acme", label=label, features={feature: 1.0}).is_success
    return running


class Reviewer:
    """Someone who presses keys."""

    def __init__(self, service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
        self.service = service
        self.monkeypatch = monkeypatch
        self.capsys = capsys

    def press(self, keys: str, *options: str, moderator: str = "kim") -> str:
        self.monkeypatch.setattr("sys.stdin", io.StringIO(keys))
        assert main(["review", "acme", "--url", self.service.url, "--moderator", moderator, *options]) == 0
        return self.capsys.readouterr().out


@pytest.fixture
def kim(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> Reviewer:
    return Reviewer(service, monkeypatch, capsys)


def labels_of(service: Service) -> dict[str, tuple[int, str, bool]]:
    found = service.request("GET", "/tenants/acme/labels").json()["labels"]
    return {
        each["prediction_id"]: (each["label"], each["moderator"], each["retracted"] is not None)
        for each in reversed(found)
        if each["prediction_id"]
    }


def test_each_key_decides_about_one_item(service: Service, kim: Reviewer) -> None:
    ids = queue(service.store_url, "acme", [5.0, 4.0, 3.0, 2.0, None])
    printed = kim.press("anusq")
    assert [printed.index(each) for each in ids] == sorted(printed.index(each) for each in ids)
    assert "(5 wait): normal, score -0.25" in printed
    assert "chosen as uncertain" in printed
    assert "2 labelled of 4 shown" in printed
    assert labels_of(service) == {ids[0]: (1, "kim", False), ids[1]: (-1, "kim", False)}
    shown = service.tenant("acme")["review"]
    assert (shown["waiting"], shown["leased"]) == (3, 0), "what was on the screen is given back"
    rest = kim.press("aaa", moderator="lee")
    assert [each in rest for each in ids] == [False, False, True, True, True]
    assert "Nothing else waits for you." in rest


def test_a_person_sees_nothing_twice_and_why_an_item_was_flagged(service: Service, kim: Reviewer) -> None:
    ids = queue(service.store_url, "acme", [1.0, 1.0])
    printed = kim.press("ss")
    assert all(printed.count(each) == 1 for each in ids)
    assert "because of" in printed
    assert "Nothing else waits for you." in kim.press("")


def test_the_last_label_is_taken_back(service: Service, kim: Reviewer) -> None:
    first, second = queue(service.store_url, "acme", [2.0, 1.0])
    printed = kim.press("zaznn")
    assert "There is no label to undo." in printed
    assert "The last label is taken back." in printed
    assert (printed.count(f"{first} ("), printed.count(f"{second} (")) == (2, 2)
    assert labels_of(service) == {first: (-1, "kim", False), second: (-1, "kim", False)}


def test_an_unknown_key_shows_the_keys(service: Service, kim: Reviewer) -> None:
    queue(service.store_url, "acme", [2.0])
    assert kim.press("xq").count("a anomaly, n normal") == 2


def test_a_lost_lease_ends_only_this_item(service: Service, kim: Reviewer, capsys: Output) -> None:
    ids = queue(service.store_url, "acme", [2.0, 1.0])
    stolen = service.request("GET", "/tenants/acme/review?limit=1&moderator=lee").json()["items"][0]
    assert stolen["prediction_id"] == ids[0]
    printed = kim.press("a")
    assert ids[0] not in printed
    assert ids[1] in printed
    assert capsys.readouterr().err == ""


def test_the_queue_is_shown_without_leasing(service: Service, capsys: Output) -> None:
    queue(service.store_url, "acme", [2.0, None, None])
    assert main(["review", "acme", "--status", "--url", service.url]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("tenant acme: 3 wait, 0 are leased; the oldest is ")
    assert [line.split() for line in lines[3:]] in (
        [["uncertain", "1"], ["random", "2"]],
        [["random", "2"], ["uncertain", "1"]],
    )
    assert main(["review", "acme", "--status", "--json", "--url", service.url]) == 0
    assert json.loads(capsys.readouterr().out)["by_reason"] == {"uncertain": 1, "random": 2}


def test_an_error_is_one_sentence(service: Service, capsys: Output) -> None:
    assert main(["review", "unknown", "--url", service.url]) == 1
    assert "there is no tenant 'unknown'; check its name\n" in capsys.readouterr().err
