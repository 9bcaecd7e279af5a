"""Everything that a run found, and what was promised about it."""

from dataclasses import dataclass

from load_tests.cluster.ledger import Checked
from load_tests.cluster.sizes import Sizes
from load_tests.cluster.steps.adding import Added
from load_tests.cluster.steps.agreeing import Agreed
from load_tests.cluster.steps.failing_over import FailedOver
from load_tests.cluster.steps.following import Following
from load_tests.cluster.steps.hot_tenant import Hot
from load_tests.cluster.steps.killing import Killed
from load_tests.cluster.steps.resharding import Resharded
from load_tests.cluster.steps.spreading import Spread
from load_tests.harness.report import Target, at_most

UNEVEN = 1.3  # times the even share
SOON_MILLISECONDS = 1000  # by then a worker has looked at its tenants anyway, whatever it has heard


@dataclass(frozen=True, slots=True)
class Results:
    """Of one run, step by step."""

    sizes: Sizes
    machine: list[str]
    load_averages: tuple[float, float]
    seconds: float
    spread: Spread
    following: Following
    added: Added
    killed: Killed
    failed_over: FailedOver
    hot: Hot
    resharded: Resharded
    agreed: Agreed


def targets(found: Results) -> list[Target]:
    """What must hold, step by step."""
    return [
        at_most(
            "Spread: tenants held by the fullest service, beside the even share", UNEVEN, found.spread.fullest_service
        ),
        at_most("Spread: tenants of the fullest node, beside the even share", UNEVEN, found.spread.fullest_node),
        at_most("A service more: tenants that move to it, beside the even share", UNEVEN, found.added.share),
        _none("A service more: tenants that move between others", found.added.moved_elsewhere),
        _none("A service more: tenants whose digest or score is another one there", found.added.differing),
        _none("A service killed: of its tenants, not answered", found.killed.tenants - found.killed.answered),
        _none("A service killed: tenants whose digest or score is another one then", found.killed.differing),
        _none("A primary killed: predictions refused", found.failed_over.predictions_refused),
        _none("A primary killed: labels of tenants on other nodes refused", found.failed_over.others.refused),
        _none("Answers of 500 to labels, while a primary was away or slots moved", _mistakes(found)),
        _none("A primary killed: models set aside in a file", found.failed_over.rescued),
        _hot(found.hot),
        _none("A hot tenant: services that end with another digest", found.hot.differing),
        *_labels(found),
        _none("Loaded from nothing: tenants whose digest is another one", found.agreed.differing),
    ]


def _mistakes(found: Results) -> int:
    failed_over = found.failed_over
    return failed_over.its_own.mistakes + failed_over.others.mistakes + sum(m.mistakes for m in found.resharded.moves)


def _labels(found: Results) -> list[Target]:
    """After every step that could lose some, all labels since the beginning are looked for."""
    steps: dict[str, Checked] = {
        "A service more": found.added.checked,
        "A service killed": found.killed.checked,
        "A primary killed": found.failed_over.checked,
        "A node more": found.resharded.checked,
        "At the end": found.agreed.checked,
    }
    return [
        _none(f"{name}: acknowledged labels lost, or learnt twice", checked.lost + checked.twice + checked.broken)
        for name, checked in steps.items()
    ]


def _hot(hot: Hot) -> Target:
    text = "A hot tenant: from the acknowledgement at one service to the version at another, p99"
    if hot.delay is None:
        return Target(text, f"at most {SOON_MILLISECONDS:,} ms", "nothing", met=None)
    return at_most(text, SOON_MILLISECONDS, hot.delay.p99, " ms")


def _none(text: str, measured: int) -> Target:
    return Target(text, "none", f"{measured:,}" if measured else "none", measured == 0)
