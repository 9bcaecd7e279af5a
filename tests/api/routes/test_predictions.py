"""GET /predictions/{id}: what was answered, why then and why now, and how it was labelled."""

from base64 import b64encode

import pytest

from app.learning.example import example_of
from app.learning.review import REASONS, Chosen
from app.learning.snapshot.model_file import dump, load
from app.storage.metadata import Position
from app.tenants.labels.stored_labels import Retraction, StoredLabel
from app.tenants.tenant import Tenant
from tests.api.conftest import Service
from tests.api.test_authorisation import Guarded, guarded  # noqa: F401 - a fixture

pytestmark = pytest.mark.anyio
FEATURES = {"a": 1.0, "b": 2.0}


async def predicted(service: Service) -> dict[str, object]:
    """Teach a tenant, predict, keep a copy of the model of this moment, and teach it more."""
    for label, features in ((1, {"a": 1}), (-1, {"b": 1})):
        await service.client.post("/feedback", json={"tenant": "acme", "features": features, "label": label})
    answer = (await service.client.post("/predict", json={"tenant": "acme", "features": FEATURES, "explain": 5})).json()
    state = load(b"".join(bytes(piece) for piece in dump(service.tenants.tenants["acme"].state)))
    service.tenants.copies[state.version] = Tenant("acme", state, Position("i", state.version, "i"))
    await service.client.post("/feedback", json={"tenant": "acme", "features": {"a": 3}, "label": -1})
    return dict(answer)


def stored(prediction_id: object, **given: object) -> StoredLabel:
    values: dict[str, object] = dict.fromkeys(StoredLabel.__struct_fields__)
    values |= {"version": 3, "hash": b"x", "at_milliseconds": 5, "label": 1, "prediction_id": prediction_id}
    return StoredLabel(**(values | given))  # type: ignore[arg-type]


async def test_the_verdict_and_its_reasons_then_and_now(service: Service) -> None:
    answer = await predicted(service)
    taken_back = Retraction(4, 6, "wrong", "bob", None)
    service.tenants.given_labels = [(stored(answer["prediction_id"]), taken_back), (stored("another"), None)]
    shown = (await service.client.get(f"/predictions/{answer['prediction_id']}?tenant=acme")).json()
    assert {name: shown[name] for name in ("label", "score", "version")} == {
        name: answer[name] for name in ("label", "score", "version")
    }
    assert shown["features"] == FEATURES
    assert shown["then"]["explanation"] == answer["explanation"]
    assert (shown["then"]["score"], shown["then"]["version"]) == (answer["score"], 2)
    assert shown["now"]["version"] == 3
    assert shown["now"]["score"] < shown["then"]["score"]
    assert [label["version"] for label in shown["labels"]] == [3]
    assert shown["labels"][0]["retracted"]["reason"] == "wrong"


async def test_reasons_that_cannot_be_known_are_null_with_the_reason(service: Service) -> None:
    answer = await predicted(service)
    path = f"/predictions/{answer['prediction_id']}?tenant=acme"
    brief = (await service.client.get(f"{path}&explain=0")).json()
    assert (brief["then"], brief["then_unknown"], brief["now"]["explanation"]) == (None, None, [])
    service.tenants.copies[2] = service.tenants.tenants["acme"]
    other = (await service.client.get(path)).json()
    assert (other["then"], other["then_unknown"]) == (None, "the model has been replaced since")
    service.tenants.copies.clear()
    trimmed = (await service.client.get(path)).json()
    assert (trimmed["then"], trimmed["then_unknown"]) == (None, "the log does not reach back to version 2")


async def test_a_prediction_that_is_not_kept_is_known_by_its_labels(service: Service) -> None:
    await predicted(service)
    gone = await service.client.get("/predictions/long-gone?tenant=acme")
    assert (gone.status_code, gone.json()["type"]) == (410, "/problems/prediction-expired")
    service.tenants.given_labels = [(stored("long-gone", served_label=-1, served_score=-0.5), None)]
    bare = (await service.client.get("/predictions/long-gone?tenant=acme")).json()
    assert (bare["label"], bare["score"], bare["version"], bare["features"], bare["now"]) == (
        -1,
        -0.5,
        None,
        None,
        None,
    )
    service.tenants.labelled[3] = example_of(FEATURES)
    shown = (await service.client.get("/predictions/long-gone?tenant=acme")).json()
    assert (shown["features"], shown["then"]) == (FEATURES, None)
    assert shown["then_unknown"] == "the prediction is not kept any more"
    assert shown["now"]["explanation"]


async def test_it_is_no_prediction_that_metrics_count(service: Service) -> None:
    answer = await predicted(service)
    counter = service.tenants.tenants["acme"].counter
    before = repr(counter)
    await service.client.get(f"/predictions/{answer['prediction_id']}?tenant=acme")
    assert repr(counter) == before


@pytest.mark.parametrize("query", ["", "?tenant=", "?tenant=acme&explain=101", "?tenant=acme&explain=x", "?x=1"])
async def test_a_wrong_request_is_refused(service: Service, query: str) -> None:
    await service.tenants.hold("acme")
    assert (await service.client.get(f"/predictions/p{query}")).status_code == 422


async def test_an_unknown_tenant_is_not_created(service: Service) -> None:
    assert (await service.client.get("/predictions/p?tenant=other")).status_code == 404
    assert service.tenants.tenants == {}


