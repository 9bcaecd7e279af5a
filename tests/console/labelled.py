"""Tenants with labels, for the pages that show what the model has learnt."""

from tests.console.tenants import configure, labelled_urls
from tests.services import Service

BATCH = 200


def learn(service: Service, tenant: str, count: int, **settings: object) -> None:
    """Predict invented URLs, and label all of them by their predictions."""
    configure(service, tenant, **settings)
    given = labelled_urls(count)
    for begin in range(0, count, BATCH):
        some = given[begin : begin + BATCH]
        predicted = service.post("/predict/batch", {"tenant": tenant, "items": [{"url": url} for url, _ in some]})
        ids = [each["prediction_id"] for each in predicted.json()["results"]]
        items = [
            {"prediction_id": each, "label": label, "moderator": "kim"}
            for each, (_, label) in zip(ids, some, strict=True)
        ]
        answer = service.post("/feedback/batch", {"tenant": tenant, "items": items})
        assert all("error" not in each for each in answer.json()["results"])
