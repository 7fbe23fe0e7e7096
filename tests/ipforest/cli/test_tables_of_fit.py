"""The commands on tables and price lists as people have them."""

import csv
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.table import Table

from ipforest import (
    BudgetedClassifier,
    BudgetedRegressor,
    BudgetForest,
    BudgetForestRegressor,
    BudgetLinear,
    BudgetLinearRegressor,
    ForestSearch,
)
from ipforest._internal import progress as progress_module
from ipforest.choosing import class_costs
from ipforest.cli import fit as fit_command
from ipforest.cli import main
from ipforest.cli.options import new_table, plain_console
from ipforest.tabular.model_files import load_model
from proofs.claims import table as claims
from proofs.claims.claim import Finding, Ruling

SEMICOLONS = "feature;cost\nage [years];1\nbmi [/kg];2,5\nblood type;3\nMRI;300\n"


@pytest.fixture
def clinic(tmp_path):
    """A table with units in brackets, decimal commas, blood types, an identifier and words to predict."""
    rng = np.random.default_rng(3)
    age, bmi = rng.integers(20, 80, 120), rng.normal(25, 4, 120).round(1)
    blood = rng.choice(["A", "B", "AB", "0"], 120)
    ill = np.where((age > 50) & (bmi > 24) | (blood == "0"), "=ill", "[bold]well")
    rows = zip(range(120), age, bmi, blood, ill, strict=True)
    lines = [f"p{i};{a};{str(b).replace('.', ',')};{kind};{y}" for i, a, b, kind, y in rows]
    header = "Patient_ID;Age [years];bmi [/kg];blood type;Diagnosis"
    (tmp_path / "clinic.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8-sig")
    (tmp_path / "prices.csv").write_text(SEMICOLONS, encoding="utf-16")
    return tmp_path


def fit(folder, *more):
    arguments = ["fit", "--csv", folder / "clinic.csv", "--target", "diagnosis", "--prices", folder / "prices.csv"]
    return [*map(str, [*arguments, *more])]


TRAINED = ("--budget", "4", "--trees", "5", "--time-limit", "0")


@pytest.mark.slow
def test_a_clinic_from_its_files_to_predictions(clinic) -> None:
    """The whole way as processes of their own."""

    def run(*arguments):
        command = [sys.executable, "-m", "ipforest.cli", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=None, cwd=clinic)
        assert done.returncode == 0, done.stderr
        return done.stdout, done.stderr

    out, err = run(*fit(clinic, *TRAINED, "--out", "model"))
    for name in ("bmi [/kg]", "Age [years]", "blood type"):
        assert name in out
    for told in (
        "left out, 1 column: 'Patient_ID': 120 different words in 120 cells",
        "numbers, 1 column: 'bmi [/kg]': with a decimal comma",
        "words, 1 column: 'blood type' (4): '0' taken as words, too",
        "prices of no feature here: 'MRI'",
    ):
        assert told in err
    out, err = run("predict", "--model", "model", "--csv", "clinic.csv", "--out", "answers.csv")
    assert "bmi [/kg] read as numbers with a decimal comma" in err
    with (clinic / "answers.csv").open(newline="") as file:
        answers = [row["prediction"] for row in csv.DictReader(file)]
    assert set(answers) == {"'=ill", "[bold]well"}
    with (clinic / "clinic.csv").open(newline="", encoding="utf-8-sig") as file:
        truth = [row["Diagnosis"] for row in csv.DictReader(file, delimiter=";")]
    assert np.mean([answer.removeprefix("'") == label for answer, label in zip(answers, truth, strict=True)]) > 0.8


def test_a_dry_run_tells_columns_and_prices_and_trains_nothing(clinic, capsys) -> None:
    assert main(fit(clinic, "--dry-run")) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[:2] == ["numbers, 1 column: 'Age [years]'", "numbers, 1 column: 'bmi [/kg]': with a decimal comma"]
    assert ["bmi", "[/kg]", "2.5"] in [line.split() for line in lines]
    assert err.count("note") == 1
    assert main(fit(clinic, "--dry-run", "--json")) == 0
    told = json.loads(capsys.readouterr().out)
    kinds = {column["name"]: column["kind"] for column in told["columns"]}
    assert kinds == {"Patient_ID": "left out", "Age [years]": "numbers", "bmi [/kg]": "numbers", "blood type": "words"}
    assert told["prices"][1] == {"name": "bmi [/kg]", "price": 2.5, "fee_of_group": 0}
    assert sorted(path.name for path in clinic.iterdir()) == ["clinic.csv", "prices.csv"]


