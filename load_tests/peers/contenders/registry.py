"""All who take part, in the order of the tables. Tuned: by the settings that bench-quality found best in hindsight."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from app.features.featurizer import Kind
from load_tests.peers.contenders.bogofilter import Bogofilter
from load_tests.peers.contenders.contender import Contender, Group
from load_tests.peers.contenders.library import Library
from load_tests.peers.contenders.limit import Limit
from load_tests.peers.contenders.ours import Batches, Features, Mails, Urls
from load_tests.peers.contenders.rspamd import Rspamd
from load_tests.peers.contenders.vw import VowpalWabbit
from load_tests.peers.sizes import BATCH

Options = Mapping[str, float | str]

LIMIT = "the limit"
OURS = "Sluice, features"
OURS_IN_MEMORY = "Sluice, features, labels in memory"
RAW: dict[Kind, str] = {"url": "Sluice, raw URLs", "email": "Sluice, raw mails"}
RAW_IN_MEMORY = "Sluice, raw mails, labels in memory"

LOGGED = "The same, but it keeps labels as Sluice does: in a log that is on the disk before a label is acknowledged."
RIVER, RARE_RIVER = {"alpha": 30.0}, {"alpha": 10.0, "weight": 30.0}
SGD: Options = {"loss": "log_loss", "alpha": 1e-5}
RARE_SGD: Options = {"loss": "hinge", "alpha": 1e-4, "weight": 30.0}
VW, RARE_VW = {"ftrl_alpha": 3.0, "weight": 1.0}, {"ftrl_alpha": 1.0, "weight": 30.0}


def contenders(kind: Kind) -> list[Contender]:
    """Those for a kind of input, tuned for the natural share of anomalies where they are tuned."""
    return [
        Limit(LIMIT, Group.LIMIT, OURS, about="A constant route: it knows nothing.", ahead="it does no work"),
        *_ours(kind),
        *_libraries(RIVER, SGD),
        *_logged(),
        *_vowpal_wabbits(VW),
        *(_mail_filters() if kind == "email" else ()),
    ]


def judges() -> list[Contender]:
    """Those whose verdicts differ, one of each, tuned for 1 anomaly in 100 where they are tuned."""
    return [Features(OURS, Group.OURS, OURS), *_libraries(RARE_RIVER, RARE_SGD), *_vowpal_wabbits(RARE_VW)]


def _ours(kind: Kind) -> list[Contender]:
    several = f"{BATCH} examples in a request; over one connection feedback only: its answer tells the verdict before."
    volatile = "Its store writes nothing to the disk: for comparison only, since the peers keep labels so."
    batch = partial(Batches, group=Group.OURS, beside=OURS, about=several, items=BATCH)
    raw = partial(Urls if kind == "url" else Mails, group=Group.OURS, beside=RAW[kind])
    found: list[Contender] = [
        Features(OURS, Group.OURS, OURS),
        Features(OURS_IN_MEMORY, Group.OURS, OURS, about=volatile, durable=False),
        raw(RAW[kind], about="Sluice makes the features itself."),
        batch("Sluice, features, batches"),
        batch("Sluice, features, NDJSON", ndjson=True),
    ]
    if kind == "email":
        found.insert(3, raw(RAW_IN_MEMORY, about=volatile, durable=False))
    return found


def _libraries(river: Options, sgd: Options) -> list[Contender]:
    columns = "On 2^20 hashed columns."
    return [
        _river("river FTRL, its defaults"),
        _river("river FTRL, tuned", about=_tuned(RIVER, RARE_RIVER), options=river),
        _sgd("scikit-learn SGD, tuned", about=f"{_tuned(SGD, RARE_SGD)} {columns}", options=sgd),
    ]


def _logged() -> list[Contender]:
    ahead = "its log is a plain XADD: nothing is checked, chained or versioned in the store, and no tenant is looked up"
    kept: dict[str, Any] = {"about": LOGGED, "same_work": OURS, "durable": True, "ahead": ahead}
    return [
        _river("river FTRL, tuned, labels on the disk", options=RIVER, **kept),
        _sgd("scikit-learn SGD, tuned, labels on the disk", options=SGD, **kept),
    ]


def _vowpal_wabbits(tuned: Mapping[str, float]) -> list[Contender]:
    ahead = "C++ that reads lines, without HTTP and JSON"
    make = partial(VowpalWabbit, group=Group.DAEMON, beside=OURS, same_work=OURS_IN_MEMORY, ahead=ahead)
    options = ("--ftrl", "--ftrl_alpha", f"{tuned['ftrl_alpha']:g}", "--loss_function", "hinge")
    about = f"Lines over TCP, hinge loss. {_tuned(VW, RARE_VW)}"
    return [
        make(
            "VW daemon, its defaults",
            about="Lines over TCP. Squared loss, and no costs: made for classes of equal size.",
        ),
        make("VW daemon --ftrl, tuned", about=about, options=options, weight=tuned["weight"]),
    ]


def _mail_filters() -> list[Contender]:
    beside: dict[str, Any] = {"group": Group.MAIL, "beside": RAW["email"], "same_work": RAW_IN_MEMORY}
    limits = (
        "It closes every connection. No verdict before it has learnt 200 mails of each class; what has the Message-ID "
    )
    return [
        Rspamd(
            "rspamd, Bayes only", about=f"{limits}of a learnt mail it does not learn.", ahead="it is all C", **beside
        ),
        Bogofilter(
            "bogofilter",
            about="A process to test a mail and one to register it; its words are in memory.",
            ahead="its processes are C, and use all cores",
            **beside,
        ),
    ]


_library = partial(
    Library,
    group=Group.PYTHON,
    beside=OURS,
    same_work=OURS_IN_MEMORY,
    ahead="it has no tenants, ids and versions to look after, and no other process to ask",
)
_river = partial(_library, module="river_ftrl", package="river")
_sgd = partial(_library, module="sgd", package="sklearn")


def _tuned(natural: Options, rare: Options) -> str:
    return f"Settings chosen in hindsight: {_told(natural)} (at 1:99: {_told(rare)})."


def _told(options: Options) -> str:
    return ", ".join(f"{name} {value:g}" if isinstance(value, float) else str(value) for name, value in options.items())
