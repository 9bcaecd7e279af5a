"""The features of an e-mail, group by group."""

import pytest

from tests.features.email.mails import CHINESE, FORWARDED, HTML, MULTIPART, PLAIN, RUSSIAN, features


def header(line: str) -> dict[str, float]:
    return features(line.encode() + b"\n\nbody\n")


def page(html: str) -> dict[str, float]:
    return features(b"Content-Type: text/html; charset=utf-8\n\n" + html.encode())


def test_subject_and_body_become_words_and_pairs_of_words() -> None:
    found = features(b"Subject: Cheap Pills\n\nbuy Now")
    assert {"subj:cheap", "subj:pills", "subj:cheap pills", "body:buy", "body:now", "body:buy now"} <= found.keys()
    assert found["body:buy"] == 2 * found["body:buy now"]


def test_senders_hops_and_links_weigh_more_than_words() -> None:
    found = features(b"From: a@b.example\n\nsee http://c.example/")
    assert found["from:domain:b.example"] == found["link:domain:c.example"] == 2 * found["body:see"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("From: Ann <ann@mail.Example.org>", "from:domain:example.org"),
        ("From: Ann <ann@mail.Example.org>", "from:host:mail.example.org"),
        ("From: Ann <Ann7@example.org>", "from:shape:Aa9"),
        ("From: Ann <ann@example.org>", "from:name:ann"),
        ("From: =?koi8-r?B?8NLJ18XU?= <a@b.example>", "from:name:привет"),
        ("From: nobody", "from:no-address"),
        ("From: a@b.example", "from:no-name"),
        ("From: a@b.example\nReply-To: c@d.example", "replyto:not-from"),
        ("From: a@b.example\nReturn-Path: <x@mail.b.example>", "path:as-from"),
        ("From: a@b.example\nMessage-ID: <1.2@c.example>", "msgid:not-from"),
        ("To: a@b.example, c@d.example", "to:count:2"),
        ("X-Mailer: The Bat! 3.0", "mailer:the bat! 3.0"),
        ("X-Mailer: The Bat! 3.0", "mailer:bat"),
        ("X-Priority: 1", "hdr:x-priority:1"),
        ("List-Id: <a.b>", "hdr:list-id"),
        ("From: a@b.example", "hdr:missing:subject"),
        ("Subject: a\nSubject: b", "hdr:repeated:subject"),
        ("To: a\nFrom: b", "hdr:to>from"),
    ],
)
def test_a_header_line_becomes_a_feature(line: str, name: str) -> None:
    assert name in header(line)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Received: from a.example (b.example [192.0.2.1]) by c.example with ESMTP", "rcvd:known:b.example"),
        ("Received: from a.example (b.example [192.0.2.1]) by c.example with ESMTP", "rcvd:helo:other-name"),
        ("Received: from a.example (b.example [192.0.2.1]) by c.example with ESMTP", "rcvd:ip:192.0.2"),
        ("Received: from a.example (b.example [192.0.2.1])\n\tby c.example with ESMTP", "rcvd:with:esmtp"),
        ("Received: from a.example ([192.0.2.1]) by c.example", "rcvd:no-name"),
        ("Received: from 192.0.2.1 by c.example", "rcvd:helo:ip"),
        ("Received: from pc by c.example", "rcvd:helo:no-dot"),
        ("Received: by c.example\nReceived: by d.example", "rcvd:hops:2"),
    ],
)
def test_a_hop_becomes_features(line: str, name: str) -> None:
    assert name in header(line)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Date: Sun, 8 Apr 2007 12:00:00 -0400", "date:zone:-240"),
        ("Date: Sun, 8 Apr 2007 12:00:00 +0480", "date:odd-zone"),
        ("Date: Mon, 8 Apr 2007 12:00:00 +0000", "date:wrong-weekday"),
        ("Date: soon", "date:unreadable"),
        ("Subject: x", "date:missing"),
        ("Received: x; Sun, 8 Apr 2007 12:00:00 GMT\nDate: Sun, 8 Apr 2007 12:00:00 +0000", "date:in-time"),
        ("Received: x; Sun, 8 Apr 2007 12:00:00 GMT\nDate: Fri, 6 Apr 2007 12:00:00 +0000", "date:late"),
        ("Received: x; Sun, 8 Apr 2007 12:00:00 GMT\nDate: Mon, 9 Apr 2007 12:00:00 +0000", "date:future"),
        ("Date: Sun, 99 Apr 99999999999 12:00:00 +0000", "date:unreadable"),
    ],
)
def test_an_odd_date_becomes_a_feature(line: str, name: str) -> None:
    assert name in header(line)


def test_a_valid_date_is_not_a_feature() -> None:
    found = [name for name in header("Date: Sun, 8 Apr 2007 12:00:00 +0000") if name.startswith("date:")]
    assert found == ["date:shape:Aa, 9 Aa 9 9:9:9 +9", "date:zone:0"]