def test_a_dry_run_shows_fees_and_lone_groups(clinic, capsys) -> None:
    text = "feature,cost,group,cost_in_group\nage [years],1120.5,,\nbmi [/kg],9,g,2\nblood type,3,,\n"
    (clinic / "prices.csv").write_text(text)
    assert main(fit(clinic, "--dry-run")) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert ["bmi", "[/kg]", "2", "7"] in lines
    assert ["Age", "[years]", "1120.5"] in lines
    assert "group 'g' has one feature, so that its fee is always paid with it" in err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--out", "x"], "--budget: expected what an example may cost on average, got none; only --dry-run needs none"),
        (["--budget", "1"], "--out: expected a folder for the model, got none; only --dry-run needs none"),
        (["--dry-run", "--words", "blood typ"], "--words: expected a column of"),
        (["--dry-run", "--sep", "::"], "--sep: expected one character"),
        (["--dry-run", "--sep", ","], "cells as in line 1"),
        (["--dry-run", "--decimal", "."], "column bmi [/kg], line 2: expected a finite number"),
        (["--dry-run", "--encoding", "nonsense"], "--encoding: expected the name of an encoding, such as cp1252"),
        (["--dry-run", "--drop", "AGE [years]", "BMI [/kg]", "Blood Type"], "expected columns to predict from"),
    ],
)
def test_what_the_options_leave_open_is_refused(clinic, capsys, options, expected) -> None:
    assert main(fit(clinic, *options)) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("ipforest: error:")]
    assert len(errors) == 1
    assert expected in errors[0]


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("a,a=x,y\nx,1,p\nz,2,q\nx,3,p\nz,4,q\n", "y", "word 'x' becomes 'a=x', which is also a column of the table"),
        (
            "a,a=b,y\nb=c,c,p\nz,d,q\nz,c,p\nz,d,q\n",
            "y",
            "word 'c' becomes 'a=b=c', which is also a column of column 'a'",
        ),
        (
            "a,y\n1,-1.8\n2,0.5\n3,7\n",
            "y",
            "got one of '-1.8' (line 2) and of 2 others; a number is predicted with --regression",
        ),
        ("a;y\n1;-1,8\n2;0,5\n3;7\n", "y", "a number is predicted with --regression"),
        ("a,y\n1,US\n2,NA\n", "y", "line 3: expected a target, got 'NA', which stands for a missing value; name such"),
        ("a,y\n1,US\n2,\n", "y", "line 3: expected a target, got none; 1 row has none, and nothing is learnt from"),
    ],
)
def test_advice_names_what_the_command_has(tmp_path, capsys, text, target, expected) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert main(["fit", "--csv", str(tmp_path / "t.csv"), "--target", target, "--dry-run"]) == 2
    assert expected in capsys.readouterr().err


def test_words_without_a_number_get_no_hint_of_regression(tmp_path, capsys) -> None:
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,q\n3,q\n")
    assert main(["fit", "--csv", str(tmp_path / "t.csv"), "--target", "y", "--dry-run"]) == 2
    assert "regression" not in capsys.readouterr().err


EITHER = "".join(f"{a},{b},{a ^ b}\n" for a in (0, 1) for b in (0, 1)) * 50
SUM = "".join(f"{a},{b},{5 * a + b}\n" for a in range(5) for b in range(5)) * 8


@pytest.mark.parametrize(
    ("rows", "budget", "better"),
    [(EITHER, "1", "BudgetedClassifier"), (SUM, "1", "BudgetedRegressor"), (EITHER, "0", None), (EITHER, "2", None)],
)
def test_a_forest_that_loses_by_its_budget_points_to_the_estimator_of_least_error(
    rows, budget, better, tmp_path, capsys
):
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    files = ["--csv", str(tmp_path / "t.csv"), "--out", str(tmp_path)]
    assert main(["fit", *files, "--target", "y", "--budget", budget, "--trees", "10"]) == 0
    said = capsys.readouterr().out
    often = "often" if better == "BudgetedRegressor" else "usually"
    assert f"error is {often} lower with `--estimator {better}`" in said if better else "--estimator" not in said


