import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ipforest import BudgetedPipeline, BudgetPrune
from ipforest.cli import main
from ipforest.tabular.model_files import save_model


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fit a model of a table in which a word and two numbers tell the target."""
    folder = tmp_path_factory.mktemp("ward")
    rng = np.random.default_rng(0)
    word, age, blood = rng.choice(["mild", "strong", "none"], 240), rng.integers(20, 90, 240), rng.random(240)
    sick = (word == "strong") & (blood > 0.5) | (age > 80)
    table = pd.DataFrame({"pain": word, "age": age, "blood": blood, "outcome": np.where(sick, "sick", "well")})
    table.to_csv(folder / "table.csv", index=False)
    (folder / "prices.csv").write_text("feature,cost\npain,1\nage,0\nblood,7.5\n")
    fit = ["fit", "--csv", str(folder / "table.csv"), "--target", "outcome", "--prices", str(folder / "prices.csv")]
    assert main([*fit, "--budget", "9", "--trees", "5", "--out", str(folder / "model")]) == 0
    return folder


def hold(monkeypatch: pytest.MonkeyPatch, typed: str, *options: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return main(["session", *options])


def test_it_asks_until_it_answers(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = Prompted({"pain": "strong", "age": "50", "blood": "0.9"}, capsys)
    monkeypatch.setattr("sys.stdin", typed)
    assert main(["session", "--model", str(ward / "model")]) == 0
    printed = typed.printed + capsys.readouterr().out
    assert "Answer: sick" in printed
    assert "blood costs 7.50: tree" in printed
    assert "Paid 8.50:" in printed


def test_a_closed_standard_input_ends_it_as_an_empty_one_does(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["session", "--model", str(ward / "model"), "--known", "age=50"]) == 0
    assert "So far: " in capsys.readouterr().out


class Prompted(io.StringIO):
    """A user who types the value that is asked for."""

    def __init__(self, values: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__()
        self._values, self._capsys, self.printed = values, capsys, ""

    def readline(self, size: int = -1, /) -> str:
        self.printed += self._capsys.readouterr().out
        asked = self.printed.rsplit(" = ", 1)[0].rsplit("\n", 1)[-1].removesuffix(" = ").split(" = ")[-1]
        return self._values[asked] + "\n"


def test_it_goes_on_another_day(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    saved = str(tmp_path / "session.json")
    model = ["--model", str(ward / "model")]
    assert hold(monkeypatch, "quit\n", *model, "--known", "age=50", "--save", saved) == 0
    assert "So far: " in capsys.readouterr().out
    assert json.loads(Path(saved).read_text())["known"] == [["age", 50.0]]
    assert hold(monkeypatch, "?\n\n", *model, "--resume", saved, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert {name for name, _ in record["bought"]} <= {"pain=mild", "pain=none", "pain=strong", "blood"}
    assert record["answer"] == record["guess"]
    assert sum(record["probabilities"].values()) == pytest.approx(1)
    assert record["paid"] == 0
    assert record["not_charged"] == [0, 1]
    assert [line["values"] for line in record["ledger"]] == [{"pain": None}, {"blood": None}]
    assert hold(monkeypatch, "NA\nnan\n", *model, "--resume", saved, "--json") == 0
    assert json.loads(capsys.readouterr().out)["paid"] == 8.5


def test_what_cannot_be_read_is_asked_again(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ["--known", "pain=strong", "--known", "age=50"]
    assert hold(monkeypatch, "x\n" * 3, "--model", str(ward / "model"), *known) == 0
    assert "blood: expected a number, got 'x'" in capsys.readouterr().err
    assert hold(monkeypatch, "0,9\n", "--model", str(ward / "model"), *known) == 0
    assert "blood: expected a number, got '0,9'; write 0.9, with a decimal point" in capsys.readouterr().err
    assert hold(monkeypatch, "dull\n" * 3, "--model", str(ward / "model"), "--known", "age=50", "blood=0.9") == 0
    assert "pain: expected one of mild, none, strong, or ? for none, got 'dull'" in capsys.readouterr().err


def test_features_of_one_purchase_are_asked_for_by_name(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prices = "feature,cost,group,cost_in_group\nage,1,,\nblood,5,visit,0\npain,5,visit,0\n"
    (tmp_path / "prices.csv").write_text(prices)
    files = ["--csv", str(ward / "table.csv"), "--prices", str(tmp_path / "prices.csv"), "--out", str(tmp_path)]
    assert main(["fit", *files, "--target", "outcome", "--budget", "9", "--trees", "5"]) == 0
    capsys.readouterr()
    answers = []
    for typed in ("strong 0.9", "'strong', 0.9"):
        model = ["--model", str(tmp_path), "--known", "age=50"]
        assert hold(monkeypatch, f"0.9\nit's strong 0.9\n{typed}\n", *model) == 0
        out, err = capsys.readouterr()
        assert "pain, blood = " in out
        assert 'pain, blood: expected 2 values with blanks between them, such as 4 "two words", got 1' in err
        assert 'such as 4 "two words", got 3' in err
        assert "      5.00  pain, blood: " in out
        answers.append(out.rsplit(" = ", 1)[1].splitlines()[0])
    assert answers[0] == answers[1]
    assert answers[0].startswith("Answer: sick")
    assert hold(monkeypatch, "?\n", "--model", str(tmp_path), "--known", "age=50") == 0
    assert "Answer: " in capsys.readouterr().out


def test_it_says_what_to_order_in_a_round(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("feature,cost,delayed\nage,1,no\nblood,5,yes\npain,2,yes\n")
    files = ["--csv", str(ward / "table.csv"), "--prices", str(tmp_path / "prices.csv"), "--out", str(tmp_path)]
    assert main(["fit", *files, "--target", "outcome", "--budget", "9", "--trees", "5"]) == 0
    capsys.readouterr()
    saved, model = str(tmp_path / "session.json"), ["--model", str(tmp_path)]
    assert hold(monkeypatch, "strong\nquit\n", *model, "--known", "age=50", "--save", saved) == 0
    out = capsys.readouterr().out
    assert out.count("Round 1: order now pain, blood; 7.00 in all. Type the results when they are in, or quit.") == 1
    assert "  2.00  pain: " in out
    assert hold(monkeypatch, "0.9\n", *model, "--resume", saved) == 0
    out = capsys.readouterr().out
    assert "Round 1: order now blood; 5.00 in all." in out
    assert "Answer: sick" in out
    assert out.count("(round 1)") == 2
    assert hold(monkeypatch, "0.9\n", *model, "--resume", saved, "--json") == 0
    ledger = json.loads(capsys.readouterr().out)["ledger"]
    assert [(line["round"], line["in_vain"]) for line in ledger] == [(1, False)] * 2
    assert hold(monkeypatch, "", *model, "--known", "age=50", "--max-rounds", "0") == 0
    assert "Paid 0.00:" in capsys.readouterr().out


def test_what_was_bought_is_saved_when_interrupted(ward: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Interrupted(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            if line := super().readline(size):
                return line
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted("strong\n"))
    saved = tmp_path / "session.json"
    assert main(["session", "--model", str(ward / "model"), "--known", "blood=0.9", "--save", str(saved)]) == 130
    assert len(json.loads(saved.read_text())["bought"]) == 1


def test_a_file_that_is_no_session_is_named(ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.json").write_text("patient,age")
    assert main(["session", "--model", str(ward / "model"), "--resume", str(tmp_path / "s.json")]) == 2
    expected = f"ipforest: error: {tmp_path}/s.json: expected what Session.to_json wrote, got: text that is damaged"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--resume", "s.json", "--known", "age=50"], "--resume: expected no --known and no --max-cost with it"),
        (["--resume", "s.json", "--max-cost", "5"], "--resume: expected no --known and no --max-cost with it"),
        (["--save", "/no/such/folder/s.json"], "--save: expected a file in a folder that exists, got /no/such"),
    ],
)
def test_options_that_would_be_of_no_effect_are_refused(
    ward: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["session", "--model", str(ward / "model"), *options]) == 2
    assert expected in capsys.readouterr().err


def test_unknown_columns_are_refused(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hold(monkeypatch, "", "--model", str(ward / "model"), "--known", "weight=80") == 2
    assert "--known: expected NAME=VALUE with one of pain, age, blood, got 'weight=80'" in capsys.readouterr().err


def test_the_words_are_listed_and_reasons_speak_of_them(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hold(monkeypatch, "strong\n", "--model", str(ward / "model"), "--known", "age=50", "blood=0.9") == 0
    out = capsys.readouterr().out
    assert "asks whether pain is " in out
    assert "\n  one of mild, none, strong\npain = " in out


def test_a_group_tells_its_fee(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "prices.csv").write_text("feature,cost,group,cost_in_group\nage,6,visit,1\nblood,7,visit,2\npain,1,,\n")
    files = ["--csv", str(ward / "table.csv"), "--prices", str(tmp_path / "prices.csv"), "--out", str(tmp_path)]
    assert main(["fit", *files, "--target", "outcome", "--budget", "9", "--trees", "5"]) == 0
    capsys.readouterr()
    assert hold(monkeypatch, "strong\n0.9\n50\n", "--model", str(tmp_path), "--known", "pain=strong") == 0
    assert ", 5.00 of it the fee of its group: " in capsys.readouterr().out


@pytest.mark.slow
def test_a_cap_in_a_terminal_leaves_the_cheaper_columns(ward: Path) -> None:
    """As a process: blood costs 7.5, which does not fit; pain and age are still asked for and paid."""
    command = [sys.executable, "-m", "ipforest.cli", "session", "--model", str(ward / "model"), "--max-cost", "3"]
    ended = subprocess.run(
        [*command, "--json"], input="strong\n85\n", capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert ended.returncode == 0, ended.stderr
    record = json.loads(ended.stdout)
    assert {"pain": "strong"} in [line["values"] for line in record["ledger"]]
    assert record["max_cost"] == "3"
    assert "blood" not in {name for name, _ in record["bought"]}
    assert record["paid"] == 1
    assert record["answer"] in ("sick", "well")
    assert "pain = " in ended.stderr
    assert "blood" not in ended.stderr


def test_labels_that_are_integers_are_written_as_json(tmp_path, monkeypatch, capsys) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    save_model(BudgetPrune(RandomForestClassifier(3, random_state=0), budget=1).fit(X, y), tmp_path / "m.skops")
    assert hold(monkeypatch, "1\n1\n1\n1\n", "--model", str(tmp_path / "m.skops"), "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["answer"] in (0, 1, 2)
    assert record["guess"] == record["answer"]


def test_what_is_known_goes_by_name_and_is_told_once(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ["--model", str(ward / "model"), "--json"]
    assert hold(monkeypatch, "quit\n", *model, "--known", "Age =50") == 0
    assert json.loads(capsys.readouterr().out)["known"] == [["age", 50.0]]
    assert hold(monkeypatch, "", *model, "--known", "age=50", "--known", "age=60") == 2
    assert "--known: expected one value of age, got another in 'age=60'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["words by number", "gaps filled", "a scikit-learn pipeline"])
def test_other_preparations_are_asked_for_in_words_too(ward: Path, tmp_path, monkeypatch, capsys, kind) -> None:
    table = pd.read_csv(ward / "table.csv", keep_default_na=False).astype({"pain": object})
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    encoder = OneHotEncoder() if kind == "gaps filled" else OrdinalEncoder(**unknown)
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), encoder) if kind == "gaps filled" else encoder
    preparation = make_column_transformer((words, ["pain"]), (SimpleImputer(), ["age", "blood"]), sparse_threshold=0)
    forest = RandomForestClassifier(5, random_state=0)
    costs = {"pain": 1, "age": 0, "blood": 7.5}
    model = BudgetedPipeline(preparation, BudgetPrune(forest, budget=9, random_state=0), feature_costs=costs)
    model.fit(table.drop(columns="outcome"), table["outcome"])
    whole = model.as_pipeline() if kind == "a scikit-learn pipeline" else model
    save_model(whole, tmp_path / "model.joblib")
    options = ["--model", str(tmp_path / "model.joblib"), "--allow-pickle", "--known", "age=50"]
    typed = Prompted({"pain": "strong", "blood": "0.9"}, capsys)
    monkeypatch.setattr("sys.stdin", typed)
    assert main(["session", *options]) == 0
    printed = typed.printed + capsys.readouterr().out
    assert "  one of mild, none, strong\npain = " in printed
    assert "Answer: sick" in printed
    assert "Paid 8.50:" in printed
    assert hold(monkeypatch, "0.9\nstrong\n0.9\n", *options, "--json") == 0
    ledger = json.loads(capsys.readouterr().out)["ledger"]
    assert {"pain": "strong"} in [line["values"] for line in ledger]
    assert main(["predict", *options[:3], "--csv", str(ward / "table.csv")]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert predicted["prediction"].tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("kind", ["ours", "gaps by single columns", "gaps by all columns", "one step"])
def test_commands_take_every_preparation(tmp_path, monkeypatch, capsys, kind) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    buyer = BudgetPrune(RandomForestClassifier(3, random_state=0), budget=1, random_state=0)
    model = {
        "ours": BudgetedPipeline(SimpleImputer(), buyer),
        "gaps by single columns": make_pipeline(SimpleImputer(), buyer),
        "gaps by all columns": make_pipeline(KNNImputer(), buyer),
        "one step": make_pipeline(buyer),
    }[kind].fit(X, y)
    save_model(model, tmp_path / "m.joblib")
    X.assign(y=y).to_csv(tmp_path / "iris.csv", index=False)
    options = ["--model", str(tmp_path / "m.joblib"), "--allow-pickle"]
    assert main(["predict", *options, "--csv", str(tmp_path / "iris.csv")]) == 0
    predicted = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert predicted["prediction"].tolist() == model.predict(X).tolist()
    assert main(["rules", *options, "--csv", str(tmp_path / "iris.csv"), "--target", "y", "--tree"]) == 0
    is_asked = kind != "gaps by all columns"
    assert hold(monkeypatch, "1\n" * 4, *options) == (0 if is_asked else 2)
    out, err = capsys.readouterr()
    assert "Answer: " in out if is_asked else "expected each column to be computed from one feature" in err
