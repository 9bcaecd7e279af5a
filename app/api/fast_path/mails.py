"""E-mails as bodies (message/rfc822): the query has the fields that JSON has in its body."""

from starlette.requests import Request

from app.api.errors import BadInput
from app.api.fast_path.http import Mail
from app.api.fast_path.messages import EmailBytes, FeedbackMessage, Input, Label, PredictMessage
from app.api.parameters import flag, query_of, whole_number
from app.api.schemas.predictions import MAX_EXPLAINED
from app.learning.errors import short_repr

LABELS: dict[str, Label] = {"1": 1, "-1": -1}


def mail_to_predict(request: Request, mail: Mail) -> PredictMessage:
    """Return the same as the JSON body of /predict."""
    given = query_of(request, "tenant", "explain", "keep")
    return PredictMessage(
        tenant=_required(given, "tenant"),
        email=EmailBytes(mail.raw),
        explain=whole_number("explain", given["explain"], 0, MAX_EXPLAINED) if "explain" in given else 0,
        keep=flag("keep", given["keep"]) if "keep" in given else True,
    )


def mail_with_label(request: Request, mail: Mail) -> FeedbackMessage:
    """Return the same as the JSON body of /feedback."""
    given = query_of(request, "tenant", "label", "feedback_id", "moderator")
    label = _required(given, "label")
    if label not in LABELS:
        raise BadInput(f"label is {short_repr(label)}; it must be 1 (anomaly) or -1 (normal)")
    return FeedbackMessage(
        tenant=_required(given, "tenant"),
        email=EmailBytes(mail.raw),
        label=LABELS[label],
        feedback_id=given.get("feedback_id"),
        moderator=given.get("moderator"),
    )


def mail_to_featurize(request: Request, mail: Mail) -> Input:
    """Return the same as the JSON body of /features."""
    given = query_of(request, "tenant")
    email = EmailBytes(mail.raw)
    return Input(tenant=given["tenant"], email=email) if given else Input(email=email)


def _required(given: dict[str, str], name: str) -> str:
    if name not in given:
        raise BadInput(f"the query parameter {name!r} is missing: a mail has its fields in the query")
    return given[name]