@pytest.mark.parametrize("estimator", ["BudgetLinear", pytest.param("BudgetBoost", marks=pytest.mark.slow)])
def test_words_are_categories_of_what_grows_with_prices(clinic, capsys, estimator) -> None:
    options = ["--budget", "10", "--estimator", estimator, "--out", str(clinic / "model")]
    assert main(fit(clinic, *options)) == 0
    capsys.readouterr()
    model = load_model(clinic / "model" / "model.skops")
    assert model.categories_.names == {2: ("0", "A", "AB", "B")}
    table = pd.DataFrame({"Age [years]": 30, "bmi [/kg]": 22.5, "blood type": ["0", "A", "B", "C", None]})
    table.to_csv(clinic / "new.csv", index=False)
    assert main(["predict", "--model", str(clinic / "model"), "--csv", str(clinic / "new.csv"), "--json"]) == 0
    said = capsys.readouterr()
    assert (
        "1 of 5 rows have words that the model does not know, such as 'C' in line 5; it knows 0, A, AB, B" in said.err
    )
    answers = [answer["probability_=ill"] for answer in json.loads(said.out)]
    assert answers == model.predict_proba(table)[:, 0].tolist()
    assert answers[3] == answers[4]
    assert answers[0] > max(answers[1:])
    table.assign(**{"blood type": ["C", "D", "E", "F", "G"]}).to_csv(clinic / "new.csv", index=False)
    assert main(["predict", "--model", str(clinic / "model"), "--csv", str(clinic / "new.csv"), "--json"]) == 0
    assert {answer["probability_=ill"] for answer in json.loads(capsys.readouterr().out)} == {answers[4]}


@pytest.mark.parametrize(
    ("target", "front_end"),
    [pytest.param("class", BudgetedClassifier, marks=pytest.mark.slow), ("number", BudgetedRegressor)],
)
def test_the_front_ends_have_a_time_limit_and_tell_what_was_scored(
    target, front_end, tmp_path, capsys, monkeypatch
) -> None:
    kind = {BudgetedClassifier: BudgetForest, BudgetedRegressor: BudgetForestRegressor}[front_end]
    small = kind(2, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0))
    monkeypatch.setattr(front_end, "_chosen_from", property(lambda model: [small]))
    rows = "".join(f"{a},{a % 7},{a / 3:.1f},{'ill' if a % 7 > 2 else 'well'}\n" for a in range(60))
    (tmp_path / "t.csv").write_text("a,b,number,class\n" + rows)
    scoring = {"class": "roc_auc", "number": "neg_mean_absolute_error"}[target]
    options = ["--csv", tmp_path / "t.csv", "--target", target, "--drop", *{"class", "number"} - {target}]
    options += ["--budget", "2", "--out", tmp_path, "--estimator", front_end.__name__]
    assert main(["fit", *map(str, options), "--scoring", scoring, "--time-limit", "600", "--words", "b"]) == 0
    said = json.loads((tmp_path / "report.json").read_text())
    whole = f" (without a budget {said['score_without_budget']:.4f})."
    assert f"), {said['scoring']} {said['score']:.4f}{whole}" in capsys.readouterr().out
    assert said["scoring"] == scoring.replace("_", " ")
    assert load_model(tmp_path / "model.skops").run.time_limit == 600


def test_class_costs_are_read_once_and_by_name(tmp_path, monkeypatch) -> None:
    (tmp_path / "t.csv").write_text("a,y\n" + "1,ill\n2,well\n3,well\n" * 8)
    (tmp_path / "costs.csv").write_text("true,well,ill\nill,5,0\nwell,0,1\n")
    read = []
    named = class_costs.read_class_cost_file
    monkeypatch.setattr(class_costs, "read_class_cost_file", lambda path, form: read.append(path) or named(path, form))
    options = ["--csv", tmp_path / "t.csv", "--target", "y", "--class-costs", tmp_path / "costs.csv", "--trees", "2"]
    assert main(["fit", *map(str, [*options, "--budget", "1", "--out", tmp_path])]) == 0
    assert read == [str(tmp_path / "costs.csv")]
    expected = {"ill": {"ill": 0, "well": 5}, "well": {"ill": 1, "well": 0}}
    assert load_model(tmp_path / "model.skops").class_costs == expected


