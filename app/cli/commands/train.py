"""`sluice train`: train a model on a file and save it."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from app.cli.atomic_file import atomic_file, require_folder_of
from app.cli.commands.inspect import load_model
from app.cli.options import DEFAULT_ALGORITHM, add_settings, add_source, algorithm_name, given_settings, settings_for
from app.cli.output import percent, print_text
from app.cli.single_pass import Learner, run
from app.learning.errors import BadSetting
from app.learning.snapshot.model_file import dump
from app.learning.state import TenantState
from app.learning.summary import summarise


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Learn every example of a file, and write the model."
    add_source(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="MODEL", help="the file to write")
    parser.add_argument("--onto", type=Path, metavar="MODEL", help="continue with this model and its settings")
    parser.add_argument("--algorithm", type=algorithm_name, help=f"default: {DEFAULT_ALGORITHM}")
    add_settings(parser)
    parser.set_defaults(run=train)


def train(chosen: Namespace) -> None:
    """Run the command."""
    require_folder_of(chosen.out)
    learner = Learner(_start(chosen))
    seen = run(chosen, [learner], keep_names=True)
    save(learner.state, chosen.out)
    result = summarise(learner.state)
    print_text(
        f"{chosen.out}: {seen.examples:,} examples learnt in {seen.seconds:.1f} s, balanced accuracy "
        f"{percent(result['balanced_accuracy'])}%, {result['features']:,} features, digest {result['digest']}"
    )


def save(state: TenantState, path: Path) -> None:
    """Write the model."""
    with atomic_file(path) as file:
        for piece in dump(state):
            file.write(piece)


def _start(chosen: Namespace) -> TenantState:
    given = given_settings(chosen)
    if chosen.onto is None:
        return TenantState(
            settings_for(chosen.algorithm or DEFAULT_ALGORITHM, given | {"featurizer": chosen.featurizer})
        )
    if given or chosen.algorithm:
        raise BadSetting("--onto keeps the model's own settings: give no algorithm and no settings with it")
    state = load_model(chosen.onto)
    if state.config.featurizer != chosen.featurizer:
        raise BadSetting(
            f"{chosen.onto} was trained with version {state.config.featurizer} of the featurizers: "
            f"give --featurizer {state.config.featurizer}"
        )
    return state
