"""`sluice inspect`: what a model contains."""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from app.cli.output import percent, print_json, print_table, print_text
from app.learning.errors import BadSnapshot
from app.learning.snapshot.model_file import load
from app.learning.state import TenantState
from app.learning.summary import summarise, top_weights


def add_arguments(parser: ArgumentParser) -> None:
    """Describe the command."""
    parser.description = "Verify a model file, and show its configuration, counts, rates and largest weights."
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("--top", type=int, default=20, help="number of weights to show (default: 20)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=inspect)


def inspect(chosen: Namespace) -> None:
    """Run the command."""
    state = load_model(chosen.model)
    result = summarise(state) | {"top_weights": top_weights(state, max(chosen.top, 0))}
    if chosen.json:
        print_json(result)
    else:
        _print_model(result)


def load_model(path: Path) -> TenantState:
    """Read a model file; an error names the file."""
    try:
        return load(path.read_bytes())
    except BadSnapshot as error:
        raise BadSnapshot(f"{path}: {error}") from None


def _print_model(result: dict[str, Any]) -> None:
    rates = ("error", "balanced_accuracy", "sensitivity", "specificity")
    sparsity = percent(result["sparsity"], 1)
    print_text(
        ", ".join(f"{name} {value}" for name, value in result["config"].items() if value is not None),
        f"digest {result['digest']}, version {result['version']:,}",
        f"{result['examples']:,} examples: {result['positives']:,} anomalies and {result['negatives']:,} normal",
        ", ".join(f"{rate.replace('_', ' ')} {percent(result[rate])}%" for rate in rates),
        f"{result['features']:,} features, {result['nonzero_weights']:,} of them with a weight (sparsity {sparsity}%)",
        f"{result['memory_bytes'] / 2**20:.1f} MiB of memory",
        "",
    )
    rows = [(each["feature"], f"{each['weight']:+.4f}", f"{each['evidence']:.4g}") for each in result["top_weights"]]
    if rows:
        print_table(("feature", "weight", "evidence"), rows)
    else:
        print("No feature has a weight.")
