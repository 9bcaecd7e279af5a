"""Options that several commands share: where the examples come from, and how to learn from them."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import Literal, get_args

from app.datasets.errors import OnError
from app.datasets.formats import Format
from app.features.featurizer import NEWEST, VERSIONS
from app.learning.config import ALWAYS, DEFAULTS, WITH_COSTS, Value, config_of
from app.learning.errors import BadSetting
from kernels.learner.options import SCHEDULES
from kernels.registry import ALGORITHMS, load

PLENTY = (
    1 << 27
)  # features on the command line: the memory is the user's own, and a dropped feature would be a surprise
SETTINGS: dict[str, str] = {
    "eta": "learning rate",
    "r": "second order: how fast a feature's rate falls; larger is slower",
    "delta": "added to the root of gathered squares (Ada-*, FTRL's beta)",
    "lambda": "size of the L1 threshold",
    "lambda_schedule": f"how lambda changes with the examples: {', '.join(SCHEDULES)}",
    "target_sparsity": "share of weights to be 0, instead of a lambda",
    "costs": "auto: from the running class counts; given: as set",
    "cost_positive": "cost of an anomaly, with costs given",
    "cost_negative": "cost of a normal example, with costs given",
    "mu_positive": "weight of sensitivity against specificity, 0.5 for balanced accuracy",
    "denominator": "second order: shared (the paper) or coordinate",
    "threshold_on": "second order: threshold on u (the paper) or theta",
    "forgetting": "share of the past that is forgotten with every example",
    "truncate_every": "STG: examples between two truncations",
    "truncate_below": "STG: only weights up to this size are truncated",
    "normalize": "l2: scale examples to length 1; none: as they are",
    "bias": "add a feature that is always 1",
    "threshold": "scores above it are anomalies",
    "max_features": "features at most; new ones are dropped after that",
}

INPUTS = """what FILE may be (docs/formats.md has the details); files may be compressed with gz, xz or bz2:
  libsvm  .libsvm, .svm      label index:value index:value ...
  vw      .vw                label |namespace name:value name ...
  jsonl   .jsonl, .ndjson    {"label": 1, "features": {...}}; or instead of features: "url", "email", "text"
  urls    .tsv               timestamp TAB label TAB url
  texts   .tsv               label TAB text; the label is spam, ham, 1, -1 or 0
  mails   .tar, a folder     raw messages. With a file named index (lines: spam ../data/inmail.1) in its order; else
                             files in folders named spam... and ham..., mixed in an order that is always the same
Other names: the first line tells the format. Labels: 1 is an anomaly, -1 or 0 normal."""


def add_source(parser: ArgumentParser) -> None:
    """Add the file and how to read it."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = INPUTS
    parser.add_argument("file", metavar="FILE", help="a file or folder, see below; - is standard input")
    add_reading(parser)
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="in a random order; holds the file in memory")


def add_reading(parser: ArgumentParser) -> None:
    """Add how a file is read."""
    parser.add_argument("--format", choices=get_args(Format), help="the format, where name and first line do not tell")
    parser.add_argument(
        "--on-error", choices=get_args(OnError), default="stop", help="what to do at a malformed line (default: stop)"
    )
    add_featurizer(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def add_featurizer(parser: ArgumentParser) -> None:
    """Add the version of what turns URLs, mails and texts into features."""
    parser.add_argument(
        "--featurizer", type=int, choices=VERSIONS, default=NEWEST, metavar="N",
        help=f"version of what turns URLs, mails and texts into features (default: {NEWEST})",
    )  # fmt: skip


def add_settings(parser: ArgumentParser) -> None:
    """Add every setting of the learners."""
    group = parser.add_argument_group("settings", "an algorithm refuses those that it has no use for")
    for name, text in SETTINGS.items():
        default = DEFAULTS[name]
        shown = "" if default is None else f" (default: {default}, unless the algorithm has its own)"
        group.add_argument(
            f"--{name.replace('_', '-')}", dest=f"setting_{name}", type=_value, metavar="X", help=text + shown
        )


def given_settings(chosen: Namespace) -> dict[str, Value]:
    """The settings that were given on the command line."""
    values = {name: getattr(chosen, f"setting_{name}") for name in SETTINGS}
    return {name: value for name, value in values.items() if value is not None}


def settings_for(algorithm: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """The settings of one algorithm for a run on the command line."""
    plenty = {} if "max_features" in given or "max_features" in _own_defaults(algorithm) else {"max_features": PLENTY}
    return {"algorithm": algorithm, **plenty, **given}


def shared_settings(algorithms: list[str], given: Mapping[str, Value]) -> list[dict[str, Value]]:
    """The settings of several algorithms: each gets those of the given ones that it knows, and some must know each."""
    known = {name: _known(name) for name in algorithms}
    for setting in given:
        if not any(setting in names for names in known.values()):
            raise BadSetting(f"none of {', '.join(algorithms)} has a use for {setting!r}")
    chosen = [settings_for(name, {k: v for k, v in given.items() if k in known[name]}) for name in algorithms]
    for settings in chosen:
        config_of(settings)
    return chosen


def algorithm_name(text: str) -> str:
    """Check the name of an algorithm."""
    if text not in ALGORITHMS:
        raise ArgumentTypeError(f"{text!r} is unknown; there are {', '.join(ALGORITHMS)}")
    return text


def _known(algorithm: str) -> frozenset[str]:
    options = ALWAYS | load(algorithm).options
    return options | WITH_COSTS if "costs" in options else options


def _own_defaults(algorithm: str) -> Mapping[str, float | str]:
    return load(algorithm).defaults


def _value(text: str) -> Value:
    """A number, true or false, or a word; what it may be is checked with the other settings."""
    words: dict[str, Literal[True, False]] = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
