"""What is odd about the date that a mail bears. The date itself is no feature: it would tell times, not mails."""

import calendar
import re
from email.utils import parsedate_tz

from app.features.email.headers import Headers
from app.features.email.shapes import shape_of

LONGEST_DATE = 100
QUARTER, HOUR, DAY = 900, 3600, 86400  # seconds
FARTHEST_ZONE = 14 * HOUR
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
WEEKDAY = re.compile(r"\s*([a-z]{3})[a-z]{0,6},", re.IGNORECASE)


def date_features(headers: Headers) -> list[str]:
    """Its form and time zone, and whether it fits its weekday and the moment of arrival."""
    value = headers.raw("date").strip()[:LONGEST_DATE]
    date = _read(value)
    if date is None:
        return ["date:unreadable"] if value else ["date:missing"]
    moment, zone = date
    arrivals = headers.all("received")
    arrival = _read(arrivals[0].rpartition(";")[2].strip()[:LONGEST_DATE]) if arrivals else None
    return [
        f"date:shape:{shape_of(value)}",
        *_zone(zone),
        *_weekday(value, moment + (zone or 0)),
        *(_delay(arrival[0] - moment) if arrival else ()),
    ]


def _zone(zone: int | None) -> list[str]:
    if zone is None:
        return ["date:no-zone"]
    odd = zone % QUARTER != 0 or abs(zone) > FARTHEST_ZONE
    return [f"date:zone:{zone // 60}", "date:odd-zone"] if odd else [f"date:zone:{zone // 60}"]


def _weekday(value: str, local: int) -> list[str]:
    told = WEEKDAY.match(value)
    true = WEEKDAYS[(local // DAY + 3) % 7]  # 1 January 1970 was a Thursday
    return ["date:wrong-weekday"] if told and told[1].lower() != true else []


def _delay(seconds: int) -> list[str]:
    return ["date:future" if seconds < -HOUR else "date:late" if seconds > DAY else "date:in-time"]


def _read(value: str) -> tuple[int, int | None] | None:
    """Seconds since 1970 and the time zone's seconds; None for what is no date."""
    try:
        date = parsedate_tz(value)
        return None if date is None else (calendar.timegm((*date[:6], 0, 0, 0)) - (date[9] or 0), date[9])
    except (ValueError, IndexError, TypeError, OverflowError):  # the parser lets some nonsense through
        return None