@pytest.mark.parametrize(
    "line",
    [
        "X-Spam-Status: Yes",
        "X-Rc-Virus: 2006",
        "X-Bogosity: Spam",
        "Authentication-Results: x; dkim=fail",
        "X-DSPAM-Result: Spam",
        "X-Virus-Scanned: clean",
        "X-Barracuda-Bayes: 1",
        "X-Brightmail-Tracker: AA",
        "X-Gmane-NNTP-Posting-Host: x",
        "X-Old-Spam-Check-By: x",
        "Received-SPF: pass",
        "Status: RO",
        "Lines: 24",
        "Content-Length: 988",
    ],
)
def test_lines_of_other_filters_and_mail_stores_are_ignored(line: str) -> None:
    assert header(f"Subject: x\n{line}\nTo: y") == header("Subject: x\nTo: y")


@pytest.mark.parametrize("mark", ["[SPAM]", "*****SPAM*****", "{Spam?}", "[SPAM? 12.3]", "[Suspected Spam]"])
def test_the_mark_of_another_filter_in_the_subject_is_ignored(mark: str) -> None:
    assert header(f"Subject: {mark} hello") == header("Subject: hello")
    assert "subj:spam-talk" in header("Subject: [spam-talk] hello")


def test_the_report_of_another_filter_is_ignored() -> None:
    assert not [name for name in features(b"\nSpam detection software, running on x") if name.startswith("body:")]


def test_html_is_rendered() -> None:
    found = features(HTML)
    assert {"body:viagra", "body:café", "html:img", "subj:frée"} <= found.keys()
    assert not {"body:red", "body:color", "body:amp", "body:viagracafé"} & found.keys()


def test_links_become_hosts_and_words() -> None:
    found = page('<a href="https://u@login.Evil.example:8080/a_b/c.php?id=7">x</a>')
    assert {"link:host:login.evil.example", "link:domain:evil.example", "link:path:php"} <= found.keys()
    assert {"link:tld:example", "link:query:id", "link:user", "link:port", "link:shape:a_a/a.a"} <= found.keys()


@pytest.mark.parametrize(
    ("text", "mismatch"),
    [("www.paypal.com", True), ("http://paypal.com/login", True), ("www.evil.example", False), ("click here", False)],
)
def test_a_link_that_shows_another_host_is_a_mismatch(text: str, mismatch: bool) -> None:
    assert ("link:mismatch" in page(f'<a href="http://evil.example/">{text}</a>')) == mismatch


def test_links_in_plain_text_and_of_other_schemes_are_found() -> None:
    assert "link:host:www.a.example" in features(b"\nsee WWW.a.example now")
    assert {"link:scheme:mailto", "link:mailto:b.example"} <= page('<a href="mailto:a@b.example?x">').keys()


def test_attachments_become_features_of_name_and_type() -> None:
    found = features(MULTIPART)
    assert {"att:exe", "att:pdf.exe", "att:name:invoice", "att:zip", "att:name:résumé"} <= found.keys()
    assert {"mime:multipart/mixed", "mime:application/zip", "mime:text/html:base64"} <= found.keys()


def test_transfer_encodings_are_decoded() -> None:
    assert {"body:softbreak a", "body:decoded words"} <= features(MULTIPART).keys()
    assert not {"body:preamble", "body:epilogue"} & features(MULTIPART).keys()


def test_words_are_found_in_any_charset() -> None:
    assert {"subj:привет", "body:дешёвые билеты"} <= features(RUSSIAN).keys()
    assert {"body:免费", "body:费发", "body:发票", "body:free"} <= features(CHINESE).keys()
    assert "body:free" in features("\n\uff26\uff32\uff25\uff25".encode())  # wide letters


@pytest.mark.parametrize(
    "charset", ["no-such", "punycode", "idna", "unicode_escape", "zlib", "hex", "undefined", "\xff"]
)
def test_an_unknown_charset_is_read_as_utf8_or_latin(charset: str) -> None:
    head = f"Content-Type: text/plain; charset={charset}\n\n".encode("latin-1")
    assert "body:é" in features(head + b"\xc3\xa9")
    assert "body:é" in features(head + b"\xe9")


def test_a_stateful_charset_is_decoded_though_it_is_ascii() -> None:
    head = b"Content-Type: text/plain; charset=iso-2022-jp\n\n"
    assert "body:無料" in features(head + "無料".encode("iso-2022-jp"))


def test_forwarded_mails_are_parsed() -> None:
    found = features(FORWARDED)
    assert "body:inner words" in found
    assert "body:subject" not in found


def test_line_ends_make_no_difference() -> None:
    assert features(PLAIN.replace(b"\n", b"\r\n")) == features(PLAIN)
