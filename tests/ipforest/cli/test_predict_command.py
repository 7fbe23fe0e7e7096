import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetForest, BudgetPrune, ForestSearch
from ipforest.cli import main
from ipforest.cli.fit import MODEL_FILE
from ipforest.cli.predict import _without_noise
from ipforest.estimator import BudgetedEstimator
from ipforest.tabular.model_files import load_model, save_model


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fit a model in which an MRI is too expensive to be bought."""
    folder = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(0)
    culture, age, scan = rng.choice(["negative", "positive"], 300), rng.integers(20, 90, 300), rng.random(300)
    ill = (culture == "positive") & (age > 40)
    table = pd.DataFrame({"culture": culture, "mri_score": scan, "age": age, "state": np.where(ill, "ill", "healthy")})
    table.insert(0, "patient", [f"p{row}" for row in range(300)])
    table.to_csv(folder / "table.csv", index=False)
    (folder / "prices.csv").write_text("feature,cost\nculture,4\nage,0\nmri_score,300\n")
    files = ["--csv", str(folder / "table.csv"), "--prices", str(folder / "prices.csv"), "--drop", "patient"]
    fit = ["fit", *files, "--target", "state", "--budget", "9", "--trees", "5", "--out", str(folder / "model")]
    assert main(fit) == 0
    return folder


def predict(clinic: Path, capsys: pytest.CaptureFixture[str], table: pd.DataFrame, *options: str) -> Any:
    table.to_csv(clinic / "new.csv", index=False)
    capsys.readouterr()
    files = ["--model", str(clinic / "model"), "--csv", str(clinic / "new.csv")]
    assert main(["predict", *files, "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_rows_are_told_apart_and_every_class_has_its_probability(
    clinic: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(clinic / "table.csv")[::-1]
    answers = predict(clinic, capsys, table, "--id", "patient")
    assert [answer["patient"] for answer in answers] == table["patient"].tolist()
    for answer in answers:
        chances = {label: answer[f"probability_{label}"] for label in ("healthy", "ill")}
        assert sum(chances.values()) == pytest.approx(1)
        assert max(chances.values()) == answer["probability"] == chances[answer["prediction"]]
    assert list(answers[0])[:3] == ["patient", "prediction", "cost"]


def test_answers_do_not_replace_the_table(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = (clinic / "table.csv").read_text()
    files = ["--csv", str(clinic / "table.csv"), "--out", str(clinic / "." / "model" / ".." / "table.csv")]
    assert main(["predict", "--model", str(clinic / "model"), *files]) == 2
    assert "--out: expected another file than the table" in capsys.readouterr().err
    assert (clinic / "table.csv").read_text() == table


def test_a_column_that_the_model_never_buys_may_be_absent(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(clinic / "table.csv")
    whole = predict(clinic, capsys, table)
    without = table.drop(columns="mri_score")
    assert predict(clinic, capsys, without) == whole
    without.to_csv(clinic / "new.csv", index=False)
    assert main(["predict", "--model", str(clinic / "model"), "--csv", str(clinic / "new.csv")]) == 0
    assert "no column mri_score, which the model never buys" in capsys.readouterr().err
    table.drop(columns="culture").to_csv(clinic / "new.csv", index=False)
    assert main(["predict", "--model", str(clinic / "model"), "--csv", str(clinic / "new.csv")]) == 2
    assert "got none for 'culture'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ("patent", "--id: expected a column of .*, got 'patent'; the closest is 'patient'"),
        ("cost", "--id: expected a column of another name than those that are written, got 'cost'"),
    ],
)
def test_ids_that_cannot_be_written_are_refused(
    clinic: Path, capsys: pytest.CaptureFixture[str], wanted: str, text: str
) -> None:
    pd.read_csv(clinic / "table.csv").assign(cost=1).to_csv(clinic / "priced.csv", index=False)
    files = ["--model", str(clinic / "model"), "--csv", str(clinic / "priced.csv")]
    assert main(["predict", *files, "--id", wanted]) == 2
    assert re.search(text, capsys.readouterr().err)


@pytest.mark.parametrize(
    "model",
    [
        BudgetPrune(RandomForestClassifier(4, random_state=0), feature_costs=[1, 50, 1], budget=3, random_state=0),
        BudgetForest(
            4,
            search=ForestSearch(n_lambdas=2, n_prunings=2, nested=False, n_lookahead=0),
            feature_costs=[1, 10**4, 1],
            budget=2,
            random_state=0,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_data_frames_may_lack_what_is_never_bought(model: Any, tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.random((300, 3)), columns=["a", "b", "c"])
    target = (frame["a"] + 0.2 * frame["c"] > 0.6).astype(int)
    model.fit(frame, target)
    assert not model.acquired(frame)[:, 1].any()
    without = frame.drop(columns="b")
    np.testing.assert_array_equal(model.predict_proba(without), model.predict_proba(frame))
    np.testing.assert_array_equal(model.cost(without), model.cost(frame))
    for other in (frame.drop(columns="a"), without[["c", "a"]]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(other)
    save_model(model, tmp_path / "model.skops")
    without.to_csv(tmp_path / "new.csv", index=False)
    command = ["predict", "--model", str(tmp_path / "model.skops"), "--csv", str(tmp_path / "new.csv"), "--json"]
    assert main(command) == 0
    assert [answer["prediction"] for answer in json.loads(capsys.readouterr().out)] == model.predict(frame).tolist()


def test_a_table_is_passed_once_where_it_is_printed_and_written(
    clinic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passes, answers = [], BudgetedEstimator.answers
    monkeypatch.setattr(BudgetedEstimator, "answers", lambda model, X: (passes.append(len(X)), answers(model, X))[1])
    out = clinic / "predicted.csv"
    printed = predict(clinic, capsys, pd.read_csv(clinic / "table.csv"), "--out", str(out))
    assert passes == [300]
    written = pd.read_csv(out)
    assert written.columns.tolist() == [*printed[0]]
    assert written["prediction"].tolist() == [answer["prediction"] for answer in printed]
    assert written["cost"].tolist() == [answer["cost"] for answer in printed]


def test_costs_are_written_without_the_noise_of_sums() -> None:
    assert _without_noise(np.array([2.1 + 9.2 + 1 + 1 + 0.5, 1e-7])).tolist() == [13.8, 1e-7]


def test_classes_and_words_are_known_however_a_program_writes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": rng.choice(["1", "2", "3"], 120), "age": rng.integers(20, 90, 120)})
    table["class"] = np.where((table["code"] == "2") & (table["age"] > 40), "1", "0")
    table.to_csv(tmp_path / "table.csv", index=False)
    table.assign(**{name: table[name] + ".0" for name in ("code", "class")}).to_csv(tmp_path / "same.csv", index=False)
    options = [
        "--words",
        "code",
        "--budget",
        "2",
        "--trees",
        "3",
        "--time-limit",
        "0",
        "--out",
        str(tmp_path / "model"),
    ]
    assert main(["fit", "--csv", str(tmp_path / "table.csv"), "--target", "class", *options]) == 0
    told = []
    for file in ("table.csv", "same.csv"):
        capsys.readouterr()
        files = ["--model", str(tmp_path / "model"), "--csv", str(tmp_path / file)]
        assert main(["predict", *files]) == 0
        assert main(["report", *files, "--target", "class", "--resamples", "0"]) == 0
        told.append(capsys.readouterr())
    assert told[0] == told[1]


@pytest.fixture(scope="module")
def costly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train on a table in which a costly test tells everything; save the model and what the command says."""
    folder = tmp_path_factory.mktemp("costly tests")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"pulse": rng.integers(0, 2, 2000), "scan": rng.normal(size=2000).round(3)})
    table.insert(0, "patient", [f"p{number}" for number in range(len(table))])
    table["ill"] = np.where(table.scan > 1.3, "yes", "no")
    table.to_csv(folder / "table.csv", index=False)
    (folder / "prices.csv").write_text("feature,cost\npulse,1\nscan,20\n")
    files = ["--csv", str(folder / "table.csv"), "--prices", str(folder / "prices.csv"), "--drop", "patient"]
    fit = ["fit", *files, "--target", "ill", "--decimal", ".", "--budget", "10", "--estimator", "BudgetedClassifier"]
    with pytest.MonkeyPatch.context() as patched, (folder / "said.txt").open("w") as said:
        patched.setattr("sys.stdout", said)
        assert main([*fit, "--out", str(folder / "model")]) == 0
    return folder


