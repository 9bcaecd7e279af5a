from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.features.featurizer import Kind, features_of
from app.features.reasons import Reason, parts_of, reasons_of
from app.features.tokens import words_of
from tests.features.email.mails import MAILS

PHISHING = "http://www.PayPal.com.evil-login.co.uk:8080/signin/a8f3c9/login.php?id=7&next=http%3A%2F%2Fa.b#top"
characters = st.characters() | st.sampled_from("./:?#@%&=[]-_\\ aA0'$<>\n\u0130\ufb01\u4eca\u65e5\u0301")
texts = st.lists(characters | st.sampled_from(["com", "xn--", "paypal", "%2f", "free prize "]), max_size=60).map(
    "".join
)


def contributions(kind: Kind, raw: str | bytes) -> list[tuple[str, float]]:
    """As if every weight were 1."""
    example = features_of(kind, raw).example
    return list(zip(example.names, example.values.tolist(), strict=True))


def by_text(kind: Kind, raw: str | bytes) -> dict[str, Reason]:
    return {each.text: each for each in reasons_of(kind, raw, contributions(kind, raw))}


def shown(raw: str | bytes, kind: Kind, reason: Reason) -> list[str]:
    parts = parts_of(kind, raw)
    return [parts[each.part][each.start : each.end] for each in reason.places]


@pytest.mark.parametrize(
    ("url", "text", "words", "feature"),
    [
        (PHISHING, 'host looks like "paypal" but its domain is "evil-login.co.uk"', ["PayPal"], "host4:aypa"),
        (PHISHING, 'host contains "login"', ["login"], "host4:ogin"),
        (PHISHING, 'domain is "evil-login.co.uk"', ["evil-login", "evil-login.co.uk"], "name:evil-login"),
        (PHISHING, 'domain ends in ".co.uk"', ["co.uk"], "suffix:co.uk"),
        (PHISHING, 'subdomain "www"', ["www"], "host4:^www"),
        (PHISHING, 'path word "signin"', ["signin"], "dir0:signin"),
        (PHISHING, 'file name ends in ".php"', ["php"], "ext:php"),
        (PHISHING, 'file name "login.php"', ["login.php"], "file:login.php"),
        (PHISHING, 'query parameter "next"', ["next"], "param:next"),
        (PHISHING, 'query contains "%2fa"', ["%2Fa"], "query:2fa"),
        (PHISHING, 'word "top" after the #', ["top"], "fragment:top"),
        (PHISHING, "port is 8080", [], "port:8080"),
        (PHISHING, "path has 3 digits", [], "digits:path:3"),
        (PHISHING, "URL is 91 characters long", [], "len:url:64"),
        (PHISHING, "path has a part of 6 letters and digits", ["a8f3c9"], "shape:ad6"),
        ("a.b/" + "1" * 17, "path has 17 digits", [], "digits:path:16"),
        ("http://u:p@10.2.3.4/", "host is an IP address", ["10.2.3.4"], "host4:10.2"),
        ("http://u:p@10.2.3.4/", "user name stands before the host", ["u:p"], "is:userinfo"),
        ("http://xn--pypal-4ve.com/", "host has letters in punycode (xn--)", [], "is:punycode"),
        ("http://a.com/Paypal", 'path names "paypal" but the domain is "a.com"', ["Paypal"], "brand:paypal"),
        ("http://paypal.com/paypal", 'path word "paypal"', ["paypal"], "path:paypal"),
        ("http://a.com", "no path", [], "depth:0"),
        ("http://a.com/secure-form/", 'path ends in "secure-form"', ["secure-form"], "dir0:secure-form"),
        ("http://a.com/b-c/x", 'folder "b-c"', ["b-c"], "dir0:b-c"),
    ],
)
def test_reasons_of_a_url(url: str, text: str, words: Sequence[str], feature: str) -> None:
    reason = by_text("url", url)[text]
    assert shown(url, "url", reason) == words
    assert feature in reason.features


def test_fragments_add_up_to_the_words_that_they_came_from() -> None:
    found = by_text("url", "http://login.example/")
    assert found['subdomain "login"'].contribution > 5.0
    assert not any("ogin" in text for text in found if "login" not in text)


