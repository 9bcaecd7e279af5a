import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import numpy as np
import pytest

from app.cli import main
from app.features.featurizer import features_of
from app.learning.events import FeedbackGiven
from app.learning.example import example_of_json, joined
from app.learning.first_settings import FIRST
from app.learning.state import TenantState, apply
from kernels.compiler import cache_folder
from kernels.registry import ALGORITHMS

Output = pytest.CaptureFixture[str]


def sluice(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "app", *arguments], input=stdin, capture_output=True, check=False)


def test_the_table_shows_the_rates_of_the_algorithm(dataset: Path, capsys: Output) -> None:
    assert main(["evaluate", str(dataset), "--algorithm", "cs-fsol", "--numbers", "raw"]) == 0
    output = capsys.readouterr().out
    assert "300 examples" in output
    head, _, row = output.splitlines()[2:5]
    expected = "algorithm error balanced ± sens. spec. sparsity features examples/s"
    assert " ".join(head.split()) == expected
    assert row.split()[0] == "cs-fsol"
    assert row.split()[-2] == "59"


def test_several_algorithms_are_compared(dataset: Path, capsys: Output) -> None:
    assert main(["evaluate", str(dataset), "--compare", ",".join(ALGORITHMS), "--json"]) == 0
    answer = msgspec.json.decode(capsys.readouterr().out)
    assert [result["algorithm"] for result in answer["results"]] == list(ALGORITHMS)
    assert all(result["balanced_accuracy"] > 0.6 for result in answer["results"])
    assert answer["examples"] == 300
    assert answer["skipped_lines"] == 0


def test_compared_algorithms_equal_each_on_its_own(dataset: Path, capsys: Output) -> None:
    main(["evaluate", str(dataset), "--compare", "fsol,cs-ssol", "--json"])
    together = msgspec.json.decode(capsys.readouterr().out)["results"]
    main(["evaluate", str(dataset), "--algorithm", "cs-ssol", "--json"])
    (alone,) = msgspec.json.decode(capsys.readouterr().out)["results"]
    assert alone["digest"] == together[1]["digest"]


def test_in_a_comparison_a_setting_applies_to_the_algorithms_that_use_it(dataset: Path, capsys: Output) -> None:
    main(["evaluate", str(dataset), "--compare", "cs-ogd,ssol", "--r", "7", "--json"])
    ogd, ssol = msgspec.json.decode(capsys.readouterr().out)["results"]
    assert "r" not in ogd["config"]
    assert ssol["config"]["r"] == 7.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--algorithm", "cpa", "--lambda", "1"], "cpa does not use 'lambda'"),
        (["--compare", "cpa,paum", "--lambda", "1"], "none of cpa, paum uses 'lambda'"),
        (["--eta", "fast"], "eta is 'fast'; it must be a number from 1e-12 to 1e12"),
        (["--eta", "nan"], "eta is nan"),
        (["--lambda", "1", "--target-sparsity", "0.5"], "set one of them, not both"),
    ],
)
def test_a_wrong_setting_is_refused_with_a_sentence(
    dataset: Path, capsys: Output, arguments: list[str], sentence: str
) -> None:
    assert main(["evaluate", str(dataset), *arguments]) == 1
    assert sentence in capsys.readouterr().err


def test_an_unknown_algorithm_is_refused_with_the_known_names(dataset: Path, capsys: Output) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", str(dataset), "--algorithm", "magic"])
    assert "'magic' is not an algorithm; choose from stg, fobos" in capsys.readouterr().err


def test_a_malformed_line_stops_with_its_number(dataset: Path, capsys: Output) -> None:
    dataset.write_text(dataset.read_text() + "1 3:abc\n")
    assert main(["evaluate", str(dataset)]) == 1
    assert f"{dataset}:301: '3:abc' is not index:value" in capsys.readouterr().err


def test_malformed_lines_can_be_skipped(dataset: Path, capsys: Output) -> None:
    dataset.write_text(dataset.read_text() + "1 3:abc\n2 1:1\n" + "nonsense\n" * 10)
    assert main(["evaluate", str(dataset), "--on-error", "skip"]) == 0
    captured = capsys.readouterr()
    assert "300 examples" in captured.out
    assert "skipped line 301: '3:abc' is not index:value" in captured.err
    assert "skipped 7 more malformed lines" in captured.err


def test_a_missing_file_is_named(capsys: Output) -> None:
    assert main(["evaluate", "no/such/file.libsvm"]) == 1
    assert "no/such/file.libsvm" in capsys.readouterr().err


