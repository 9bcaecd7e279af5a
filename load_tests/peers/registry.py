"""All contenders, in the order of the tables. Tuned: with the settings that bench-quality found best in hindsight."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from app.features.featurizer import Kind
from load_tests.harness.sizes import BATCH
from load_tests.peers.contenders import Batches, Contender, Group, Library, Limit, Sluice
from load_tests.peers.filters import Bogofilter, Rspamd, VowpalWabbit

Options = Mapping[str, float | str]

LIMIT = "the limit"
OURS = "Sluice, features"
OURS_IN_MEMORY = "Sluice, features, labels in memory"
RAW: dict[Kind, str] = {"url": "Sluice, raw URLs", "email": "Sluice, raw mails"}
RAW_IN_MEMORY = "Sluice, raw mails, labels in memory"

RIVER, RARE_RIVER = {"alpha": 30.0}, {"alpha": 10.0, "weight": 30.0}
SGD: Options = {"loss": "log_loss", "alpha": 1e-5}
RARE_SGD: Options = {"loss": "hinge", "alpha": 1e-4, "weight": 30.0}
VW, RARE_VW = {"ftrl_alpha": 3.0, "weight": 1.0}, {"ftrl_alpha": 1.0, "weight": 30.0}

_sluice = partial(Sluice, group=Group.OURS, beside=OURS)
_library = partial(Library, group=Group.PYTHON, beside=OURS, same_work=OURS_IN_MEMORY)
_river = partial(_library, learner="river", package="river")
_sgd = partial(_library, learner="sgd", package="sklearn")
_vw = partial(VowpalWabbit, group=Group.DAEMON, beside=OURS, same_work=OURS_IN_MEMORY)
_mail_filter: dict[str, Any] = {"group": Group.MAIL, "beside": RAW["email"], "same_work": RAW_IN_MEMORY}


def contenders(kind: Kind) -> list[Contender]:
    """Those for a kind of input, tuned for the natural share of anomalies where they are tuned."""
    raw = partial(Sluice, group=Group.OURS, beside=RAW[kind], input="url" if kind == "url" else "mail")
    batch = partial(Batches, group=Group.OURS, beside=OURS, items=BATCH)
    mails = kind == "email"
    return [
        Limit(LIMIT, Group.LIMIT, OURS),
        _sluice(OURS),
        _sluice(OURS_IN_MEMORY, durable=False),
        raw(RAW[kind]),
        *([raw(RAW_IN_MEMORY, durable=False)] if mails else []),
        batch("Sluice, features, batches"),
        batch("Sluice, features, NDJSON", ndjson=True),
        *_libraries(RIVER, SGD),
        _river("river FTRL, tuned, labels on the disk", options=RIVER, same_work=OURS, durable=True),
        _sgd("scikit-learn SGD, tuned, labels on the disk", options=SGD, same_work=OURS, durable=True),
        *_vowpal_wabbits(VW),
        *([Rspamd("rspamd, Bayes only", **_mail_filter), Bogofilter("bogofilter", **_mail_filter)] if mails else []),
    ]


def judges() -> list[Contender]:
    """Those with different verdicts, one of each, tuned for 1 anomaly in 100 where they are tuned."""
    return [_sluice(OURS), *_libraries(RARE_RIVER, RARE_SGD), *_vowpal_wabbits(RARE_VW)]


def _libraries(river: Options, sgd: Options) -> list[Contender]:
    return [
        _river("river FTRL, its defaults"),
        _river("river FTRL, tuned", about=_tuned(RIVER, RARE_RIVER), options=river),
        _sgd("scikit-learn SGD, tuned", about=f"{_tuned(SGD, RARE_SGD)} On 2^20 hashed columns.", options=sgd),
    ]


def _vowpal_wabbits(tuned: Mapping[str, float]) -> list[Contender]:
    options = ("--ftrl", "--ftrl_alpha", f"{tuned['ftrl_alpha']:g}", "--loss_function", "hinge")
    about = f"Hinge loss. {_tuned(VW, RARE_VW)}"
    return [
        _vw("VW daemon, its defaults"),
        _vw("VW daemon --ftrl, tuned", about=about, options=options, weight=tuned["weight"]),
    ]


def _tuned(*settings: Options) -> str:
    natural, rare = (
        ", ".join(f"{name} {value:g}" if isinstance(value, float) else value for name, value in options.items())
        for options in settings
    )
    return f"Settings chosen in hindsight: {natural} (at 1:99: {rare})."
