"""Invented e-mails for the demo of the console. All names are under domains reserved for examples and tests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Final

from app.datasets.synthetic_urls import ANOMALY_SHARE, BRANDS, CARRIERS, FIRST, SECOND, WORDS

PEOPLE: Final = (
    "Ada Winter",
    "Ben Okoro",
    "Chiara Conti",
    "Dana Levi",
    "Emre Kaya",
    "Femi Ade",
    "Grace Lind",
    "Hugo Roy",
)


@dataclass(frozen=True, slots=True)
class SyntheticMail:
    """An e-mail with its true label: 1 for an attack, -1 for normal."""

    text: str
    label: int


def synthetic_mails(seed: int) -> Iterator[SyntheticMail]:
    """Yield e-mails without end. The same seed gives the same ones."""
    writer = _Writer(Random(seed))  # noqa: S311 - no security depends on it
    while True:
        yield writer.write()


class _Writer:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._number = 0
        self._attacks: tuple[Callable[[], str], ...] = (self._parcel, self._password, self._invoice)
        self._normal: tuple[Callable[[], str], ...] = (self._note, self._newsletter, self._receipt)

    def write(self) -> SyntheticMail:
        self._number += 1
        is_attack = self._random.random() < 4 * ANOMALY_SHARE
        return SyntheticMail(
            self._random.choice(self._attacks if is_attack else self._normal)(), 1 if is_attack else -1
        )

    def _parcel(self) -> str:
        carrier, number = self._random.choice(CARRIERS), self._random.randint(100_000, 999_999)
        link = f"http://{carrier}-{self._word()}.{self._word()}{self._random.randint(10, 99)}.test/pay/{number}"
        return self._mail(
            f"{carrier.capitalize()} Delivery <no-reply@{self._word()}{self._word()}.test>",
            f"FINAL NOTICE: your parcel {number} waits",
            f"<p>Dear customer,</p><p>your parcel {number} could not be delivered. Pay the open fee of 1.99 within 24 "
            f'hours or it goes back.</p><p><a href="{link}">https://www.{carrier}.example/track/{number}</a></p>'
            f'<img src="http://{self._word()}.test/open.gif?n={number}" width="1" height="1">',
            reply_to=f"{self._word()}.{self._word()}@mailbox.test",
        )

    def _password(self) -> str:
        brand = self._random.choice(BRANDS)
        link = f"http://{brand}.{self._word()}-{self._word()}.test/signin?session={self._random.getrandbits(64):016x}"
        return self._mail(
            f"{brand.capitalize()} Security <security@{brand}-{self._word()}.test>",
            f"Unusual sign-in to your {brand.capitalize()} account",
            f"<p>We noticed a sign-in from a new device. If this was not you, verify your password now, or your "
            f'account will be closed today.</p><p><a href="{link}">Verify my account</a></p>',
        )

    def _invoice(self) -> str:
        number = self._random.randint(1000, 99_999)
        return self._mail(
            f"{self._random.choice(PEOPLE)} <accounts@{self._word()}{self._word()}.test>",
            f"Overdue invoice {number}",
            f"<p>Hello,</p><p>please find attached the overdue invoice {number}. Open the file and enable editing to "
            "see it. We expect the transfer by tomorrow.</p>",
            attachment=f"Invoice_{number}.pdf.xlsm",
        )

    def _note(self) -> str:
        person, other = self._random.sample(PEOPLE, 2)
        return self._mail(
            f"{person} <{person.split()[0].lower()}@{self._site()}>",
            f"{self._word().capitalize()} on {self._random.choice(('Monday', 'Tuesday', 'Thursday', 'Friday'))}",
            f"<p>Hi {other.split()[0]},</p><p>can we move the {self._word()} {self._word()} to the {self._word()}? I "
            f"have put my notes on the {self._word()} page. Bring the {self._word()}, please.</p>"
            f"<p>{person.split()[0]}</p>",
        )

    def _newsletter(self) -> str:
        site = self._site()
        return self._mail(
            f"{site.partition('.')[0].capitalize()} <news@{site}>",
            f"The {self._word()} {self._word()} letter, no. {self._random.randint(3, 240)}",
            f"<h1>{self._word().capitalize()}, {self._word()} and {self._word()}</h1><p>This week: a {self._word()} "
            f'for the {self._word()}, and ten {self._word()} ideas.</p><p><a href="https://www.{site}/{self._word()}/'
            f'{self._word()}">Read more</a> or <a href="https://www.{site}/unsubscribe">unsubscribe</a>.</p>',
        )

    def _receipt(self) -> str:
        site, number = self._site(), self._random.randint(10_000, 99_999)
        return self._mail(
            f"Orders <orders@{site}>",
            f"Your order {number}",
            f"<p>Thank you for your order {number}: one {self._word()}, two {self._word()}. The receipt is "
            f'attached.</p><p><a href="https://{site}/account/orders/{number}">See the order</a></p>',
            attachment=f"receipt-{number}.pdf",
        )

    def _mail(self, sender: str, subject: str, html: str, *, reply_to: str = "", attachment: str = "") -> str:
        boundary = f"part-{self._number}"
        lines = [
            f"From: {sender}",
            f"To: {self._random.choice(PEOPLE).split()[0].lower()}@harbor.example",
            f"Subject: {subject}",
            f"Date: Tue, 03 Mar 2026 {self._number // 60 % 24:02}:{self._number % 60:02}:00 +0000",
            f"Message-ID: <{self._number}.{self._random.getrandbits(32):08x}@mail.example>",
            *([f"Reply-To: {reply_to}"] if reply_to else []),
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{boundary}"',
            "",
            f"--{boundary}",
            "Content-Type: text/html; charset=utf-8",
            "",
            html,
        ]
        if attachment:
            lines += [
                f"--{boundary}",
                "Content-Type: application/octet-stream",
                f'Content-Disposition: attachment; filename="{attachment}"',
                "Content-Transfer-Encoding: base64",
                "",
                "bm90IGEgcmVhbCBmaWxlCg==",
            ]
        return "\r\n".join([*lines, f"--{boundary}--", ""])

    def _word(self) -> str:
        return self._random.choice(WORDS)

    def _site(self) -> str:
        return f"{self._random.choice(FIRST)}{self._random.choice(SECOND)}.example"
