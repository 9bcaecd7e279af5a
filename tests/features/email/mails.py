"""Small mails of many kinds, written by hand."""

import base64
import json
import sys
from email.header import Header

from app.features.email.features import email_features

PLAIN = b"""\
From bounce@lists.example.org  Sun Apr  8 13:09:29 2007
Return-Path: <bounce@lists.example.org>
Received: from mail.example.org (mail.example.org [192.0.2.31])
\tby mx.example.net (Postfix) with ESMTP id 1; Sun, 8 Apr 2007 13:09:28 -0400
Received: from [10.0.0.7] (unknown [198.51.100.9]) by mail.example.org with SMTP; Sun, 8 Apr 2007 13:09:00 -0400
Message-ID: <46191DCE.3020508@example.org>
Date: Sun, 08 Apr 2007 12:52:30 -0400
From: Ann Example <ann.example@example.org>
Reply-To: list@other.example
User-Agent: Icedove 1.5 (X11)
MIME-Version: 1.0
To: Bob <bob@example.net>
Subject: [SPAM] Typo in the manual
Content-Type: text/plain; charset=ISO-8859-1
X-Spam-Status: Yes, score=12
X-Bogosity: Spam
Authentication-Results: mx.example.net; spf=pass
Status: RO

There is a typo, see http://www.example.org/manual/page-7.html?edit=1 please.
"""
HTML = b"""\
From: "PayPal" <service@paypal.com>
Subject: =?utf-8?B?RnLDqWUgbW9uZXkh?=
Date: Mon, 8 Apr 2007 21:00:48 +0480
Content-Type: text/html; charset=utf-8

<html><style>p {color: red}</style><body><p>V<b>ia</b>gra<br>caf\xc3\xa9 &amp; more
<a href="http://192.0.2.7:8080/x">www.paypal.com</a> <a href="https://evil.example/login">click</a>
<img src="http://img.example/a.gif"><a href="mailto:a@b.example">mail</a></body></html>
"""
MULTIPART = (
    b"""\
From: a@b.example
Subject: files
Content-Type: multipart/mixed; boundary="----=_Next_01"

preamble
------=_Next_01
Content-Type: text/plain; charset=us-ascii
Content-Transfer-Encoding: quoted-printable

soft=
break =41
------=_Next_01
Content-Type: text/html
Content-Transfer-Encoding: base64

"""
    + base64.encodebytes(b"<p>decoded words</p>")
    + b"""
------=_Next_01
Content-Type: application/octet-stream; name="invoice.pdf.exe"
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="invoice.pdf.exe"

TVqQ
------=_Next_01
Content-Type: application/zip
Content-Disposition: attachment; filename*0*=utf-8''r%C3%A9sum; filename*1*=%C3%A9.zip

UEs=
------=_Next_01--
epilogue
"""
)
RUSSIAN = (
    b"From: i@example.ru\nSubject: "
    + Header("Привет мир", "koi8-r").encode().encode()
    + b"\nContent-Type: text/plain; charset=koi8-r\n\n"
    + "Дешёвые билеты".encode("koi8-r")
)
CHINESE = b"Subject: x\nContent-Type: text/plain; charset=gb2312\n\n" + "免费发票 free".encode("gb2312")
FORWARDED = (
    b"From: a@b.example\nContent-Type: multipart/digest; boundary=x\n\n--x\n\nSubject: inner\n\ninner words\n--x--\n"
)
BROKEN = b"From: =?utf-8?b?broken!?= <@>\nnot a header\nContent-Type: multipart/mixed\n\n--\n\xff\xfe \xc3 bytes\n"
NO_END = b"Content-Type: multipart/mixed; boundary=y\n\n--y\nContent-Transfer-Encoding: base64\n\nYWJjZGVmZ2h"

MAILS = {
    "plain": PLAIN,
    "html": HTML,
    "multipart": MULTIPART,
    "koi8-r": RUSSIAN,
    "gb2312": CHINESE,
    "forwarded": FORWARDED,
    "broken": BROKEN,
    "no end": NO_END,
    "empty": b"",
}


def features(raw: bytes) -> dict[str, float]:
    """The features of a mail by name."""
    example = email_features(raw).example
    return dict(zip(example.names, example.values.tolist(), strict=True))


if __name__ == "__main__":  # python -m tests.features.email.mails > tests/features/email/golden.json
    json.dump({name: features(raw) for name, raw in MAILS.items()}, sys.stdout, indent=1, ensure_ascii=False)
    print()  # noqa: T201 - the file ends with a line
