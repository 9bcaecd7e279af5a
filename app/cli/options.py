"""Options that several commands share: the file of examples, and the settings of the learners."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import Final, Literal, get_args

from app.datasets.errors import OnError
from app.datasets.formats import Format
from app.features.featurizer import NEWEST, VERSIONS
from app.learning.config import ALWAYS, DEFAULTS, WITH_COSTS, Value, config_of
from app.learning.errors import BadSetting
from app.learning.first_settings import FIRST
from kernels.learner.options import SCHEDULES
from kernels.registry import ALGORITHMS, load

PLENTY: Final = 1 << 27  # max_features here: the memory is the user's own, and a dropped feature would be a surprise
SETTINGS: Final[dict[str, str]] = {
    "eta": "learning rate",
    "r": "second order: how slowly the learning rate of a feature falls",
    "delta": "added to the root of the sum of squared gradients (Ada-*, CS-SOL, FTRL's beta)",
    "lambda": "size of the L1 threshold",
    "lambda_schedule": f"how lambda changes with the number of examples: {', '.join(SCHEDULES)}",
    "target_sparsity": "share of weights that shall be 0, instead of lambda",
    "costs": "auto: from the running class counts; given: cost_positive and cost_negative",
    "cost_positive": "cost of an anomaly, with costs given",
    "cost_negative": "cost of a normal example, with costs given",
    "mu_positive": "weight of sensitivity against specificity; 0.5 is balanced accuracy",
    "denominator": "second order: shared (the paper) or coordinate",
    "threshold_on": "second order: threshold on u (the paper) or theta",
    "forgetting": "share of the past that each example forgets",
    "truncate_every": "STG: examples between two truncations",
    "truncate_below": "STG: truncate only weights up to this size",
    "normalize": "l2: scale examples to length 1; none: do not scale",
    "bias": "add a feature that is always 1",
    "threshold": "scores above it are anomalies; auto: learnt from the labels",
    "objective": "what a threshold of auto is best for: balanced, error, or cost (with costs given)",
    "numbers": "encoded: the scale of numbers in the file does not matter; raw: numbers as they are (the paper)",
    "max_features": "maximum number of features; further ones are dropped",
}

DEFAULT_ALGORITHM: Final = str(FIRST["algorithm"])

INPUTS = """formats of FILE (details: docs/formats.md); a file may be compressed with gz, xz or bz2:
  libsvm  .libsvm, .svm      label index:value index:value ...
  vw      .vw                label |namespace name:value name ...
  jsonl   .jsonl, .ndjson    {"label": 1, "features": {...}}; or instead of features: "url", "email", "text"
  urls    .tsv               timestamp TAB label TAB url
  texts   .tsv               label TAB text; the label is spam, ham, 1, -1 or 0
  mails   .tar, a folder     raw messages, in the order of a file named index (lines: spam ../data/inmail.1); without
                             one, files in folders named spam... and ham..., in a fixed shuffled order
For other names, the first line determines the format. Labels: 1 is an anomaly, -1 or 0 is normal."""


def add_source(parser: ArgumentParser) -> None:
    """Add the file and the options for reading it."""
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.epilog = INPUTS
    parser.add_argument("file", metavar="FILE", help="a file or a folder, see below; - is standard input")
    add_reading(parser)
    parser.add_argument("--shuffle", type=int, metavar="SEED", help="shuffle the examples; holds the file in memory")


def add_reading(parser: ArgumentParser) -> None:
    """Add the options for reading a file."""
    parser.add_argument(
        "--format", choices=get_args(Format), help="the format, if name and first line do not determine it"
    )
    parser.add_argument(
        "--on-error", choices=get_args(OnError), default="stop", help="what to do on a malformed line (default: stop)"
    )
    add_featurizer(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")


def add_featurizer(parser: ArgumentParser) -> None:
    """Add the version of the featurizers."""
    parser.add_argument(
        "--featurizer", type=int, choices=VERSIONS, default=NEWEST, metavar="N",
        help=f"version of the featurizers for URLs, e-mails and texts (default: {NEWEST})",
    )  # fmt: skip


def add_settings(parser: ArgumentParser, *, of_tenant: bool = False) -> None:
    """Add every setting of the learners; `of_tenant`: those that are not given are the tenant's own."""
    group = parser.add_argument_group("settings", "an algorithm refuses settings that it does not use")
    for name, text in SETTINGS.items():
        default = None if of_tenant else (DEFAULTS | FIRST)[name]
        shown = "" if default is None else f" (default: {default}, unless the algorithm has another)"
        group.add_argument(
            f"--{name.replace('_', '-')}", dest=f"setting_{name}", type=_value, metavar="X", help=text + shown
        )


def given_settings(chosen: Namespace) -> dict[str, Value]:
    """The learner settings on the command line."""
    values = {name: getattr(chosen, f"setting_{name}") for name in SETTINGS}
    return {name: value for name, value in values.items() if value is not None}


def settings_for(algorithm: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """The settings of one algorithm: those of a new tenant, unless others are given."""
    is_limited = "max_features" in given or "max_features" in load(algorithm).defaults
    plenty = {} if is_limited else {"max_features": PLENTY}
    return {**FIRST, "algorithm": algorithm, **plenty, **given}


def shared_settings(algorithms: list[str], given: Mapping[str, Value]) -> list[dict[str, Value]]:
    """The settings of several algorithms: each gets the settings that it uses; at least one must use each setting."""
    used = {name: _used_by(name) for name in algorithms}
    for setting in given:
        if not any(setting in names for names in used.values()):
            raise BadSetting(f"none of {', '.join(algorithms)} uses {setting!r}")
    chosen = [settings_for(name, {k: v for k, v in given.items() if k in used[name]}) for name in algorithms]
    for settings in chosen:
        config_of(settings)
    return chosen


def algorithm_name(text: str) -> str:
    """Check the name of an algorithm."""
    if text not in ALGORITHMS:
        raise ArgumentTypeError(f"{text!r} is not an algorithm; choose from {', '.join(ALGORITHMS)}")
    return text


def _used_by(algorithm: str) -> frozenset[str]:
    options = ALWAYS | load(algorithm).options
    return options | WITH_COSTS if "costs" in options else options


def _value(text: str) -> Value:
    """Parse a number, true or false, or a word; the learner validates it with the other settings."""
    words: dict[str, Literal[True, False]] = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
