"""The command ``rules``: text, files and JSON of what a saved model does, and a tree in its place."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ipforest.cli import main


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(0)
    word, age, blood = rng.choice(["mild", "strong", "none"], 240), rng.integers(20, 90, 240), rng.random(240).round(2)
    sick = (word == "strong") & (blood > 0.5) | (age > 80)
    table = pd.DataFrame({"pain": word, "age": age, "blood": blood, "outcome": np.where(sick, "sick", "well")})
    table.to_csv(folder / "table.csv", index=False)
    (folder / "prices.csv").write_text("feature,cost\npain,1\nage,0\nblood,7.5\n")
    fit = ["fit", "--csv", str(folder / "table.csv"), "--target", "outcome", "--prices", str(folder / "prices.csv")]
    assert main([*fit, "--budget", "9", "--trees", "5", "--out", str(folder / "model")]) == 0
    return folder


def rules(clinic: Path, *options: str) -> int:
    return main(["rules", "--model", str(clinic / "model"), "--data", str(clinic / "table.csv"), *options])


def test_they_are_printed(clinic: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    capsys.readouterr()
    assert rules(clinic, "--target", "outcome") == 0
    printed = capsys.readouterr().out
    assert "240 examples pay" in printed
    assert "pain is strong" in printed.replace("\n", " ") or "pain is not strong" in printed.replace("\n", " ")
    assert max(map(len, printed.splitlines())) <= 70


def test_a_tree_in_place_of_the_model(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.read_csv(clinic / "table.csv").sort_values("outcome").to_csv(clinic / "sorted.csv", index=False)
    options = ["--target", "outcome", "--tree", "--max-questions", "2", "--max-depth", "3", "--json"]
    assert rules(clinic, "--data", str(clinic / "sorted.csv"), *options) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["fidelity"]["agreement"] > 0.8
    assert record["is_exact"]
    assert record["examples"] == record["fidelity"]["n_samples"] == 120
    assert record["error"] == pytest.approx(record["fidelity"]["error"])
    assert record["cost"] == pytest.approx(record["fidelity"]["cost"])


@pytest.mark.parametrize("name", ["rules.txt", "rules.md", "rules.png", "rules.svg"])
def test_they_are_written(clinic: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert rules(clinic, "--out", str(tmp_path / name), "--max-questions", "2") == 0
    assert f"Wrote the rules to {tmp_path / name}." in capsys.readouterr().out
    begins = {".txt": b"240 examples pay", ".md": b"240 examples pay", ".png": b"\x89PNG", ".svg": b"<?xml"}
    assert (tmp_path / name).read_bytes().startswith(begins[Path(name).suffix])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tree"], "--target: expected the column of the right answers with --tree, got none"),
        (["--max-depth", "3"], "--max-depth: expected it with --tree only, got it without"),
        (["--out", "rules.doc"], "--out: expected a file of one of .txt, .md, .png, .pdf, .svg, got rules.doc"),
        (["--out", "nowhere/rules.txt"], "--out: expected a file in a folder that exists, got nowhere/rules.txt"),
        (["--target", "outcom"], "--target: expected a column of"),
        (["--target", "pain"], "column pain, line 2: expected a class of training (sick, well), got"),
    ],
)
def test_bad_options_are_told(
    clinic: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rules(clinic, *options) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_no_model_or_not_there_is_told(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(clinic / "table.csv")
    assert main(["rules", "--model", table, "--data", table]) == 2
    assert main(["rules", "--model", str(clinic / "nothing"), "--data", table]) == 2
    assert "--model: expected a folder of `ipforest fit` or a model file, found nothing" in capsys.readouterr().err
    assert main(["rules", "--model", str(clinic / "model"), "--data", str(clinic / "nothing.csv")]) == 2
