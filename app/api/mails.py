"""E-mails as they are, as bodies: what JSON says in its fields stands in the query."""

from starlette.requests import Request

from app.api.bodies import Mail
from app.api.errors import BadInput
from app.api.queries import query, whole_number, yes_or_no
from app.api.wire import FeaturesIn, FeedbackIn, Label, MailIn, PredictIn
from app.learning.errors import short_repr

MOST_EXPLAINED = 100
LABELS: dict[str, Label] = {"1": 1, "-1": -1}


def mail_to_predict(request: Request, mail: Mail) -> PredictIn:
    """Whether this mail is an anomaly."""
    given = query(request, "tenant", "explain", "keep")
    return PredictIn(
        tenant=_needed(given, "tenant"),
        email=MailIn(mail.raw),
        explain=whole_number(given, "explain", 0, 0, MOST_EXPLAINED),
        keep=yes_or_no(given, "keep", default=True),
    )


def mail_with_label(request: Request, mail: Mail) -> FeedbackIn:
    """What this mail is, by a moderator."""
    given = query(request, "tenant", "label", "feedback_id", "moderator")
    label = _needed(given, "label")
    if label not in LABELS:
        raise BadInput(f"label is {short_repr(label)}; it must be 1 (an anomaly) or -1 (normal)")
    return FeedbackIn(
        tenant=_needed(given, "tenant"),
        email=MailIn(mail.raw),
        label=LABELS[label],
        feedback_id=given.get("feedback_id"),
        moderator=given.get("moderator"),
    )


def mail_to_show(request: Request, mail: Mail) -> FeaturesIn:
    """What this mail is turned into."""
    given = query(request, "tenant")
    email = MailIn(mail.raw)
    return FeaturesIn(tenant=given["tenant"], email=email) if given else FeaturesIn(email=email)


def _needed(given: dict[str, str], name: str) -> str:
    if name not in given:
        raise BadInput(f"the query parameter {name!r} is missing: a mail has its fields in the query")
    return given[name]