def test_an_empty_file_has_no_rates(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "empty.libsvm"
    path.touch()
    assert main(["evaluate", str(path)]) == 0
    assert "0 examples" in capsys.readouterr().out


def test_standard_input_is_read(dataset: Path) -> None:
    answer = sluice("evaluate", "-", "--json", stdin=dataset.read_bytes())
    assert answer.returncode == 0, answer.stderr
    assert msgspec.json.decode(answer.stdout)["examples"] == 300


def test_a_closed_pipe_is_not_an_error(dataset: Path) -> None:
    command = f"{sys.executable} -m app evaluate {dataset} --compare fsol,ssol | true"
    answer = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False)  # noqa: S607
    assert (answer.returncode, answer.stderr) == (0, b"")


def test_a_file_that_is_sorted_by_label_gets_a_warning_and_can_be_shuffled(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "sorted.libsvm"
    path.write_text("1 1:1\n" * 100 + "-1 1:1\n" * 100)
    main(["evaluate", str(path)])
    assert "sorted by label: the label changes only 1 times" in capsys.readouterr().out
    main(["evaluate", str(path), "--shuffle", "1"])
    assert "sorted by label" not in capsys.readouterr().out


def test_a_shuffled_run_can_be_repeated(dataset: Path, capsys: Output) -> None:
    def digest(seed: str) -> str:
        main(["evaluate", str(dataset), "--shuffle", seed, "--json"])
        return str(msgspec.json.decode(capsys.readouterr().out)["results"][0]["digest"])

    assert digest("1") == digest("1") != digest("2")


def test_dropped_features_are_reported(dataset: Path, capsys: Output) -> None:
    main(["evaluate", str(dataset), "--max-features", "10"])
    assert "at its limit of 10" in capsys.readouterr().out


@pytest.mark.e2e
def test_a_warm_start_compiles_nothing(dataset: Path, tmp_path: Path) -> None:
    assert sluice("warm").returncode == 0
    before = _compiled()
    model = str(tmp_path / "model")
    assert sluice("evaluate", str(dataset), "--compare", ",".join(ALGORITHMS)).returncode == 0
    assert sluice("train", str(dataset), "--out", model).returncode == 0
    assert sluice("inspect", model).returncode == 0
    assert sluice("features", "--url", "http://a.b.co.uk/c?d=e").returncode == 0
    assert sluice("features", "--email", "-", stdin=b"Subject: x\n\nhttp://a.b/").returncode == 0
    assert _compiled() == before


def _compiled() -> set[str]:
    return {str(path) for path in cache_folder().rglob("*")}


def test_the_reliability_of_probabilities_is_shown_and_drawn(tmp_path: Path, capsys: Output) -> None:
    rng = np.random.default_rng(5)
    labels = np.where(rng.random(3000) < 0.3, 1, -1)
    hints = rng.random(3000) < np.where(labels > 0, 0.8, 0.3)
    file, picture = tmp_path / "given.libsvm", tmp_path / "plot.svg"
    file.write_text("".join(f"{y} 1:1 {2 + h}:1\n" for y, h in zip(labels.tolist(), hints.tolist(), strict=True)))
    assert main(["evaluate", str(file), "--threshold", "auto", "--plot", str(picture), "--quiet"]) == 0
    output = capsys.readouterr().out
    assert "Reliability of the probabilities of" in output
    off = float(output.partition("observed share: ")[2].partition(" points")[0])
    assert 0.0 < off < 8.0
    drawn = ET.fromstring(picture.read_text())  # noqa: S314 - our own
    assert len(drawn.findall("{http://www.w3.org/2000/svg}circle")) >= 2
    main(["evaluate", str(file), "--threshold", "auto", "--plot", "--json"])
    assert msgspec.json.decode(capsys.readouterr().out)["results"][0]["health"]["status"] == "good"


def test_a_target_is_followed_and_the_curve_drawn(tmp_path: Path, capsys: Output) -> None:
    rng = np.random.default_rng(6)
    labels = np.where(rng.random(6000) < 0.2, 1, -1)
    file, picture = tmp_path / "given.libsvm", tmp_path / "curve.svg"
    file.write_text("".join(f"{y} 1:1 2:{rng.normal(0.5 * y, 1.0):.4f}\n" for y in labels.tolist()))
    given = ["evaluate", str(file), "--target-fpr", "0.05", "--normalize", "none", "--numbers", "raw", "--quiet"]
    assert main([*given, "--curve", str(picture)]) == 0
    assert "Target: false_positive_rate = 0.05, followed" in capsys.readouterr().out
    drawn = ET.fromstring(picture.read_text())  # noqa: S314 - our own
    assert len(drawn.findall("{http://www.w3.org/2000/svg}polyline")) == 4
    main([*given, "--json"])
    found = msgspec.json.decode(capsys.readouterr().out)["results"][0]
    assert abs((1.0 - found["specificity"]) / 0.05 - 1.0) < 0.15
    assert (found["config"]["target"], found["config"]["target_value"]) == ("false_positive_rate", 0.05)


def test_a_target_or_a_curve_that_makes_no_sense_is_refused(dataset: Path, capsys: Output, tmp_path: Path) -> None:
    assert main(["evaluate", str(dataset), "--target-fpr", "2"]) == 1
    assert "it must be a number from 0.000001 to 0.999999" in capsys.readouterr().err
    assert main(["evaluate", str(dataset), "--target-fpr", "0.1", "--threshold", "0.5"]) == 1
    assert "a target determines the threshold" in capsys.readouterr().err
    picture = str(tmp_path / "curve.svg")
    assert main(["evaluate", str(dataset), "--compare", "fsol,cs-sol", "--curve", picture]) == 1
    assert "--curve shows one algorithm" in capsys.readouterr().err
    assert main(["evaluate", str(dataset), "--threshold", "0", "--curve", picture]) == 1
    assert "--curve needs scores" in capsys.readouterr().err


def test_without_an_objective_there_is_nothing_to_plot(dataset: Path, capsys: Output) -> None:
    assert main(["evaluate", str(dataset), "--algorithm", "fsol", "--threshold", "0", "--plot"]) == 0
    assert "gave no probabilities" in capsys.readouterr().out
    assert main(["evaluate", str(dataset), "--compare", "fsol,cs-sol", "--plot"]) == 1
    assert "--plot shows one algorithm" in capsys.readouterr().err


def test_verdicts_no_better_than_chance_are_announced(tmp_path: Path, capsys: Output) -> None:
    rng = np.random.default_rng(7)
    file = tmp_path / "noise.libsvm"
    file.write_text("".join(f"{rng.choice([1, -1])} {rng.integers(1, 5)}:1\n" for _ in range(2000)))
    assert main(["evaluate", str(file)]) == 0
    assert "no better than chance" in capsys.readouterr().out


def payments(path: Path, unit: float) -> Path:
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        for label in rng.choice([1, -1, -1, -1], size=1000).tolist():
            amount = rng.lognormal(7.0 if label == 1 else 3.5, 0.7) * unit
            line = {"label": label, "features": {"amount": amount, "hour": 12.5, "is_new": True}, "text": "a note"}
            file.write(msgspec.json.encode(line).decode() + "\n")
    return path


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_encoded_numbers_may_have_any_unit(tmp_path: Path, capsys: Output, unit: float) -> None:
    path = payments(tmp_path / "payments.jsonl", unit)
    main(["evaluate", str(path), "--algorithm", "cs-sol", "--numbers", "encoded", "--json"])
    (encoded,) = msgspec.json.decode(capsys.readouterr().out)["results"]
    main(["evaluate", str(path), "--algorithm", "cs-sol", "--numbers", "raw", "--json"])
    (raw,) = msgspec.json.decode(capsys.readouterr().out)["results"]
    assert encoded["config"]["numbers"] == "encoded"
    assert raw["config"]["numbers"] == "raw"
    assert encoded["balanced_accuracy"] > 0.95
    assert unit == 1.0 or raw["balanced_accuracy"] < 0.8


@pytest.mark.parametrize("shuffle", [[], ["--shuffle", "1"]])
def test_a_file_is_learnt_as_the_service_learns(tmp_path: Path, capsys: Output, shuffle: list[str]) -> None:
    path, model = payments(tmp_path / "payments.jsonl", 1.0), tmp_path / "model"
    numbers = ["--numbers", "encoded"]
    main(["evaluate", str(path), "--json", *numbers, *shuffle, "--max-features", "4194304"])
    (evaluated,) = msgspec.json.decode(capsys.readouterr().out)["results"]
    main(["train", str(path), "--out", str(model), *numbers, *shuffle, "--max-features", "4194304"])
    assert evaluated["digest"] in capsys.readouterr().out
    if not shuffle:
        state = TenantState(FIRST)
        for line in path.read_bytes().splitlines():
            item = msgspec.json.decode(line)
            given, note = example_of_json(msgspec.json.encode(item["features"])), features_of("text", item["text"])
            apply(state, FeedbackGiven(joined(given, note.example), item["label"]))
        assert state.digest == evaluated["digest"]
    main(["inspect", str(model)])
    assert re.search(r"amount [0-9,.]+-[0-9,.]+ ", capsys.readouterr().out)


def test_numbers_of_a_libsvm_file_are_encoded(dataset: Path, capsys: Output) -> None:
    main(["evaluate", str(dataset), "--numbers", "encoded", "--json"])
    (result,) = msgspec.json.decode(capsys.readouterr().out)["results"]
    assert result["features"] > 500  # 57 numbers have bins, two indicators have none


def test_an_unknown_form_of_numbers_is_refused(dataset: Path, capsys: Output) -> None:
    assert main(["evaluate", str(dataset), "--numbers", "binned"]) != 0
    assert "numbers is 'binned'; it must be 'raw' or 'encoded'" in capsys.readouterr().err
