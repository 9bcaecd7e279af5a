"""The hot routes and the Pydantic models that document them accept, refuse and read the same bodies."""

import asyncio
import base64
import json
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from pydantic import BaseModel, ValidationError

from app.api.fast_path import messages
from app.api.fast_path.messages import NO_FEATURES, EmailBytes, FeedbackItem, Input
from app.api.schemas.feedback import FeedbackBatchRequest, FeedbackRequest, FeedbackResponse
from app.api.schemas.inputs import FeaturesRequest, feature_numbers
from app.api.schemas.predictions import (
    FeaturesResponse,
    PredictBatchRequest,
    PredictRequest,
    PredictResponse,
)
from app.learning.example import example_of_json
from app.tenants.predictions.blocks import KeptPrediction
from tests.api.conftest import LIMITS, new_app, new_backend
from tests.api.exchanges import Exchange, exchange
from tests.api.fake_pending import FakePending
from tests.api.fakes import FakeFeaturizer, FakeTenants


class Route(NamedTuple):
    path: str
    model: type[BaseModel]
    decoder: msgspec.json.Decoder[Any]


ROUTES = [
    Route("/predict", PredictRequest, messages.predict_decoder),
    Route("/feedback", FeedbackRequest, messages.feedback_decoder),
    Route("/features", FeaturesRequest, messages.input_decoder),
    Route("/predict/batch", PredictBatchRequest, messages.batch_decoder),
    Route("/feedback/batch", FeedbackBatchRequest, messages.batch_decoder),
]
TENANTS = ["acme", "a.b-c_9", "A" * 128]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 103)
    | st.just(10**400)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
names = st.text(min_size=1, max_size=4) | st.sampled_from(["a", "b", "a=x"])
features = st.dictionaries(
    names, st.floats(-1e6, 1e6) | st.integers(-9, 9) | st.booleans() | st.text(max_size=3), max_size=4
)
mails = st.text(max_size=9) | st.binary(max_size=9).map(lambda raw: {"base64": base64.b64encode(raw).decode()})
ids = st.text(min_size=1, max_size=6) | st.just("x" * 201) | st.just("a\n")
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tenant": st.sampled_from(TENANTS) | st.sampled_from(["", "../x", "ä", "A" * 129, "a\n"]),
    "features": features,
    "url": st.text(max_size=9),
    "email": mails,
    "text": st.text(max_size=9),
    "explain": st.integers(-1, 101),
    "keep": st.booleans(),
    "label": st.sampled_from([1, -1]),
    "prediction_id": ids,
    "feedback_id": st.none() | ids,
    "moderator": st.none() | ids,
    "items": st.lists(st.fixed_dictionaries({"features": features}), max_size=3),
    "unknown": scalars,
}


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Mostly valid bodies, with a field more, a field less, or a field of another type."""
    kind = draw(st.sampled_from(["features", "features", "url", "email", "text", "prediction_id", "items"]))
    chosen = {"tenant", kind, *draw(st.sets(st.sampled_from(["explain", "keep", "label", "feedback_id", "moderator"])))}
    chosen ^= draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=1))
    body = {name: draw(FIELDS[name]) for name in sorted(chosen)}
    for name in draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=1)) & body.keys():
        body[name] = draw(anything)
    return body


async def send(route: Route, body: bytes) -> Exchange:
    tenants = FakeTenants()
    for name in TENANTS:
        await tenants.hold(name)
    backend = new_backend(tenants, AlwaysKept(tenants), limits=LIMITS, featurize=FakeFeaturizer())
    return await exchange(new_app(backend), route.path, [body])


SOMETIMES = {"cut", "replaced", "review_reason", "chosen_with"}


class AlwaysKept(FakePending):
    """Knows every prediction: whether one is still kept does not depend on the body's form."""

    async def recall(self, tenant: str, prediction_id: str) -> KeptPrediction:
        del tenant, prediction_id
        return KeptPrediction(b'{"features":{"a":1}}', 1, 0.5, 0, 0, 0.25, 1)


