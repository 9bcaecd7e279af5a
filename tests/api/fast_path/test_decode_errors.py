"""A refused body gets a sentence that says what is wrong, where, and what is allowed."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.errors import BadInput, MalformedBody
from app.api.fast_path import messages
from app.api.fast_path.decode_errors import ALLOWED
from app.api.fast_path.http import decode
from tests.api.conftest import Service

LIBRARY_WORDS = ("Expected `", "Object ", "Invalid ", "`$", "Input ", "should")
MESSAGES = {each for each in vars(messages).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)}
READ = MESSAGES & {type_ for type_ in MESSAGES if type_.__struct_config__.forbid_unknown_fields}


def test_every_field_says_what_it_allows() -> None:
    assert {field for message in READ for field in message.__struct_fields__} == ALLOWED.keys()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the body is empty; it must be JSON"),
        (b" \n", "the body is empty; it must be JSON"),
        (b"[1]", "the JSON is an array; it must be an object"),
        (b"null", "the JSON is null; it must be an object"),
        (b'{"features":{"a":1}}', "tenant is missing; it must be a string, the name of a tenant"),
        (b'{"tenant":"a","label":-1e400}', "label must be 1 (anomaly) or -1 (normal)"),
        (b'{"tenant":"a","label":1.0}', "label is a number with a fraction or an exponent; it must be 1 (anomaly)"),
        (b'{"tenant":"a","label":"spam"}', "label is a string; it must be 1 (anomaly) or -1 (normal)"),
        (b'{"tenant":"a","features":{"x":NaN}}', "the JSON has NaN at byte 30: numbers must be finite"),
        (b'{"tenant":"a","features":{"x":nan}}', "the JSON has nan at byte 30: numbers must be finite"),
        (b'{"tenant":"a","features":{"x":-Infinity}}', "the JSON has -Infinity at byte 30: numbers must be finite"),
        (b"{'tenant':'a'}", "object keys must be strings (byte 1); strings must be in double quotes"),
        (b'{"tenant":"a","label":\'1\'}', "(byte 22); strings must be in double quotes"),
        (b'{"tenant":"a",}', "trailing comma in object (byte 14)"),
        (b'{"tenant":"a"', "the JSON is truncated: a string, an array or an object is not closed"),
    ],
    ids=repr,
)
def test_a_body_is_refused_with_what_to_correct(body: bytes, sentence: str) -> None:
    with pytest.raises((BadInput, MalformedBody)) as refused:
        decode(messages.feedback_decoder, body)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("decoder", [messages.predict_decoder, messages.feedback_decoder, messages.batch_decoder])
@given(name=st.sampled_from([*sorted(ALLOWED), "x`y", " - at `$.label`", "label"]), value=st.text() | st.integers())
def test_no_refusal_speaks_the_language_of_a_library(
    decoder: msgspec.json.Decoder[object], name: str, value: object
) -> None:
    with pytest.raises(BadInput) as refused:
        decode(decoder, msgspec.json.encode({"tenant": "a", name: value, "unknown": 1}))
    assert not str(refused.value).startswith(LIBRARY_WORDS)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"role": ["admin"], "tenants": ["a"]}, "'role' is not a known field; roles is missing"),
        ({"roles": "admin", "tenants": ["a"]}, "roles is 'admin': it must be an array"),
        ({"roles": [], "tenants": 7}, "tenants is 7: it must be an array"),
        ({"roles": ["admin"], "tenants": ["a"], "expires_in_seconds": -1}, "it must be greater than or equal to 1"),
    ],
    ids=str,
)
@pytest.mark.anyio
async def test_a_plain_route_says_what_to_correct_too(service: Service, body: object, sentence: str) -> None:
    answer = await service.client.post("/keys", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "the body is {}: give exactly one of feedback_ids, moderator and key_id"),
        ({"feedback_ids": []}, "feedback_ids is []: it must have at least 1 item"),
        ({"moderator": ""}, "moderator is '': it must match pattern"),
        ({"moderator": "a", "since": "x"}, "since is 'x': it must be a time with its zone"),
    ],
    ids=str,
)
@pytest.mark.anyio
async def test_a_refusal_is_a_sentence(service: Service, body: object, sentence: str) -> None:
    answer = await service.client.post("/tenants/acme/retract", json=body)
    assert answer.status_code == 422
    assert sentence in answer.json()["detail"]


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        (
            {"content-type": "text/plain"},
            "the Content-Type of the body is 'text/plain'; this route reads application/json",
        ),
        ({"content-encoding": "gzip"}, "the body is 'compressed (gzip)'; this route reads uncompressed bodies only"),
    ],
    ids=str,
)
@pytest.mark.anyio
async def test_a_body_of_another_type_names_it(service: Service, headers: dict[str, str], sentence: str) -> None:
    answer = await service.client.post("/predict", content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert sentence in answer.json()["detail"]


@pytest.mark.anyio
async def test_null_is_shown_as_json_has_it(service: Service) -> None:
    answer = await service.client.post("/predict", json={"tenant": "acme", "features": {"x": None}})
    assert answer.json()["detail"] == "feature 'x' is null; it must be a number, true, false or a text"