def test_a_target_that_evidently_stands_for_no_value_is_told(tmp_path, capsys) -> None:
    rows = "".join(f"{a},{a % 7},{-999 if a % 9 == 0 else a}\n" for a in range(100))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    assert main(["fit", "--csv", str(tmp_path / "t.csv"), "--target", "y", "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert (
        "column y: -999 in 12 rows, far from all others (1 to 98); if it stands for no value, leave these rows" in said
    )


def test_no_coin_is_advised_that_is_better_on_training_examples_alone(tmp_path) -> None:
    """A deep forest fits noise, so that on training examples any mixture with it looks better."""
    rng = np.random.default_rng(1)
    noise = "".join(f"{a},{b},{y}\n" for a, b, y in zip(*rng.random((2, 200)), rng.integers(0, 2, 200), strict=True))
    (tmp_path / "t.csv").write_text("a,b,y\n" + noise)
    options = ["fit", "--csv", str(tmp_path / "t.csv"), "--target", "y", "--budget", "0.5", "--trees", "5"]
    assert main([*options, "--out", str(tmp_path)]) == 0
    said = json.loads((tmp_path / "report.json").read_text())
    model = load_model(tmp_path / "model.skops")
    assert model.mixture_gain > 0.1
    assert said["error_unpruned"] > said["error"]
    assert "mixture_gain" not in said


def test_what_training_warns_of_again_and_again_is_told_once(clinic, capsys, monkeypatch) -> None:
    def warning_fit(*arguments):
        for category in (UserWarning, RuntimeWarning):
            warnings.warn("much is missing", category, stacklevel=1)
        return fitted(*arguments)

    fitted = fit_command._fitted
    monkeypatch.setattr(fit_command, "_fitted", warning_fit)
    assert main(fit(clinic, *TRAINED, "--out", str(clinic / "model"))) == 0
    assert capsys.readouterr().err.count("much is missing") == 1


def test_many_different_numbers_are_a_number_to_predict(tmp_path, capsys) -> None:
    rows = "".join(f"{row % 7},{row % 25 / 4}\n" for row in range(200))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    options = ["fit", "--csv", str(tmp_path / "t.csv"), "--target", "y"]
    assert main([*options, "--dry-run"]) == 0
    note = "25 different numbers, so a number is predicted; with --no-regression they are classes"
    assert note in capsys.readouterr().err
    options += ["--budget", "1", "--out", str(tmp_path / "out"), "--trees", "2"]
    for more, measure, proven in (([], "1 - R2", "mean squared error"), (["--no-regression"], "error", "error")):
        assert main([*options, *more]) == 0
        assert json.loads((tmp_path / "out" / "report.json").read_text())["measure"] == measure
        assert f"No pruning within the budget has a training {proven} that" in capsys.readouterr().out


def test_estimators_that_do_not_predict_what_is_asked_for_are_refused(tmp_path, capsys) -> None:
    (tmp_path / "t.csv").write_text("a,y\n" + "1,2\n3,4\n" * 5)
    options = ["fit", "--csv", str(tmp_path / "t.csv"), "--target", "y", "--budget", "1", "--out", str(tmp_path)]
    for estimator, flag, other in (
        ("BudgetedClassifier", "--regression", "BudgetedRegressor"),
        ("BudgetedRegressor", "--no-regression", "BudgetedClassifier"),
    ):
        assert main([*options, "--estimator", estimator, flag]) == 2
        assert f"--estimator: expected BudgetPrune or {other} to predict" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "front_end", "inner"),
    [("class", BudgetedClassifier, BudgetLinear), ("number", BudgetedRegressor, BudgetLinearRegressor)],
)
def test_one_kind_of_model_is_trained_alone(target, front_end, inner, tmp_path) -> None:
    rows = "".join(
        f"{a},{a % 7},{'hot' if a % 3 else 'cold'},{a % 7 * 5 + a % 4},{'ill' if a % 7 > 2 else 'well'}\n"
        for a in range(60)
    )
    (tmp_path / "t.csv").write_text("a,b,w,number,class\n" + rows)
    options = ["fit", "--csv", tmp_path / "t.csv", "--target", target, "--drop", *{"class", "number"} - {target}]
    options += ["--budget", "1", "--out", tmp_path, "--estimator", "BudgetLinear"]
    assert main([str(option) for option in options]) == 0
    model = load_model(tmp_path / "model.skops")
    assert isinstance(model, front_end)
    assert [type(each) for each in model.estimators] == [inner]
    bought = [line["name"] for line in json.loads((tmp_path / "report.json").read_text())["bought"] if line["share"]]
    assert bought == ["b"]


