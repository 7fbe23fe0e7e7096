"""Commands and the page take each word of training for that word: NA, padded ones, digits, words with commas."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ipforest import BudgetedPipeline, BudgetForest, ForestSearch
from ipforest.cli import main
from ipforest.tabular.model_files import save_model
from ipforest.ward.page import create_app
from ipforest.ward.patients import Ward
from ipforest.wrappers.pipeline import parted
from ipforest.wrappers.typed_cells import TypedCells

WORDS = ["NA", "007", "7", "Bonn", " Private", "two  blanks", 'a,"b"', "?", "Köln"]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, pd.DataFrame, Path]:
    """Fit a model that answers the word itself, and says "none" of a missing one."""
    folder = tmp_path_factory.mktemp("towns")
    words = np.random.default_rng(0).choice(WORDS, 600)
    table = pd.DataFrame({"town": pd.Categorical(words, categories=WORDS), "noise": np.zeros(600)})
    table.loc[::9, "town"] = None
    answers = table["town"].astype(object).fillna("none").to_numpy(str)
    search = ForestSearch(n_lambdas=1, n_prunings=1)
    model = BudgetForest(1, search=search, random_state=0).fit(table, answers)
    assert (model.predict(table) == answers).all()
    return model, table, save_model(model, folder / "model.skops")


def test_predictions_of_a_file_are_those_of_the_frame(
    towns: tuple[Any, pd.DataFrame, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, table, file = towns
    table.to_csv(tmp_path / "table.csv", index=False)
    assert main(["predict", "--model", str(file), "--csv", str(tmp_path / "table.csv")]) == 0
    told = pd.read_csv(io.StringIO(capsys.readouterr().out), keep_default_na=False, dtype=str)
    assert told["prediction"].tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("word", [*WORDS, "nan", ""])
def test_what_is_typed_is_the_word(
    towns: tuple[Any, pd.DataFrame, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
) -> None:
    model, _, file = towns
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{word}\n"))
    assert main(["session", "--model", str(file)]) == 0
    known = word in WORDS
    assert f"Answer: {word if known else 'none'} (" in capsys.readouterr().out
    page = create_app(Ward(model, TypedCells(parted(model))), "token", 8123).test_client()
    here = {"base_url": "http://127.0.0.1:8123"}
    place = page.post("/token/patients", data={"name": "Ada"}, **here).location
    options = re.findall(r'<option value="([^"]*)"', page.get(place, **here).text)
    escaped = word.replace('"', "&#34;")
    assert known == (escaped in options[1:])
    told = {"value-0-0": word, "state-0": "result"} if known else {"state-0": "missing"}
    page.post(place, data=told, **here)
    shown = page.get(place, **here).text
    assert f"Answer: {escaped if known else 'none'}</h2>" in shown
    assert f"<td>{escaped if known else 'no result'}</td>" in shown


def test_another_word_is_refused_with_what_it_amounts_to(
    towns: tuple[Any, pd.DataFrame, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Bonn  am Rhein\nnan\n"))
    assert main(["session", "--model", str(towns[2])]) == 0
    printed = capsys.readouterr()
    assert "NaN for another word, or ? for none, got 'Bonn  am Rhein'" in printed.err
    assert "Answer: none" in printed.out


@pytest.mark.parametrize("is_ours", [True, False])
def test_words_that_a_preparation_passes_on_are_words_to_commands(
    is_ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    words, number = rng.choice(["Köln", "NA", "7"], 300), rng.normal(size=300)
    code, is_late = rng.random((2, 300)) > 0.5
    parts = {"town": words, "code": np.where(code, 10, 30), "late": is_late}
    table = pd.DataFrame({"number": number, **{name: pd.Categorical(cells) for name, cells in parts.items()}})
    y = np.where((words == "Köln") & code | is_late & (number > 0), "x", "y")
    scaler = make_column_transformer((StandardScaler(), ["number"]), remainder="passthrough")
    scaler.set_output(transform="pandas")
    forest = BudgetForest(3, search=ForestSearch(n_lambdas=1, n_prunings=1), random_state=0)
    model = (BudgetedPipeline(scaler, forest) if is_ours else make_pipeline(scaler, forest)).fit(table, y)
    save_model(model, tmp_path / "model.skops")
    table.to_csv(tmp_path / "table.csv", index=False)
    files = ["--model", str(tmp_path / "model.skops")]
    assert main(["predict", *files, "--csv", str(tmp_path / "table.csv")]) == 0
    told = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert told["prediction"].tolist() == model.predict(table).tolist()
    cells = {name: str(table[name][0]) for name in table}
    known = [f"{name}={cell}" for name, cell in cells.items() if name != "town"]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{cells['town']}\n"))
    assert main(["session", *files, "--known", *known]) == 0
    assert f"Answer: {model.predict(table[:1])[0]}" in capsys.readouterr().out