@pytest.mark.parametrize("route", ROUTES, ids=[route.path for route in ROUTES])
@settings(max_examples=150, deadline=None)
@given(body=bodies())
@example(body={"tenant": "acme", "features": {"a": 1}})
@example(body={"tenant": "acme", "features": {"a": 1}, "label": 1})
@example(body={"tenant": "acme", "features": {"a": 1}, "label": 1.0})
@example(body={"tenant": "acme", "features": {"a": 1}, "label": True})
@example(body={"tenant": "acme", "features": {"a": 1}, "explain": 5.0})
@example(body={"tenant": "acme", "features": {"a": 1}, "explain": True})
@example(body={"tenant": "acme", "features": {"a": 1}, "keep": 1})
@example(body={"tenant": "acme", "features": {"a": False}})
@example(body={"tenant": "acme", "features": {"a": "x", "a=x": 1}})
@example(body={"tenant": "acme", "features": {"a": 10**400}})
@example(body={"tenant": "acme", "features": {"a": 1e308}})
@example(body={"tenant": "acme", "features": {"": 1}})
@example(body={"tenant": "acme", "features": {"\ud800": 1}})
@example(body={"tenant": "acme", "url": "\ud800"})
@example(body={"tenant": "acme", "features": None})
@example(body={"tenant": "acme", "url": None, "features": {"a": 1}})
@example(body={"tenant": "acme", "email": {"base64": "not base64!"}})
@example(body={"tenant": "acme", "email": {"base64": "YQ"}})
@example(body={"tenant": "acme", "email": {"base64": "YQ==\n"}})
@example(body={"tenant": "acme", "email": {"base64": ""}})
@example(body={"tenant": "acme", "email": {"base64": None}})
@example(body={"tenant": "acme", "prediction_id": None, "features": {"a": 1}, "label": 1})
@example(body={"tenant": "acme", "prediction_id": "p", "label": 1})
@example(body={"tenant": "acme", "feedback_id": None, "moderator": None, "features": {"a": 1}, "label": -1})
@example(body={"tenant": "acme", "items": [{}, None, {"features": {"a": 1}}]})
@example(body={"tenant": "acme", "items": {}})
def test_route_and_model_accept_refuse_and_read_alike(route: Route, body: dict[str, Any]) -> None:
    raw = json.dumps(body).encode()
    answer = asyncio.run(send(route, raw))
    assert answer.status in {200, 422}, answer.json()
    try:
        model = route.model.model_validate_json(raw)
    except ValidationError as error:
        assert answer.status == 422, error  # noqa: PT017 - a body may be accepted too
    else:
        assert answer.status == 200, answer.json()
        same_values(model, route.decoder.decode(raw))


@pytest.mark.parametrize("route", ROUTES, ids=[route.path for route in ROUTES])
@pytest.mark.parametrize("raw", [b"", b"{", b"null", b"[]", b"1", b'{"tenant":"acme"} x', b'{"tenant":"\xff"}', b"NaN"])
def test_both_refuse_a_body_that_is_not_an_object(route: Route, raw: bytes) -> None:
    assert asyncio.run(send(route, raw)).status == 422
    with pytest.raises(ValidationError):
        route.model.model_validate_json(raw)


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/predict", {"tenant": "acme", "features": {"a": 1}, "explain": 1}, PredictResponse),
        ("/predict", {"tenant": "acme", "url": "a.b/c"}, PredictResponse),
        ("/feedback", {"tenant": "acme", "features": {"a": 1}, "label": 1}, FeedbackResponse),
        ("/feedback", {"tenant": "acme", "prediction_id": "p", "label": 1}, FeedbackResponse),
        ("/features", {"url": "a.b/c"}, FeaturesResponse),
    ],
)
def test_an_answer_has_the_fields_of_its_model(path: str, body: dict[str, Any], model: type[BaseModel]) -> None:
    route = next(route for route in ROUTES if route.path == path)
    answered = asyncio.run(send(route, json.dumps(body).encode())).json()
    read = model.model_validate(answered, strict=True, extra="forbid")
    assert read.model_dump(exclude_unset=True) == answered
    assert answered.keys() - SOMETIMES == model.model_fields.keys() - SOMETIMES
    assert answered.get("chosen_with") == (0.25 if "prediction_id" in body else None)


def same_values(model: BaseModel, message: Any) -> None:  # noqa: ANN401 - any of the messages
    """Both have read the same."""
    for name in type(model).model_fields:
        theirs = getattr(message, name)
        if name == "items":
            assert len(model.items) == len(theirs)  # type: ignore[attr-defined]
        elif name not in model.model_fields_set:
            default = type(model).model_fields[name].default
            assert theirs == default or (default is None and (theirs is UNSET or theirs is NO_FEATURES))
        elif name == "features":
            read = example_of_json(theirs)
            assert dict(zip(read.names, read.values.tolist(), strict=True)) == feature_numbers(model.features)  # type: ignore[attr-defined]
        elif isinstance(theirs, EmailBytes):
            assert base64.b64decode(model.email.base64) == theirs.base64  # type: ignore[attr-defined]
        else:
            assert getattr(model, name) == theirs
    assert isinstance(message, Input | FeedbackItem | messages.BatchMessage)