def test_help_says_that_words_are_fine(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    assert "a column holds numbers, or words (categories)" in " ".join(capsys.readouterr().out.split())


NAMES = ["bmi [/kg]", "age [years]", "[bold]", "[/]", ":smile:", "[link=x]y[/link]", "\\[a]"]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_printed_as_they_are(name, capsys) -> None:
    table = new_table(name, name, left=(name,))
    table.add_row(name)
    plain_console().print(table)
    plain_console().print(name)
    assert capsys.readouterr().out.count(name) == 4
    with progress_module.progress_bar(name) as progress:
        progress(0.5, name)
    assert name in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_printed_as_they_are(name, capsys) -> None:
    finding = Finding(name, name, Ruling.TRUE, Ruling.TRUE, "proof", name, 0.0)
    table = claims.to_rich([finding])
    assert isinstance(table, Table)
    plain_console().print(table, width=300)
    assert capsys.readouterr().out.count(name) == 3


def test_a_price_list_may_have_another_encoding_than_the_table(tmp_path, capsys):
    table = "Hämoglobin;Größe;krank\n" + "".join(f"{13 + row % 3};{170 + row};{row % 2}\n" for row in range(20))
    (tmp_path / "table.csv").write_bytes(table.encode("cp1252"))
    for encoding in ("utf-8", "cp1252"):
        (tmp_path / "prices.csv").write_bytes("Test;Preis\nHämoglobin;3,20 €\nGröße;0,50 €\n".encode(encoding))
        files = ["--csv", str(tmp_path / "table.csv"), "--prices", str(tmp_path / "prices.csv")]
        code = main(["fit", *files, "--target", "krank", "--encoding", "cp1252", "--dry-run"])
        said = capsys.readouterr()
        assert code == 0, said.err
        assert ["Hämoglobin", "3.2"] in [line.split() for line in said.out.splitlines()]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_class_costs_may_have_another_encoding_than_the_table(tmp_path, capsys, encoding) -> None:
    (tmp_path / "t.csv").write_bytes(("a,y\n" + "1,fällig\n2,bezahlt\n3,bezahlt\n" * 8).encode("cp1252"))
    (tmp_path / "costs.csv").write_bytes(";bezahlt;fällig\nfällig;2,5;0\nbezahlt;0;1\n".encode(encoding))
    files = ["--csv", tmp_path / "t.csv", "--class-costs", tmp_path / "costs.csv", "--out", tmp_path]
    options = ["--target", "y", "--encoding", "cp1252", "--budget", "1", "--trees", "2"]
    assert main(["fit", *map(str, files), *options]) == 0
    assert "costs.csv: bezahlt read as numbers with a decimal comma\n" in capsys.readouterr().err
    expected = {"fällig": {"fällig": 0, "bezahlt": 2.5}, "bezahlt": {"fällig": 1, "bezahlt": 0}}
    assert load_model(tmp_path / "model.skops").class_costs == expected


@pytest.mark.parametrize("identifier", [[], ["--drop", "case id"]])
def test_rows_that_stand_twice_with_their_identifiers_are_told(tmp_path, capsys, identifier):
    rows = [f"{1000 + 7 * row},{row % 3},{row % 2}" for row in range(40)]
    for twice, told in (
        (3, "3 rows repeat others in all columns, 'case id' too"),
        (1, "1 row repeats another"),
        (0, ""),
    ):
        (tmp_path / "table.csv").write_text("\n".join(["case id,fever,ill", *rows, *rows[:twice]]) + "\n")
        files = ["--csv", str(tmp_path / "table.csv"), "--target", "ill"]
        assert main(["fit", *files, *identifier, "--dry-run"]) == 0
        said = capsys.readouterr().err
        assert told in said
        assert ("repeat" in said) == (twice > 0)


def test_a_column_beyond_the_budget_is_left_out_and_the_forest_of_all_compared_with(tmp_path, capsys) -> None:
    rng = np.random.default_rng(0)
    known, scan = rng.normal(size=(2, 300)).round(3)
    wrong = scan + 0.3 * known > 0
    rows = "".join(f"{a},{b},{y}\n" for a, b, y in zip(known, scan, wrong, strict=True))
    (tmp_path / "t.csv").write_text("known,scan,y\n" + rows)
    (tmp_path / "p.csv").write_text("known,1\nscan,100\n")
    options = ["fit", "--csv", str(tmp_path / "t.csv"), "--target", "y", "--prices", str(tmp_path / "p.csv")]
    assert main([*options, "--budget", "30", "--trees", "20", "--out", str(tmp_path)]) == 0
    said = json.loads((tmp_path / "report.json").read_text())
    assert said["left_out"] == ["scan"]
    assert said["cost_unpruned"] > 100
    assert said["error_unpruned"] < 0.1 < 0.3 < said["error"]
    printed = capsys.readouterr().out
    assert "Left out, as one example alone pays more than the budget: scan." in printed
    assert "Not bought" not in printed
    assert "--estimator BudgetedClassifier" in printed
    assert main([*options, "--budget", "150", "--trees", "20", "--out", str(tmp_path)]) == 0
    assert "left_out" not in json.loads((tmp_path / "report.json").read_text())
    capsys.readouterr()
    assert main([*options, "--budget", "0.5", "--trees", "5", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "--estimator" not in out
    assert "the cheapest feature that is not free costs 1\n" in err


def test_a_column_that_no_held_out_row_buys_is_not_said_to_be_dispensable(tmp_path, capsys) -> None:
    rng = np.random.default_rng(0)
    rare = np.arange(200) % 25 == 0
    a, b = rng.integers(0, 2, (2, 200))
    y = np.where(rare, b, a)
    table = pd.DataFrame(
        {"kind": np.where(rare, "rare", "usual"), "usually": a, "rarely": b * rare, "constant": 1, "y": y}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--csv", tmp_path / "t.csv", "--target", "y", "--test-share", "0.05", "--out", tmp_path]
    assert main(["fit", *map(str, options), "--trees", "1", "--seed", "1", "--budget", "2.5"]) == 0
    told = "Not bought within the budget: constant.\nFor none of these rows, but perhaps for others: rarely.\n"
    assert told in capsys.readouterr().out
    assert json.loads((tmp_path / "report.json").read_text())["wanted"] == ["kind", "usually", "rarely"]
    for absent, code in (("constant", 0), ("rarely", 2)):
        table.drop(columns=absent).to_csv(tmp_path / "new.csv", index=False)
        assert main(["predict", "--model", str(tmp_path), "--csv", str(tmp_path / "new.csv")]) == code


def test_unknown_words_are_told_column_by_column_and_words_with_commas_apart(tmp_path, capsys) -> None:
    names = [f"colour {letter}" for letter in "hfdbgeca"]
    words = np.random.default_rng(0).choice(["grey", "grey, green"], (60, len(names)))
    table = pd.DataFrame(words, columns=names).assign(y=words[:, 0] == "grey")
    table.to_csv(tmp_path / "t.csv", index=False)
    files = ["--csv", str(tmp_path / "t.csv"), "--out", str(tmp_path / "model")]
    assert main(["fit", *files, "--target", "y", "--budget", "9", "--trees", "2"]) == 0
    table.replace("grey", "green, grey").to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    assert main(["predict", "--model", str(tmp_path / "model"), "--csv", str(tmp_path / "new.csv")]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert [note.split(", column ")[1].split(":")[0] for note in notes] == names
    assert all("such as 'green, grey' in" in note and "knows grey, 'grey, green'" in note for note in notes)
