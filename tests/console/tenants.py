"""Keys and tenants to try the console with, made over HTTP as a client would."""

import lzma
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import httpx

from app.datasets.synthetic_urls import synthetic_urls
from tests.data import shared_data
from tests.services import Service, wait_until

SEED = 7
CONNECTIONS = 8
REAL_URLS = "urls/phishtank-lobsters-2018-10_2019-10.tsv.xz"
# Every input is kept, nothing limits the queue, and a model without an opinion has all its verdicts reviewed.
REVIEW_ALL: dict[str, object] = {"keep_inputs": "all", "reviews_per_day": None, "review_uncertain": 1}
MODERATOR_ROLES = ("predict", "feedback", "review")


class Keys:
    """Creates keys of a service. The first one, of an administrator, is from then on sent by `service.request`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.admin: str | None = None

    def create(
        self,
        *roles: str,
        tenants: Sequence[str] = ("*",),
        moderator: str | None = None,
        **more: object,
    ) -> str:
        """Return the secret of a new key; by default it may do what a moderator does."""
        if self.admin is None:
            everything: dict[str, object] = {
                "name": "administrator",
                "roles": ["admin", *MODERATOR_ROLES],
                "tenants": ["*"],
            }
            self.admin = str(self._post(everything)["secret"])
            self._service.client.headers["x-api-key"] = self.admin
        wanted: dict[str, object] = {
            "name": moderator or "key",
            "roles": list(roles or MODERATOR_ROLES),
            "tenants": list(tenants),
            **more,
        }
        if moderator is not None:
            wanted["moderator"] = moderator
        return str(self._post(wanted)["secret"])

    def revoke(self, secret: str) -> None:
        """Revoke a key."""
        key_id = secret.split("_")[1]
        answer = self._service.request("DELETE", f"/keys/{key_id}")
        assert answer.is_success, answer.text

    def _post(self, wanted: dict[str, object]) -> dict[str, Any]:
        answer = self._service.post("/keys", wanted)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        made: dict[str, Any] = answer.json()
        return made


def configure(service: Service, tenant: str, **settings: object) -> None:
    """Set up a tenant whose every verdict is reviewed, with every input kept."""
    answer = service.request("PUT", f"/tenants/{tenant}", json=REVIEW_ALL | settings)
    assert answer.is_success, answer.text


def predict_all(service: Service, tenant: str, inputs: Sequence[Mapping[str, object]]) -> list[str]:
    """Predict inputs such as {"url": "..."} for a tenant, and wait for the queue; return the ids of the predictions."""
    before = waiting(service, tenant)
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = list(threads.map(lambda each: service.predict(tenant, **each), inputs))
    for answer in answers:
        assert answer.is_success, answer.text
    chosen = sum(answer.json().get("review_reason") is not None for answer in answers)
    wait_until(lambda: waiting(service, tenant) >= before + chosen, f"{before + chosen} items do not wait")
    return [answer.json()["prediction_id"] for answer in answers]


def waiting(service: Service, tenant: str) -> int:
    """Return how many items wait in the review queue of a tenant."""
    review = service.tenant(tenant)["review"]
    return int(review["waiting"]) if review is not None else 0


def fill(service: Service, tenant: str, inputs: Sequence[Mapping[str, object]], **settings: object) -> list[str]:
    """Set up a tenant, and put inputs into its review queue; return the ids of the predictions."""
    configure(service, tenant, **settings)
    return predict_all(service, tenant, inputs)


def urls(count: int, seed: int = SEED) -> list[dict[str, object]]:
    """Return invented URLs."""
    return [{"url": each.url} for each in islice(synthetic_urls(seed, 10_000), count)]


def labelled_urls(count: int, seed: int = SEED) -> list[tuple[str, int]]:
    """Return invented URLs, with their labels."""
    return [(each.url, each.label) for each in islice(synthetic_urls(seed, 10_000), count)]


def look_alikes(count: int) -> list[dict[str, object]]:
    """Return URLs of one host and one template."""
    return [{"url": f"http://paystone.fernmarket9.test/parcel/{1000 + k}/fee?pay=2"} for k in range(count)]


def mails(count: int) -> list[dict[str, object]]:
    """Return invented e-mails."""
    return [{"email": _mail(k)} for k in range(count)]


def texts(count: int) -> list[dict[str, object]]:
    """Return invented texts."""
    return [{"text": f"Ticket {k}: my parcel has not come, must I pay the fee of {k} coins?"} for k in range(count)]


def _mail(number: int) -> str:
    return "\r\n".join(
        (
            f"From: Airpost parcels <notice{number}@airpost.example>",
            f"To: kim{number}@example.org",
            f"Subject: Your parcel {1000 + number} waits",
            "Date: Tue, 03 Mar 2026 10:00:00 +0000",
            f"Message-ID: <{number}@airpost.example>",
            "MIME-Version: 1.0",
            'Content-Type: multipart/mixed; boundary="part"',
            "",
            "--part",
            "Content-Type: text/html; charset=utf-8",
            "",
            f'<p>Please <a href="https://airpost-fee.test/pay/{number}">pay the fee</a> of {number} coins today.</p>',
            "--part",
            "Content-Type: application/pdf",
            f'Content-Disposition: attachment; filename="invoice-{number}.pdf"',
            "Content-Transfer-Encoding: base64",
            "",
            "JVBERi0xLjQK",
            "--part--",
            "",
        )
    )


def real_urls(count: int) -> list[dict[str, object]]:
    """Return real URLs of the shared data, the benign and the malicious in turn; skips the test without the data."""
    kept: dict[str, list[str]] = {"1": [], "-1": []}
    with lzma.open(shared_data(REAL_URLS), "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            _, label, url = line.rstrip("\n").split("\t", 2)
            kept[label].append(url)
            if all(2 * len(each) >= count for each in kept.values()):
                break
    pairs = zip(kept["1"], kept["-1"], strict=False)
    return [_url(url) for pair in pairs for url in pair][:count]


def _url(url: str) -> dict[str, object]:
    return {"url": url}
