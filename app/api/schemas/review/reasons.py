"""What a moderator is shown of an input: the input itself if it is kept, and the reasons of its score."""

import asyncio
from base64 import b64encode
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.names import Number, ResponseModel
from app.features.reasons import Reason, parts_of, reasons_of
from app.storage.review.inputs import RawInput

INLINE_SIZE = 1 << 14  # characters or bytes of an input,
EXCERPT = 300  # characters
INLINE_FEATURES = 300  # and features: with more, a thread finds the reasons
PARTS_DESCRIPTION = (
    "What a reader sees, decoded: `from`, `reply-to`, `return-path`, `sender`, `subject`, `body`, `links` and "
    "`attachments` (one on each line), without those that are empty. Places of reasons refer to them."
)


class PlaceResponse(ResponseModel):
    """Where a reason is in the input: code points of one of its parts, `start` included and `end` not."""

    part: Annotated[str, Field(description="`url`, `text`, or one of the `parts` of an e-mail.")]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class ReasonResponse(ResponseModel):
    """What moved the score, in words; features that belong together are one reason."""

    text: str
    contribution: Annotated[Number, Field(description="The sum over its features; positive towards an anomaly.")]
    features: Annotated[list[str], Field(description="The names of the features behind it, the largest first.")]
    places: Annotated[list[PlaceResponse], Field(description="Empty if the input is not kept; at most 20.")]


class UrlInputResponse(ResponseModel):
    """A URL as it was sent."""

    kind: Literal["url"]
    url: str


class TextInputResponse(ResponseModel):
    """A text as it was sent."""

    kind: Literal["text"]
    text: str


class EmailBytesResponse(ResponseModel):
    """The bytes of an e-mail that is not UTF-8."""

    base64: str


class EmailInputResponse(ResponseModel):
    """An e-mail as it was sent, and its parts."""

    kind: Literal["email"]
    email: str | EmailBytesResponse
    parts: Annotated[dict[str, str], Field(description=PARTS_DESCRIPTION)]


InputResponse = Annotated[
    UrlInputResponse | EmailInputResponse | TextInputResponse,
    Field(discriminator="kind", description="What was sent to be scored; null if it is not kept."),
]


async def shown_input(given: RawInput | None) -> UrlInputResponse | EmailInputResponse | TextInputResponse | None:
    """Return a kept input as it is shown; None if it is not kept."""
    if given is None:
        return None
    kind, raw = given
    if kind == "email":
        return await asyncio.to_thread(_shown_mail, raw)
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    return UrlInputResponse(kind="url", url=text) if kind == "url" else TextInputResponse(kind="text", text=text)


async def excerpt_of(given: RawInput | None) -> str | None:
    """Return how a kept input begins: a URL or a text, or the subject of an e-mail; None if it is not kept."""
    if given is None:
        return None
    kind, raw = given
    if kind == "email":
        parts = await asyncio.to_thread(parts_of, "email", raw[:INLINE_SIZE])
        return parts.get("subject", "")[:EXCERPT]
    begin = raw[: 4 * EXCERPT]
    return (begin.decode("utf-8", "replace") if isinstance(begin, bytes) else begin)[:EXCERPT]


async def shown_reasons(
    given: RawInput | None, contributions: Sequence[tuple[str, float]], most: int
) -> list[ReasonResponse]:
    """Return the reasons behind what all features of an input contribute; without the input, by their names."""
    kind, raw = given or (None, None)
    if len(contributions) > INLINE_FEATURES or (raw is not None and len(raw) > INLINE_SIZE):
        found: list[Reason] = await asyncio.to_thread(reasons_of, kind, raw, contributions, most)
    else:
        found = reasons_of(kind, raw, contributions, most)
    return [ReasonResponse.model_validate(each) for each in found]


def _shown_mail(raw: str | bytes) -> EmailInputResponse:
    mail: str | EmailBytesResponse
    try:
        mail = raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError:
        mail = EmailBytesResponse(base64=b64encode(raw).decode())  # type: ignore[arg-type]  # a text needs no decoding
    return EmailInputResponse(kind="email", email=mail, parts=parts_of("email", raw))