def test_a_fragment_in_two_words_is_shared() -> None:
    found = reasons_of("url", "http://ab-cd.com/", [("host4:b-cd", 3.0)])
    assert [(each.text, each.contribution) for each in found] == [
        ('host contains "cd"', 2.0),
        ('host contains "ab"', 1.0),
    ]


@pytest.mark.parametrize("kind", ["url", None])
def test_without_the_url_the_names_say_the_same(kind: str | None) -> None:
    url = "http://www.paypal.com.evil-login.co.uk/signin/login.php?id=7#top"
    with_url = {each.text for each in reasons_of("url", url, contributions("url", url))}
    without = reasons_of(kind, None, contributions("url", url))
    lengths = {text for text in with_url if "long" in text or "part of" in text}
    assert with_url - lengths - {'word "top" after the #'} <= {each.text for each in without}
    assert not any(each.places for each in without)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('text contains "free prize"', ["FREE prize"]),
        ('text contains "now"', ["now"]),
        ("text has 1 currency sign", []),
        ("text has 2 exclamation marks", []),
        ("text has 32 to 63 characters", []),
        ("text has no link", []),
    ],
)
def test_reasons_of_a_text(text: str, words: Sequence[str]) -> None:
    raw = "Win a FREE prize! You can win $100 now!"
    weights = {"pair:free prize": 9.0, "word:free": 8.0, "word:prize": 8.0}
    given = [(name, weights.get(name, value / 10.0)) for name, value in contributions("text", raw)]
    reason = {each.text: each for each in reasons_of("text", raw, given)}[text]
    assert shown(raw, "text", reason) == words


def test_words_that_disagree_do_not_become_a_phrase() -> None:
    found = reasons_of("text", None, [("word:free", 2.0), ("pair:free prize", 1.0), ("word:prize", -2.0)])
    assert [each.text for each in found] == [
        'text contains "free"',
        'text contains "prize"',
        'text contains "free prize"',
    ]


