import pytest

from app.auth.errors import TooManyLabels
from app.auth.label_rate import LabelRates


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_labels_per_moderator_and_minute_are_limited() -> None:
    clock = Clock()
    rates = LabelRates(2, clock)
    for _ in range(2):
        rates.take("acme", "kim")
    with pytest.raises(TooManyLabels, match="kim has given 2 labels within a minute"):
        rates.take("acme", "kim")
    rates.take("acme", "lee")
    rates.take("shop", "kim")
    clock.now = 60.0
    rates.take("acme", "kim")