@pytest.mark.slow
def test_where_a_coin_is_much_better_fit_says_how_to_toss_it(costly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = (costly / "said.txt").read_text()
    command = said.partition("A coin between two choices, `ipforest ")[2].partition("`, loses ")[0]
    assert main([*shlex.split(command), "--out", str(costly / "mixed.csv")]) == 0
    assert float(capsys.readouterr().out.split()[-1][:-1]) == pytest.approx(10, abs=1)


@pytest.mark.slow
def test_a_coin_is_tossed_by_the_ids_in_tables_and_sessions(costly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(costly / "table.csv")[::-1]
    answers = predict(costly, capsys, table, "--id", "patient", "--mixture", "10")
    mixed = load_model(costly / "model" / MODEL_FILE).mixture(10)
    keys, X = table["patient"].tolist(), table[["pulse", "scan"]]
    assert [answer["prediction"] for answer in answers] == mixed.predict(X, keys).tolist()
    assert [answer["cost"] for answer in answers] == mixed.cost(X, keys).tolist()
    assert mixed.cost(X, keys).mean() == pytest.approx(10, abs=1)
    table.assign(patient="p0").to_csv(costly / "same.csv", index=False)
    again = ["predict", "--model", str(costly / "model"), "--csv", str(costly / "same.csv"), "--id", "patient"]
    assert main([*again, "--mixture", "10"]) == 0
    assert "column patient: 1 keys for 2000 rows, and rows of one key get one" in capsys.readouterr().err
    assert main(again) == 0
    assert "keys" not in capsys.readouterr().err
    by_row = predict(costly, capsys, table, "--mixture", "10")
    assert [answer["cost"] for answer in by_row] == mixed.cost(X).tolist()
    costs = {answer["cost"]: answer["patient"] for answer in answers}
    assert len(costs) > 1
    for key in costs.values():
        values = X[table.patient == key].iloc[0]
        told = [f"{name}={value}" for name, value in values.items()]
        session = ["session", "--model", str(costly / "model"), "--mixture", "10", "--key", key]
        assert main([*session, "--known", *told, "--json"]) == 0
        expected = mixed.drawn(key).session(dict(enumerate(values)))
        assert json.loads(capsys.readouterr().out)["answer"] == expected.answer


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["session", "--mixture", "3"], "--mixture: expected it with --key, and --key with it, got one of them"),
        (["session", "--key", "p3"], "--mixture: expected it with --key, and --key with it, got one of them"),
        (["session", "--mixture", "x", "--key", "p3"], "mixture: expected a finite number"),
        (["session", "--mixture", "3", "--key", "p3", "--serve"], "--key: expected none with --serve, got a value"),
    ],
)
def test_what_no_coin_can_be_tossed_with_is_refused(
    clinic: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main([*options, "--model", str(clinic / "model")]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_a_loaded_model_takes_missing_words_as_commands_take_empty_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], missing: Any
) -> None:
    """Commands read them as empty texts, pandas as NaN, which was a word that the model does not know."""
    rng = np.random.default_rng(0)
    culture = rng.choice(["negative", "positive", ""], 200)
    table = pd.DataFrame(
        {"culture": culture, "age": rng.integers(20, 90, 200), "state": np.where(culture == "", "x", "y")}
    )
    table.to_csv(tmp_path / "table.csv", index=False)
    files = ["--csv", str(tmp_path / "table.csv"), "--target", "state", "--trees", "3", "--budget", "2"]
    assert main(["fit", *files, "--out", str(tmp_path / "model")]) == 0
    told = predict(tmp_path, capsys, table.drop(columns="state"))
    frame = table.drop(columns="state").assign(culture=table["culture"].mask(culture == "", missing))
    model = load_model(tmp_path / "model" / MODEL_FILE)
    assert {answer["prediction"] for answer in told} == {"x", "y"}
    assert model.predict(frame).tolist() == [answer["prediction"] for answer in told]
    assert model.cost(frame).tolist() == [answer["cost"] for answer in told]
