"""Features of the header lines: their names and order, the mail program, and oddities of the date."""

import calendar
import re
from email.utils import parsedate_tz
from itertools import pairwise

from app.features.email.headers import Headers
from app.features.tokens import shape_of, words_of

NEEDED = ("from", "to", "subject", "date", "message-id", "mime-version", "content-type")
ONCE = (*NEEDED, "reply-to", "sender")
USUAL = {*NEEDED, "received", "return-path"}  # no information: every mail has them
MAILERS = ("x-mailer", "user-agent")
INFORMATIVE = (
    *("x-mimeole", "x-priority", "x-msmail-priority", "importance", "precedence", "content-transfer-encoding"),
    *("mime-version", "organization", "list-id", "content-class", "auto-submitted", "x-accept-language"),
)
LONGEST_VALUE = 60
MOST_WORDS = 10
LONGEST_DATE = 100
QUARTER, HOUR, DAY = 900, 3600, 86400  # seconds
FARTHEST_ZONE = 14 * HOUR
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAY = re.compile(r"\s*([a-z]{3})[a-z]{0,6},", re.IGNORECASE)


def line_features(headers: Headers) -> list[str]:
    """Return which lines are present, missing or repeated, which follows which, and the mail program."""
    names = [f"hdr:{name}" for name in headers.names if name not in USUAL]
    names += [f"hdr:missing:{name}" for name in NEEDED if not headers.raw(name)]
    names += [f"hdr:repeated:{name}" for name in ONCE if headers.names.count(name) > 1]
    names += [f"hdr:{one}>{other}" for one, other in pairwise(dict.fromkeys(headers.names))]
    return names + _mailer(headers) + _values(headers)


def date_features(headers: Headers) -> list[str]:
    """Return the form and time zone of the date, and whether it fits its weekday and the time of arrival.

    The date itself is not a feature: it would describe a time, not a mail.
    """
    value = headers.raw("date").strip()[:LONGEST_DATE]
    date = _parse_date(value)
    if date is None:
        return ["date:unreadable"] if value else ["date:missing"]
    moment, zone = date
    arrivals = headers.all("received")
    arrival = _parse_date(arrivals[0].rpartition(";")[2].strip()[:LONGEST_DATE]) if arrivals else None
    return [
        f"date:shape:{shape_of(value)}",
        *_zone(zone),
        *_weekday(value, moment + (zone or 0)),
        *(_delay(arrival[0] - moment) if arrival else ()),
    ]


def _mailer(headers: Headers) -> list[str]:
    names = []
    for value in filter(None, map(headers.text, MAILERS)):
        names.append(f"mailer:{_short(value)}")
        names += [f"mailer:{word}" for word in words_of(value)[:MOST_WORDS]]
    return names


def _values(headers: Headers) -> list[str]:
    return [f"hdr:{name}:{_short(headers.text(name))}" for name in INFORMATIVE if headers.raw(name)]


def _short(value: str) -> str:
    return " ".join(value.lower().split())[:LONGEST_VALUE]


def _zone(zone: int | None) -> list[str]:
    if zone is None:
        return ["date:no-zone"]
    odd = zone % QUARTER != 0 or abs(zone) > FARTHEST_ZONE
    return [f"date:zone:{zone // 60}", "date:odd-zone"] if odd else [f"date:zone:{zone // 60}"]


def _weekday(value: str, local: int) -> list[str]:
    stated = WEEKDAY.match(value)
    true = WEEKDAYS[(local // DAY + 3) % 7]  # 1 January 1970 was a Thursday
    return ["date:wrong-weekday"] if stated and stated[1].lower() != true else []


def _delay(seconds: int) -> list[str]:
    return ["date:future" if seconds < -HOUR else "date:late" if seconds > DAY else "date:in-time"]


def _parse_date(value: str) -> tuple[int, int | None] | None:
    """Return seconds since 1970 and the time zone in seconds; None if it is not a date."""
    try:
        date = parsedate_tz(value)
        return None if date is None else (calendar.timegm((*date[:6], 0, 0, 0)) - (date[9] or 0), date[9])
    except (ValueError, IndexError, TypeError, OverflowError):  # the parser does not catch all invalid dates
        return None
