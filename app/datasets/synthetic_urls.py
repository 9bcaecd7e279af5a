"""A labelled stream of synthetic URLs for the demo, in which attackers change their tricks from time to time.

All names are under domains reserved for examples and tests, all addresses in networks reserved for documentation. The
same seed gives the same URLs.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, count
from random import Random
from typing import Final

ANOMALY_SHARE: Final = 1 / 20  # far more than in reality, so that a demo shows something within a minute
SITES: Final = 150  # known sites; as in reality, a few of them get most visits
NEW_SITE_SHARE: Final = 1 / 4  # of normal visits go to sites never seen before
THROWAWAYS: Final = 8  # domains that the attackers of one campaign own
HEX: Final = "0123456789abcdef"
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")

TOPLEVELS: Final = ("example", "test", "example.com", "example.net", "example.org")
NETWORKS: Final = ("192.0.2", "198.51.100", "203.0.113")
FIRST: Final = """
amber blue cedar clover copper daily fern golden harbor hill iron lake maple north oak open
""".split()  # noqa: SIM905 - easier to read than a list literal
SECOND: Final = """
barn bridge corner craft field forge garden house kettle market mill post press river shop
""".split()  # noqa: SIM905
WORDS: Final = """
about account alert art autumn best bike board book bread budget cable camera chair city client coast coffee colour
compare concert council course cover design dinner early engine fair family festival film final first forest free game
garden gift glass guide harvest health help history holiday home invoice island jacket kitchen lamp late league lesson
letter light local login market match meeting member menu morning museum music new night notice office old open order
paper park parcel payment photo plan player portal price recipe record report review river road safe sale school season
secure select service session share simple spring station story street student summer support table team ticket today
train travel update user verify video village visit water weather week welcome window winter wood world yearly
""".split()  # noqa: SIM905
BRANDS: Final = ("cardwell", "cloudnest", "mailgate", "netbank", "ourbank", "paystone", "quickpay", "streamly")
CARRIERS: Final = ("airpost", "fastbox", "parcelo", "postline", "swiftvan")

# `_UrlGenerator` fills in {site} {own} {brand} ..., each drawn again. Normal sites also ask for passwords, deliver
# parcels and share documents, and some attacks look like any page of an unknown site: no single word identifies an
# attack, and not every attack can be detected.
NORMAL: Final = (
    "https://www.{site}/{year}/{month}/{word}-{word}-{word}",
    "https://www.{site}/{word}/{word}-{word}-{number}.html",
    "https://{site}/tag/{word}?page={digit}",
    "https://{site}/product/{word}-{word}?id={number}&ref={token}",
    "https://{site}/category/{word}?page={digit}&sort=price",
    "https://{site}/account/orders/{number}",
    "https://{site}/track/parcel/{number}",
    "https://docs.{site}/d/{token}{token}/view",
    "https://share.{site}/{hex}/view",
    "https://help.{site}/{word}/{word}-{word}.html",
    "https://forum.{site}/t/{word}-{word}/{number}",
    "https://{site}/login.php?next=/{word}/{number}",
    "https://{site}/r/{token}",
    "https://{site}/",
    "https://{brand}.{site}/account/signin?session={hex}",
    "https://{brand}.example/secure/statements/{year}",
    "https://{carrier}.{site}/track?number={number}",
    "https://mail.{site}/verify?token={hex}",
    "https://cdn.{site}/assets/{hex}/{word}.js",
    "https://{site}/wp-content/uploads/{year}/{month}/{word}-{word}.jpg",
    "https://{word}-{word}.{top}/{word}/{token}",
    "http://{site}/index.php?page={word}&id={digit}",
    "http://{address}/{word}/status.php",
)
TRICKS: Final = (
    (  # pages that ask for passwords
        "http://{brand}-{word}.{own}/signin?session={hex}",
        "http://{own}/{brand}/webscr.php?cmd=login&dispatch={hex}",
        "https://secure-{brand}.{top}/login.php?id={number}",
        "http://{site}/wp-content/plugins/{token}/{brand}/index.html",
        "http://{address}/{brand}/account.php",
        "https://{own}/account/verify?token={hex}",
        "https://{site}/{word}/{token}",
    ),
    (  # parcels, prizes and shared documents
        "https://{carrier}-{word}.{top}/parcel/{number}/fee",
        "https://{carrier}.{own}/track?number={number}&pay={digit}",
        "https://docs.{own}/d/{token}{token}/open",
        "https://{own}/r/{token}",
        "https://claim-{word}.{top}/connect/{hex}",
        "https://{site}/.well-known/{token}/scan_{number}.html",
        "https://{site}/product/{word}-{word}?id={token}",
    ),
    (  # invoices, meetings and job offers
        "https://{word}-billing.{top}/invoice/{year}{month}/{number}.xlsm",
        "https://meet.{own}/j/{number}?pwd={token}",
        "https://{own}/careers/{word}-{word}/apply-now?c={token}",
        "https://{site}/cgi-bin/{token}/statement.iso",
        "https://calendar.{own}/event/{hex}/accept",
        "http://{address}:8{digit}{digit}{digit}/office/{hex}",
        "https://help.{site}/{word}/{token}",
    ),
)


@dataclass(frozen=True, slots=True)
class SyntheticUrl:
    """A URL with its true label: 1 for an attack, -1 for normal. `campaign` counts the changes before it."""

    url: str
    label: int
    campaign: int


def synthetic_urls(seed: int, change_every: int) -> Iterator[SyntheticUrl]:
    """Yield URLs without end; after every `change_every` of them, attackers use new tricks and new domains."""
    random = Random(seed)  # noqa: S311 - no security depends on it
    sites = [_site(random) for _ in range(SITES)]
    for campaign in count():
        generator = _UrlGenerator(random, sites)
        tricks = TRICKS[campaign % len(TRICKS)]
        for _ in range(change_every):
            label = 1 if random.random() < ANOMALY_SHARE else -1
            yield SyntheticUrl(generator.generate(tricks if label == 1 else NORMAL), label, campaign)


class _UrlGenerator:
    """Fills in templates during one campaign."""

    def __init__(self, random: Random, sites: list[str]) -> None:
        visits = list(accumulate(1.0 / place for place in range(1, len(sites) + 1)))
        own = [_site(random) for _ in range(THROWAWAYS)]
        self._random = random
        self._fillers: dict[str, Callable[[], str]] = {
            "site": lambda: (
                _site(random) if random.random() < NEW_SITE_SHARE else random.choices(sites, cum_weights=visits)[0]
            ),
            "own": lambda: random.choice(own),
            "top": lambda: random.choice(TOPLEVELS),
            "address": lambda: f"{random.choice(NETWORKS)}.{random.randint(1, 254)}",
            "brand": lambda: random.choice(BRANDS),
            "carrier": lambda: random.choice(CARRIERS),
            "word": lambda: random.choice(WORDS),
            "year": lambda: str(random.randint(2019, 2026)),
            "month": lambda: f"{random.randint(1, 12):02}",
            "digit": lambda: str(random.randint(1, 9)),
            "number": lambda: str(random.randint(1_000, 9_999_999)),
            "token": lambda: _draw(random, LETTERS, random.randint(6, 11)),
            "hex": lambda: _draw(random, HEX, 16),
        }

    def generate(self, templates: tuple[str, ...]) -> str:
        """Fill in one of the templates, drawn at random."""
        return PLACEHOLDER.sub(lambda match: self._fillers[match[1]](), self._random.choice(templates))


def _site(random: Random) -> str:
    return f"{random.choice(FIRST)}{random.choice(SECOND)}{random.randint(1, 99)}.{random.choice(TOPLEVELS)}"


def _draw(random: Random, letters: str, length: int) -> str:
    return "".join(random.choices(letters, k=length))