async def test_a_key_of_one_tenant_need_not_name_it(guarded: Guarded) -> None:  # noqa: F811 - the fixture
    await guarded.tenants.hold("mine")
    given = {"tenant": "mine", "features": FEATURES}
    answer = await guarded.ask("POST", "/predict", await guarded.key("predict"), json=given)
    path = f"/predictions/{answer.json()['prediction_id']}"
    assert (await guarded.ask("GET", path, await guarded.key("review"))).status_code == 200
    assert (await guarded.ask("GET", f"{path}?tenant=mine", await guarded.key("review"))).status_code == 200
    assert (await guarded.ask("GET", path, await guarded.key("predict"))).status_code == 403
    assert (await guarded.ask("GET", f"{path}?tenant=theirs", await guarded.key("review"))).status_code == 403
    assert (await guarded.ask("GET", path, await guarded.key("review", tenants="*"))).status_code == 422


async def test_the_input_and_reasons_for_people_are_shown_if_the_tenant_keeps_inputs(service: Service) -> None:
    await service.client.put("/tenants/acme", json={"keep_inputs": "all"})
    mail = b"Subject: caf\xe9\n\nhello"
    for label, url in ((1, "login verify"), (-1, "about")):
        await service.client.post("/feedback", json={"tenant": "acme", "url": url, "label": label})
    base64 = {"base64": b64encode(mail).decode()}
    kept = [
        (await service.client.post("/predict", json={"tenant": "acme"} | asked)).json()["prediction_id"]
        for asked in ({"url": "login"}, {"email": base64}, {"text": "a"}, {"email": "A: b"})
    ]
    shown = [(await service.client.get(f"/predictions/{each}?tenant=acme")).json() for each in kept]
    assert [each["input"] for each in shown] == [
        {"kind": "url", "url": "login"},
        {"kind": "email", "email": base64, "parts": {"subject": "caf\u00e9", "body": "hello"}},
        {"kind": "text", "text": "a"},
        {"kind": "email", "email": "A: b", "parts": {}},
    ]
    now = shown[0]["now"]
    assert now["reasons"][0]["features"][0] == "host4:^log"
    assert sum(each["contribution"] for each in now["reasons"]) == pytest.approx(now["score"])
    brief = (await service.client.get(f"/predictions/{kept[0]}?tenant=acme&explain=0")).json()
    assert brief["now"]["reasons"] == []


async def test_reasons_have_places_in_the_input(service: Service) -> None:
    await service.client.put("/tenants/acme", json={"keep_inputs": "all"})
    url = "http://example.org/Login"
    await service.client.post("/feedback", json={"tenant": "acme", "url": url, "label": 1})
    asked = {"tenant": "acme", "url": url}
    for keeps in ("all", "none"):
        await service.client.put("/tenants/acme", json={"keep_inputs": keeps})
        prediction_id = (await service.client.post("/predict", json=asked)).json()["prediction_id"]
        shown = (await service.client.get(f"/predictions/{prediction_id}?tenant=acme&explain=3")).json()
        reasons = {each["text"]: each for each in shown["now"]["reasons"]}
        assert len(reasons) == 3
        login = reasons['path word "login"']
        assert {"path:login", "path4:ogin"} <= set(login["features"])
        assert login["places"] == ([{"part": "url", "start": 19, "end": 24}] if keeps == "all" else [])
        assert shown["input"] == ({"kind": "url", "url": url} if keeps == "all" else None)


async def test_a_prediction_of_features_has_reasons_and_no_input(service: Service) -> None:
    answer = await predicted(service)
    shown = (await service.client.get(f"/predictions/{answer['prediction_id']}?tenant=acme")).json()
    assert shown["input"] is None
    assert {each["text"] for each in shown["now"]["reasons"]} == {"a", "b"}


async def test_what_the_review_policy_chose_says_why_and_with_which_probability(service: Service) -> None:
    service.pending.choice = Chosen(REASONS.index("flagged"), 0.25, 0.1)
    asked = {"tenant": "acme", "features": FEATURES}
    answer = (await service.client.post("/predict", json=asked)).json()
    batch = (
        await service.client.post("/predict/batch", json={"tenant": "acme", "items": [{"features": FEATURES}]})
    ).json()
    for each in (answer, *batch["results"]):
        assert (each["needs_review"], each["review_reason"]) == (True, "flagged")
    shown = (await service.client.get(f"/predictions/{answer['prediction_id']}?tenant=acme")).json()
    assert (shown["chosen_with"], shown["review_reason"]) == (0.25, "flagged")
    label = {"tenant": "acme", "prediction_id": answer["prediction_id"], "label": 1}
    assert (await service.client.post("/feedback", json=label)).json()["chosen_with"] == 0.25
    assert "chosen_with" not in (await service.client.post("/feedback", json=asked | {"label": 1})).json()


async def test_a_label_shows_that_its_prediction_was_chosen_after_that_has_expired(service: Service) -> None:
    await predicted(service)
    service.tenants.given_labels = [(stored("gone", chosen_with=0.25), None)]
    shown = (await service.client.get("/predictions/gone?tenant=acme&explain=0")).json()
    assert (shown["chosen_with"], shown["review_reason"]) == (0.25, None)
    assert shown["labels"][0]["chosen_with"] == 0.25
