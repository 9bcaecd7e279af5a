"""`sluice train`: learn a file and keep the model."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from app.cli.inspect import load_model
from app.cli.learning import Learner, run
from app.cli.options import add_settings, add_source, algorithm_name, given_settings, settings_for
from app.cli.saving import refuse_missing_folder, written_aside
from app.cli.showing import percent, summarise
from app.learning.errors import BadSetting
from app.learning.snapshot.model_file import dump
from app.learning.state import TenantState


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser: ArgumentParser = commands.add_parser(
        "train", help="learn a file of labelled examples and keep the model", description="Learn a file; write a model."
    )
    add_source(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="MODEL", help="where the model is written")
    parser.add_argument("--onto", type=Path, metavar="MODEL", help="go on with this model, under its settings")
    parser.add_argument("--algorithm", type=algorithm_name, help="default: cs-ssol")
    add_settings(parser)
    parser.set_defaults(run=train)


def train(chosen: Namespace) -> None:
    """Run the command."""
    refuse_missing_folder(chosen.out)
    learner = Learner(_start(chosen))
    seen = run(chosen, [learner], keep_names=True)
    save(learner.state, chosen.out)
    result = summarise(learner.state)
    print(
        f"{chosen.out}: {seen.examples:,} examples learnt in {seen.seconds:.1f} s, balanced accuracy "
        f"{percent(result['balanced_accuracy'])}%, {result['features']:,} features, digest {result['digest']}"
    )


def save(state: TenantState, path: Path) -> None:
    """Write the model."""
    with written_aside(path) as file:
        for piece in dump(state):
            file.write(piece)


def _start(chosen: Namespace) -> TenantState:
    given = given_settings(chosen)
    if chosen.onto is None:
        return TenantState(settings_for(chosen.algorithm or "cs-ssol", given | {"featurizer": chosen.featurizer}))
    if given or chosen.algorithm:
        raise BadSetting("--onto goes on under the model's own settings: give no algorithm and no settings with it")
    state = load_model(chosen.onto)
    if state.config.featurizer != chosen.featurizer:
        raise BadSetting(
            f"{chosen.onto} has learnt what version {state.config.featurizer} of the featurizers makes of inputs: "
            f"give --featurizer {state.config.featurizer}"
        )
    return state
