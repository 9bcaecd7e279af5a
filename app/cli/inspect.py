"""`sluice inspect`: what is in a model."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import msgspec

from app.cli.showing import percent, table
from app.learning.errors import BadSnapshot
from app.learning.snapshot.model_file import load
from app.learning.state import TenantState
from app.learning.summary import summarise, top_weights


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse gives its subparsers no public type
    """Add the command."""
    parser: ArgumentParser = commands.add_parser(
        "inspect", help="show what is in a model", description="Check a model and show its figures and largest weights."
    )
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("--top", type=int, default=20, help="how many weights to show (default: 20)")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.set_defaults(run=inspect)


def load_model(path: Path) -> TenantState:
    """Read a model file, with an error that names it."""
    try:
        return load(path.read_bytes())
    except BadSnapshot as error:
        raise BadSnapshot(f"{path}: {error}") from None


def inspect(chosen: Namespace) -> None:
    """Run the command."""
    state = load_model(chosen.model)
    result = summarise(state) | {"top_weights": top_weights(state, max(chosen.top, 0))}
    if chosen.json:
        print(msgspec.json.format(msgspec.json.encode(result)).decode())
    else:
        print(_text(result))


def _text(result: dict[str, Any]) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in result["config"].items() if value is not None)
    rates = ("error", "balanced_accuracy", "sensitivity", "specificity")
    sparsity = percent(result["sparsity"], 1)
    weights = [[each["feature"], f"{each['weight']:+.4f}", f"{each['evidence']:.4g}"] for each in result["top_weights"]]
    lines = (
        settings,
        f"digest {result['digest']}, version {result['version']:,}",
        f"{result['examples']:,} examples: {result['positives']:,} anomalies and {result['negatives']:,} normal",
        ", ".join(f"{rate.replace('_', ' ')} {percent(result[rate])}%" for rate in rates),
        f"{result['features']:,} features, {result['nonzero_weights']:,} of them with a weight (sparsity {sparsity}%)",
        f"{result['memory_bytes'] / 2**20:.1f} MiB of memory",
        "",
        table(("feature", "weight", "evidence"), weights) if weights else "No feature has a weight.",
    )
    return "\n".join(lines)