MAIL = b"""\
From: alerts@mail.bank.example
Reply-To: Joe <joe@other.example>
Subject: =?utf-8?q?Your_free_pr=C3=A4mie?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="xyz"

--xyz
Content-Type: multipart/alternative; boundary="inner"

--inner
Content-Type: text/html

<p>Dear customer, <a href="http://10.0.0.1/login-7.php">www.bank.example</a></p><form></form>
--inner--
--xyz
Content-Type: application/octet-stream; name="invoice.pdf.exe"
Content-Transfer-Encoding: base64

TVqQ
--xyz--
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sender has no name", []),
        ('sender\'s domain is "mail.bank.example"', ["mail.bank.example", "bank.example"]),
        ("replies go to another domain than the sender's", []),
        ('subject contains "free pr\u00e4mie"', ["free pr\u00e4mie"]),
        ('body contains "dear customer"', ["Dear customer"]),
        ("link text differs from target", ["www.bank.example", "http://10.0.0.1/login-7.php"]),
        ("link goes to an IP address", []),
        ('link\'s path has the form "abc-12.abc"', ["login-7.php"]),
        ('attachment ends in ".pdf.exe" (two extensions)', [".pdf.exe"]),
        ('attachment\'s name contains "invoice"', ["invoice"]),
        ("HTML has a form", []),
        ("date is missing", []),
        ('header line "to" is missing', []),
        ("mail went through no servers", []),
        ('mail has a part of the type "multipart/alternative"', []),
    ],
)
def test_reasons_of_a_mail(text: str, words: Sequence[str]) -> None:
    reason = by_text("email", MAIL)[text]
    assert sorted(shown(MAIL, "email", reason)) == sorted(words)


@pytest.mark.parametrize("name", MAILS)
def test_no_reason_of_a_mail_shows_the_name_of_a_feature(name: str) -> None:
    for reason in reasons_of("email", MAILS[name], contributions("email", MAILS[name])):
        assert not any(feature == reason.text for feature in reason.features)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("amount 1,500 (1,024-2,048)", "amount is 1,500 (1,024 to 2,048)"),
        ("amount -1,500 (-2,048 to -1,024)", "amount is -1,500 (-2,048 to -1,024)"),
        ("amount 0", "amount is 0"),
        ("browser=chrome", 'browser is "chrome"'),
        ("browser=", "browser is empty"),
        ("is_admin", "is_admin"),
        ("(bias)", "starting point of every score"),
        ("#00ff00ff00ff00ff", "feature whose name is not stored (#00ff00ff00ff00ff)"),
        ("a\nb", "a\ufffdb"),
    ],
)
def test_reasons_of_features_that_callers_gave(name: str, text: str) -> None:
    assert [each.text for each in reasons_of(None, None, [(name, 1.0)])] == [text]
    assert text in {each.text for each in reasons_of("url", "a.b/c", [(name, 1.0), ("path:c", 0.5)])}


@pytest.mark.parametrize("kind", ["url", "text", "email", None])
def test_a_reason_is_one_line_without_hidden_characters(kind: str | None) -> None:
    odd = "a\u202eb\x00c\nd"
    names = [f"{prefix}:{odd}" for prefix in ("host", "path", "file", "word", "body", "link:host", "hdr:list-id", "x")]
    for reason in reasons_of(kind, None, [(name, 1.0) for name in names]):
        assert reason.text.isprintable()


def test_the_name_of_a_feature_may_be_huge() -> None:
    (reason,) = reasons_of(None, None, [("a 1 (" * 1_000_000, 1.0)])
    assert len(reason.text) <= 200


def test_the_largest_come_first_and_only_as_many_as_are_wanted() -> None:
    found = reasons_of(None, None, [("a", 0.5), ("b", -2.0), ("c", 0.5), ("d", 0.0)], 2)
    assert [(each.text, each.contribution) for each in found] == [("b", -2.0), ("a", 0.5)]


def test_the_order_of_the_contributions_makes_no_difference() -> None:
    given = [("path:ab", 0.1), ("path4:/ab/", 0.2), ("dir0:ab", 0.3), ("host4:^www", -1e9)]
    assert len({str(reasons_of("url", "www.x.com/ab/", each)) for each in permutations(given)}) == 1


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.7e308])
def test_weights_that_have_overflowed_do_no_harm(value: float) -> None:
    assert reasons_of("url", "a.b", [("host:a", value), ("sub:a", -1.7e308), ("name:a", 1.0)])


@settings(max_examples=150, deadline=None)
@given(raw=texts, kind=st.sampled_from(["url", "text", "email"]))
def test_no_input_breaks_the_reasons_and_no_contribution_is_lost(raw: str, kind: Kind) -> None:
    given = contributions(kind, raw)
    parts = parts_of(kind, raw)
    for own in (raw, None):
        found = reasons_of(kind, own, given)
        assert sum(each.contribution for each in found) == pytest.approx(sum(value for _, value in given))
        assert {name for each in found for name in each.features} == {name for name, _ in given}
        for place in [place for each in found for place in each.places]:
            assert 0 <= place.start < place.end <= len(parts[place.part])


@settings(max_examples=150, deadline=None)
@given(raw=texts)
def test_places_of_words_contain_the_words(raw: str) -> None:
    for reason in reasons_of("text", raw, contributions("text", raw)):
        word = next((name[5:] for name in reason.features if name.startswith("word:")), None)
        pair = next((name for name in reason.features if name.startswith("pair:")), None)
        if word is not None and pair is None:
            assert reason.places
            for found in shown(raw, "text", reason):
                assert word in words_of(found.encode("utf-8", "replace").decode())


@settings(max_examples=150, deadline=None)
@given(raw=texts)
def test_every_feature_of_a_url_has_words_of_its_own(raw: str) -> None:
    for reason in reasons_of("url", raw, contributions("url", raw)):
        assert not any(feature == reason.text for feature in reason.features)


@pytest.mark.parametrize("kind", ["url", "text", "email"])
def test_huge_inputs_have_reasons_of_bounded_size(kind: Kind) -> None:
    raw = "http://a.b/" + "verify-paypal/x " * 100_000
    found = reasons_of(kind, raw, contributions(kind, raw), 10)
    assert len(found) == 10
    assert all(len(each.text) < 300 and len(each.places) <= 20 for each in found)
