"""The command line: what it prints, writes and exits with."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction

import joblib
import numpy as np
import pytest
from interrupted_searches import ONE_CUT_A_CALL
from pandas import Categorical, DataFrame
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor

from ipforest import (
    BudgetedClassifier,
    BudgetForest,
    BudgetResult,
    FeatureCosts,
    Forest,
    ForestSearch,
    PruningInstance,
    PruningResult,
)
from ipforest import path_search as path_module
from ipforest._internal import progress as progress_module
from ipforest.cli import COMMANDS, main
from ipforest.cli import prune as prune_command
from ipforest.solvers import tree_dp
from ipforest.tabular.model_files import load_model, save_model
from proofs.claims import table as claims
from proofs.claims.claim import Finding, Ruling


@pytest.fixture
def ipforest(monkeypatch, capsys):
    """Run the command on a terminal of 120 columns; return its exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments):
        capsys.readouterr()
        code = main([*map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def assert_bad_input(code, stderr, *parts):
    """Exit code 2 and one line on standard error that holds the parts."""
    assert code == 2, stderr
    lines = [line for line in stderr.splitlines() if line.startswith("ipforest: error:")]
    assert len(lines) == 1, stderr
    for part in parts:
        assert part in lines[0]


def read_csv(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def own_forest(tmp_path_factory):
    """A user's own files: a fitted forest, examples and a price list."""
    folder = tmp_path_factory.mktemp("own")
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X[::2], y[::2])
    joblib.dump(model, folder / "model.joblib")
    joblib.dump(GradientBoostingClassifier(n_estimators=2).fit(X, y), folder / "boosting.joblib")
    joblib.dump(RandomForestClassifier(), folder / "unfitted.joblib")
    header = "sepal length,sepal width,petal length,petal width"
    np.savetxt(folder / "examples.csv", X[1::2], delimiter=",", header=header, comments="")
    np.savetxt(folder / "narrow.csv", X[1::2, :3], delimiter=",", header="a,b,c", comments="")
    np.save(folder / "empty.npy", X[:0])
    prices = "feature,cost\npetal width,4\nsepal length,1\npetal length,3.5\nsepal width,2\n"
    (folder / "prices.csv").write_text(prices)
    (folder / "negative.csv").write_text(prices.replace(",1", ",-2"))
    (folder / "nan.csv").write_text(prices.replace(",1", ",nan"))
    (folder / "short.csv").write_text(prices[: prices.index("petal length")])
    (folder / "truncated.joblib").write_bytes((folder / "model.joblib").read_bytes()[:500])
    return folder


def own(folder, examples="examples.csv", prices="prices.csv", model="model.joblib"):
    files = ("--model", folder / model, "--examples", folder / examples, "--prices", folder / prices)
    return (*files, "--allow-pickle")


@pytest.mark.slow
def test_demo_prints_the_table_and_writes_the_curve(ipforest, tmp_path):
    code, printed, errors = ipforest(
        "demo", "--data", "iris", "--trees", 5, "--budget", "1.5", "--out", tmp_path / "out"
    )
    assert code == 0, errors
    for heading in ("lambda", "in-bag error", "validation cost", "test error", "test cost", "internal nodes", "gap"):
        assert heading in printed
    assert "Budget 1.5 features" in printed
    assert "in place of" in printed
    assert (tmp_path / "out" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    rows = read_csv(tmp_path / "out" / "tradeoff.csv")
    assert [row["forest"] for row in rows[-2:]] == ["within budget", "unpruned"]
    assert float(rows[-2]["validation_cost"]) <= 1.5
    assert len({row["lambda"] for row in rows[:-2]}) == len(rows) - 2
    stored = json.loads((tmp_path / "out" / "tradeoff.json").read_text())
    assert [str(record["internal_nodes"]) for record in stored["prunings"]] == [row["internal_nodes"] for row in rows]
    assert all(float(row["gap"]) < 1e-6 for row in rows)


@pytest.mark.slow
def test_demo_as_json_is_deterministic(ipforest):
    command = ("demo", "--data", "iris", "--trees", "3", "--seed", "4", "--json", "--lambdas", "0.01", "1/10")
    without_pyomo = f"import sys, ipforest.cli; sys.exit(ipforest.cli.main({command}) or 'pyomo' in sys.modules)"
    _, here, _ = ipforest(*command)
    process = subprocess.run([sys.executable, "-c", without_pyomo], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert json.loads(here) == json.loads(process.stdout)
    assert [point["lambda_exact"] for point in json.loads(here)["prunings"]] == ["1/100", "1/10", "", ""]


def test_prune_writes_a_forest_and_a_certificate_that_verifies(ipforest, own_forest, tmp_path):
    code, printed, errors = ipforest("prune", *own(own_forest), "--budget", "4", "--out", tmp_path)
    assert code == 0, errors
    pruned = load_model(tmp_path / "pruned.skops")
    X, _ = load_iris(return_X_y=True)
    result = BudgetResult.from_json((tmp_path / "result.json").read_text())
    whole = Forest.from_sklearn(joblib.load(own_forest / "model.joblib"))
    assert np.array_equal(whole.prune(result.pruning).predict_proba(X), pruned.predict_proba(X))
    assert result.cost <= 4
    code, verdict, _ = ipforest("verify", tmp_path / "path.cert", "--result", tmp_path / "result.json")
    assert code == 0
    proved = re.search(r"within 4 (no pruning has a lower error than [\d.]+)", verdict).group(1)
    assert f"path.cert proves that within the budget {proved}" in printed
    assert "more than is proved here" in verdict
    assert f"raised that bound to {float(result.bound):.6g}, and leaves no certificate" in printed
    code, printed, _ = ipforest("verify", tmp_path / "path.cert", "--instance", tmp_path / "instance.npz")
    assert code == 0
    assert printed.startswith("accepted: ")
    damaged = bytearray((tmp_path / "path.cert").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.cert").write_bytes(damaged)
    code, printed, _ = ipforest("verify", tmp_path / "damaged.cert")
    assert code == 1
    assert printed.startswith("refused: ")


def test_a_large_certificate_is_written_only_when_asked_for(own_forest, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(prune_command, "LARGE", 10)
    command = ["prune", *map(str, own(own_forest)), "--budget", "4", "--out", str(tmp_path)]
    assert main(command) == 0
    assert "The certificate of so large a problem is written with --certificate." in capsys.readouterr().out
    assert not list(tmp_path.glob("*.cert"))
    assert main([*command, "--certificate"]) == 0
    assert (tmp_path / "path.cert").exists()


def test_a_narrow_terminal_loses_no_digits(own_forest, monkeypatch, capsys):
    cells = []
    for width in ("200", "24"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["path", *map(str, own(own_forest))]) == 0
        table = capsys.readouterr().out.partition("Optimal")[2]
        assert "…" not in table
        cells.append(sorted(character for character in table if character.isdigit()))
    assert cells[0] == cells[1]


def test_prune_at_one_lambda_as_json(ipforest, own_forest, tmp_path):
    code, printed, errors = ipforest("prune", *own(own_forest), "--lam", "0.01", "--json", "--out", tmp_path)
    assert code == 0, errors
    assert json.loads(printed)["lam"] == "1/100"
    assert PruningResult.from_json((tmp_path / "result.json").read_text()).lam == Fraction(1, 100)
    _, printed, _ = ipforest("verify", tmp_path / "optimality.cert")
    assert printed.startswith("accepted: objective")


@pytest.mark.parametrize("search", ["path", "greedy", "exact"])
def test_every_search_keeps_the_budget_and_says_its_gap(own_forest, capsys, search):
    assert main(["prune", *map(str, own(own_forest)), "--budget", "4", "--search", search, "--json"]) == 0
    result = BudgetResult.from_json(capsys.readouterr().out)
    assert result.cost <= 4
    assert result.bound <= result.error
    assert result.method == {"path": "path", "greedy": "greedy", "exact": "mip"}[search]


def test_a_cap_per_example_is_held(own_forest, capsys, monkeypatch):
    command = ["prune", *map(str, own(own_forest)), "--budget", "6", "--json"]
    costs = []
    for cap in ("20", "4"):
        assert main([*command, "--max-cost", cap]) == 0
        costs.append(BudgetResult.from_json(capsys.readouterr().out).cost)
    assert costs[1] <= 4 < costs[0] <= 6
    assert main([*command, "--max-cost", "4", "--search", "path"]) == 2
    assert "--max-cost: expected it with --budget and --search greedy or exact" in capsys.readouterr().err
    monkeypatch.setattr("ipforest.path_search.prune_path", pytest.fail)
    assert main([*command, "--max-cost", "4", "--split-cost", "1"]) == 2
    assert "max_cost: expected none with split costs, got 4" in capsys.readouterr().err


def test_path_prints_and_writes_every_breakpoint(ipforest, own_forest, tmp_path):
    code, printed, errors = ipforest("path", *own(own_forest), "--budget", "3", "--out", tmp_path)
    assert code == 0, errors
    assert "within budget 3" in printed
    rows = read_csv(tmp_path / "path.csv")
    costs = [float(row["cost"]) for row in rows]
    assert costs == sorted(costs, reverse=True)
    assert int(rows[0]["internal_nodes"]) > int(rows[-1]["internal_nodes"])
    assert (tmp_path / "path.png").stat().st_size > 5000
    assert json.loads((tmp_path / "path.json").read_text())["skipped"] == []
    assert main(["verify", str(tmp_path / "path.cert")]) == 0


@pytest.fixture
def interrupted(monkeypatch):
    """An interrupt at the second report of the search, with one cut a report."""

    @contextmanager
    def bar(description, **options):
        reports = []

        def report(share, message):
            reports.append(message)
            if len(reports) == 2 and description != "compiling kernels":
                raise KeyboardInterrupt

        yield report

    monkeypatch.setattr(progress_module, "progress_bar", bar)

    class OneCutAtATime(path_module.PathSearch):
        def __init__(self, *arguments):
            super().__init__(*arguments, small=ONE_CUT_A_CALL)

    monkeypatch.setattr(path_module, "PathSearch", OneCutAtATime)


def test_an_interrupted_path_keeps_what_was_found_without_a_certificate(own_forest, tmp_path, interrupted, capsys):
    assert main(["path", *map(str, own(own_forest)), "--out", str(tmp_path)]) == 130
    assert "interrupted" in capsys.readouterr().out
    assert json.loads((tmp_path / "path.json").read_text())["status"] == "interrupted"
    assert (tmp_path / "path.png").exists()
    assert any(int(row["skipped_after"]) > 0 for row in read_csv(tmp_path / "path.csv"))
    assert not (tmp_path / "path.cert").exists()


HANGS_ONCE_SAVED = """
import signal, sys, time
from ipforest import path_search
from ipforest.cli import COMMANDS, main
from ipforest.cli import prune as prune_command

class Hanging(path_search.PathSearch):
    def __init__(self, *arguments):
        super().__init__(*arguments, small=-1)

    def run_saved(self, file, progress):
        def report(share, message):
            if file.exists() and self.n_found and "open" in message:
                print("saved", file=sys.__stdout__, flush=True)
                time.sleep(100)
        super().run_saved(file, report, every_s=0)

path_search.PathSearch = Hanging
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with interrupts ignored
sys.exit(main(sys.argv[1:]))
"""
"""Cuts one by one, saves the search after each, and waits for a signal once something is found."""


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_path_that_was_stopped_goes_on_when_run_again(ipforest, own_forest, tmp_path, ending):
    command = ["path", *map(str, own(own_forest)), "--out"]
    stopped = subprocess.Popen(
        [sys.executable, "-c", HANGS_ONCE_SAVED, *command, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with stopped:
        assert stopped.stdout.readline() == "saved\n"
        stopped.send_signal(ending)
        _, complaint = stopped.communicate()
    unfinished = tmp_path / "path.unfinished.npz"
    assert unfinished.exists()
    if ending is signal.SIGINT:
        assert stopped.returncode == 130
        assert complaint.endswith(f"ipforest: interrupted; the same command goes on from {unfinished}\n")
        assert json.loads((tmp_path / "path.json").read_text())["status"] == "interrupted"
    code, _, errors = ipforest(*command, tmp_path)
    assert code == 0, errors
    assert f"note: goes on from {unfinished}, where " in errors
    assert not unfinished.exists()
    assert main([*command, str(tmp_path / "whole")]) == 0
    assert (tmp_path / "path.csv").read_text() == (tmp_path / "whole" / "path.csv").read_text()
    assert main(["verify", str(tmp_path / "path.cert")]) == 0


def test_a_path_that_was_stopped_after_its_search_is_not_searched_again(own_forest, tmp_path, monkeypatch, capsys):
    def stopped(path):
        raise KeyboardInterrupt

    command = ["path", *map(str, own(own_forest)), "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr("ipforest.path.PruningPath.to_csv", stopped)
        assert main(command) == 130
    assert main(command) == 0
    assert "note: goes on from" in " ".join(capsys.readouterr().err.split())
    assert main(["verify", str(tmp_path / "path.cert")]) == 0


def test_the_unfinished_path_of_another_problem_is_refused(own_forest, tmp_path, interrupted, capsys):
    command = ["path", *map(str, own(own_forest)), "--out", str(tmp_path)]
    assert main(command) == 130
    assert main([*command, "--loss", "gini"]) == 2
    assert "got: the path of another problem; remove the file to start anew" in capsys.readouterr().err


def test_an_interrupted_path_prunes_nothing(own_forest, tmp_path, interrupted, capsys):
    assert main(["prune", *map(str, own(own_forest)), "--budget", "4", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err.endswith("\nipforest: interrupted\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("--seed", "-1", "expected an integer >= 0, got -1"),
        ("--seed", "4294967296", "expected an integer below 4294967296, got 4294967296"),
        ("--trees", "x", "expected an integer >= 1, got x"),
        ("--trees", "0", "expected an integer >= 1, got 0"),
        ("--time-limit", "nan", "expected a finite number"),
        ("--time-limit", "-1", "expected a number >= 0, got '-1'"),
    ],
)
def test_numbers_of_options_are_checked_first(option, text, expected, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["demo", f"{option}={text}"])
    assert ended.value.code == 2
    assert f"argument {option}: " in (said := capsys.readouterr().err)
    assert expected in said


@pytest.mark.parametrize("name", ["lp1", "ip0"])
def test_demo_takes_programs_at_a_lambda(name, capsys):
    assert main(["demo", "--formulation", name]) == 2
    assert f"--formulation: expected a program that takes lambda, got {name!r}" in capsys.readouterr().err


@pytest.mark.slow
def test_crosscheck_agrees(ipforest):
    code, printed, errors = ipforest("crosscheck", "--instances", 8, "--seed", 3, "--json")
    assert code == 0, errors
    assert json.loads(printed)["agree"]


def test_crosscheck_saves_a_disagreement_for_replay(tmp_path, monkeypatch, capsys):
    right = tree_dp.solve_tree_dp

    def boastful(instance, lam):
        result = right(instance, lam)
        return replace(result, objective=result.objective - 1, bound=result.bound - 1)

    monkeypatch.setattr(tree_dp, "solve_tree_dp", boastful)
    assert main(["crosscheck", "--instances", "5", "--out", str(tmp_path)]) == 1
    assert "tree-dp" in capsys.readouterr().out
    saved = tmp_path / "disagreement.json"
    assert main(["crosscheck", "--replay", str(saved)]) == 1
    monkeypatch.undo()
    assert main(["crosscheck", "--replay", str(saved)]) == 0


def test_prove_exits_with_1_when_a_verdict_is_not_the_stated_one(monkeypatch, tmp_path, capsys):
    finding = Finding("a claim", "somewhere", Ruling.FALSE, Ruling.TRUE, "proved", "evidence", 0.0)
    monkeypatch.setattr(claims, "prove", lambda seed, progress: [finding])
    assert main(["prove", "--out", str(tmp_path)]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert "a claim" in (tmp_path / "claims.md").read_text()


def test_versions(ipforest):
    code, printed, _ = ipforest("versions", "--json")
    assert code == 0
    assert json.loads(printed)["highspy"] != "not installed"
    assert "min-cut" in json.loads(printed)["solvers"]


@pytest.mark.parametrize(
    ("files", "goal", "parts"),
    [
        ({"prices": "nan.csv"}, ("--lam", 1), ["nan.csv, line 3, cost: expected a finite number", "'nan'"]),
        ({"prices": "negative.csv"}, ("--lam", 1), ["line 3, cost: expected a number >= 0, got '-2'"]),
        ({"prices": "short.csv"}, ("--lam", 1), ["expected a price for each feature, got none for 'sepal width'"]),
        ({"model": "boosting.joblib"}, ("--lam", 1), ["averages trees", "GradientBoostingClassifier"]),
        ({"model": "unfitted.joblib"}, ("--lam", 1), ["not fitted"]),
        ({"model": "truncated.joblib"}, ("--lam", 1), ["expected a complete file written by joblib.dump"]),
        ({"examples": "narrow.csv"}, ("--lam", 1), ["expected 4 columns as in training, got 3"]),
        ({"examples": "empty.npy"}, ("--lam", 1), ["expected at least one example, got none"]),
        ({"examples": "absent.csv"}, ("--lam", 1), ["absent.csv"]),
        ({}, ("--lam", -1), ["lam: expected a number >= 0, got '-1'"]),
        ({}, ("--budget", -1), ["budget: expected a number >= 0, got '-1'"]),
        ({}, ("--budget", "many"), ["budget: expected a finite number", "'many'"]),
        ({}, ("--budget", "2,5"), ["budget: expected a finite number", "write 2.5, with a decimal point"]),
    ],
)
def test_bad_input_is_one_line_that_says_what_was_expected(own_forest, capsys, files, goal, parts):
    code = main(["prune", *map(str, own(own_forest, **files)), f"{goal[0]}={goal[1]}"])
    assert_bad_input(code, capsys.readouterr().err, *parts)


def test_unknown_data_and_missing_folder(ipforest, monkeypatch):
    monkeypatch.setenv("IPFOREST_DATA", "")
    code, _, errors = ipforest("demo", "--data", "sonar")
    assert_bad_input(code, errors, "IPFOREST_DATA", "'sonar'")


@pytest.mark.parametrize("arguments", [["demo", "--trees", "0"], ["nonsense"], ["prune"], []])
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert "usage: ipforest" in errors
    assert errors.rstrip().endswith(" --help")


@pytest.mark.parametrize(
    ("arguments", "option"), [(["fit", "--target", "-1e3"], "--target"), (["report", "--csv", "-t"], "--data")]
)
def test_a_value_that_begins_with_a_hyphen_is_taken_for_an_option_and_told_so(arguments, option, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert f"a value that begins with a hyphen, such as -x, is given as {option}=-x; see" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits_a_terminal(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "--json" in told
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize("library", ["argparse", "numpy"])
def test_an_interrupt_while_a_library_is_imported_is_told_in_a_line(library):
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {library!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from ipforest.cli import main\n"
        "sys.exit(main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ipforest: interrupted\n")


def test_the_package_loads_its_public_names_when_one_is_asked_for_and_neither_pyomo_nor_highs():
    code = (
        "import sys, ipforest\n"
        "assert 'numpy' not in sys.modules, 'importing the package alone loads numpy'\n"
        "names = dir(ipforest)\n"
        "assert {'BudgetPrune', 'solve', 'datasets'} <= set(names) and ipforest.__version__\n"
        "from ipforest import *\n"
        "assert solve is ipforest.solve and ipforest.ensemble.read\n"
        "assert set(ipforest.__all__) <= set(names)\n"
        "try:\n"
        "    ipforest.nothing\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
        "assert not {'pyomo', 'highspy', 'dask'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("module 'ipforest' has no attribute 'nothing'\n", "")


@pytest.mark.slow
def test_a_missing_solver_is_named(own_forest):
    code = (
        "import sys; sys.modules['highspy'] = None\n"
        "from ipforest import PruningInstance, solve\n"
        f"instance = PruningInstance.load({str(own_forest / 'instance.npz')!r})\n"
        "try:\n    solve(instance, 1, method='highs-lp')\n"
        "except ImportError as problem:\n    print(problem)\n"
    )
    forest = Forest.from_sklearn(joblib.load(own_forest / "model.joblib"))
    X, _ = load_iris(return_X_y=True)
    PruningInstance.from_forest(forest, X, FeatureCosts.uniform(4)).save(own_forest / "instance.npz")
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "expected highspy to be installed for 'highs-lp'" in process.stdout
    assert "pip install highspy" in process.stdout
    assert "min-cut" in process.stdout


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """A table with an id, text, missing cells and a target, and prices in another order."""
    folder = tmp_path_factory.mktemp("ward")
    rng = np.random.default_rng(5)
    age, dose, colour = (
        rng.integers(20, 80, 400),
        rng.normal(size=400).round(3),
        rng.choice(["red", "green", "blue"], 400),
    )
    sick = np.where((age > 50) ^ (colour == "red"), "yes", "no")
    rows = enumerate(zip(age, dose, colour, sick, strict=True))
    lines = [f"{i},{a},{d if i % 9 else ''},{c},{s}" for i, (a, d, c, s) in rows]
    (folder / "ward.csv").write_text("\n".join(["id,age,dose,colour,sick", *lines]) + "\n")
    (folder / "prices.csv").write_text("feature,cost\ncolour,3\ndose,2\nage,1\n")
    columns = [f"{d if i % 9 else ''},{c},{a}" for i, (a, d, c) in enumerate(zip(age, dose, colour, strict=True))]
    (folder / "new.csv").write_text("\n".join(["dose,colour,age", *columns[:40]]) + "\n")
    assert main([*fit_arguments(folder), "--budget", "4", "--out", str(folder / "model")]) == 0
    return folder


def fit_arguments(folder, table="ward.csv", prices="prices.csv"):
    files = ["--csv", str(folder / table), "--prices", str(folder / prices)]
    return ["fit", *files, "--target", "sick", "--drop", "id", "--trees", "10"]


def test_from_a_table_to_predictions(ward, capsys) -> None:
    report = json.loads((ward / "model" / "report.json").read_text())
    assert {line["name"] for line in report["bought"]} == {"age", "dose", "colour"}
    assert sum(line["paid"] for line in report["bought"]) == pytest.approx(report["cost"])
    assert report["error"] < 0.2
    assert main(["predict", "--model", str(ward / "model"), "--csv", str(ward / "new.csv"), "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    truth = [row["sick"] for row in read_csv(ward / "ward.csv")[:40]]
    assert np.mean([answer["prediction"] == sick for answer, sick in zip(answers, truth, strict=True)]) > 0.9
    assert {answer["cost"] for answer in answers} <= {0, 1, 2, 3, 4, 5, 6}


@pytest.mark.slow
def test_what_errs_least_within_a_budget_is_trained_from_a_table(ward, tmp_path, monkeypatch, capsys) -> None:
    small = BudgetForest(5, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0))
    monkeypatch.setattr(BudgetedClassifier, "_chosen_from", property(lambda model: [small]))
    arguments = [argument for argument in fit_arguments(ward) if argument not in ("--trees", "10")]
    chosen = ["--estimator", "BudgetedClassifier", "--budget", "4", "--out", str(tmp_path / "model")]
    assert main([*arguments, *chosen]) == 0
    assert "(budget 4; without a budget " in capsys.readouterr().out
    report = json.loads((tmp_path / "model" / "report.json").read_text())
    assert report["cost"] < 4.5
    assert report["error"] < 0.2
    assert main(["predict", "--model", str(tmp_path / "model"), "--csv", str(ward / "new.csv"), "--json"]) == 0
    assert {answer["cost"] for answer in json.loads(capsys.readouterr().out)} <= {0, 1, 2, 3, 4, 5, 6}


def test_the_unpruned_forest_has_no_cap(ward, tmp_path) -> None:
    capped = [*fit_arguments(ward), "--budget", "4", "--max-cost", "4", "--out", str(tmp_path / "model")]
    assert main(capped) == 0
    report, uncapped = (json.loads((folder / "model" / "report.json").read_text()) for folder in (tmp_path, ward))
    assert report["cost"] <= 4
    for figure in ("cost_unpruned", "error_unpruned"):
        assert report[figure] == uncapped[figure]


def test_options_given_twice_add_up(ward, tmp_path) -> None:
    arguments = [*fit_arguments(ward), "--drop", "dose", "--budget", "4", "--out", str(tmp_path / "model")]
    arguments[4] = str(tmp_path / "prices.csv")
    (tmp_path / "prices.csv").write_text("feature,cost\ncolour,3\nage,1\n")
    assert main(arguments) == 0
    report = json.loads((tmp_path / "model" / "report.json").read_text())
    assert {line["name"] for line in report["bought"]} == {"age", "colour"}


def test_the_best_breakpoint_within_a_budget_is_in_the_json_of_the_path(own_forest, capsys) -> None:
    assert main(["path", *map(str, own(own_forest)), "--budget", "3", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    within = [pruning for pruning in record["prunings"] if Fraction(pruning["cost"]) <= 3]
    best = BudgetResult.from_json(json.dumps(record["within_budget"]))
    assert float(best.error) == min(float(pruning["error"]) for pruning in within)


def test_every_mark_of_a_missing_word_is_the_same_and_unknown_words_are_told(ward, capsys, tmp_path) -> None:
    answers = []
    long = f"{'rather ' * 8}..."
    for word in ("", "NA", "?", "purple", "rather " * 90):
        (tmp_path / "new.csv").write_text(f"dose,colour,age\n1,{word},60\n1,red,60\n")
        files = ["--csv", str(tmp_path / "new.csv"), "--out", str(tmp_path / "out.csv")]
        assert main(["predict", "--model", str(ward / "model"), *files, "--json"]) == 0
        out, err = capsys.readouterr()
        answers.append(json.loads(out))
        assert [float(row["cost"]) for row in read_csv(tmp_path / "out.csv")] == [row["cost"] for row in answers[-1]]
        told = "column colour: 1 of 2 rows have words that the model does not know, such as 'purple' in line 2"
        assert (told in err) == (word == "purple")
        assert (f"not know, such as '{long}' in line 2;" in err) == word.startswith("rather")
    assert answers[0] == answers[1] == answers[2]


def test_categories_of_a_model_from_python_are_read(tmp_path, capsys, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    table = DataFrame({"kind": Categorical(rng.choice([10, 20, 30], 200)), "size": rng.random(200)})
    model = BudgetForest(3, search=ForestSearch(n_lambdas=1, n_prunings=1, n_lookahead=0), random_state=0)
    model.fit(table, np.where(table["kind"] == 20, "yes", "no"))
    save_model(model, tmp_path / "model.skops")
    table.to_csv(tmp_path / "table.csv", index=False)
    arguments = ["--model", str(tmp_path / "model.skops")]
    assert main(["predict", *arguments, "--csv", str(tmp_path / "table.csv"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [answer["prediction"] for answer in json.loads(out)] == model.predict(table).tolist()
    monkeypatch.setattr("sys.stdin", io.StringIO("20\n0.5\n"))
    assert main(["session", *arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "yes"


def test_models_without_prices_are_refused(own_forest, capsys) -> None:
    for command in ("predict", "session"):
        arguments = [command, "--model", str(own_forest / "model.joblib"), "--allow-pickle"]
        code = main([*arguments, "--csv", "absent.csv"] if command == "predict" else arguments)
        assert_bad_input(code, capsys.readouterr().err, "expected a model with prices", "got RandomForestClassifier")


def test_a_model_folder_that_is_not_there_is_said_to_be_missing(tmp_path, capsys) -> None:
    for command in (["predict", "--csv", "absent.csv"], ["session"]):
        code = main([*command, "--model", str(tmp_path / "absent")])
        assert_bad_input(
            code, capsys.readouterr().err, "--model: expected a folder", f"nothing at {tmp_path / 'absent'}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("words", [False, True])
def test_regression_within_a_budget_that_the_best_column_exceeds(words, tmp_path, capsys) -> None:
    rng = np.random.default_rng(0)
    table = DataFrame({"scan": rng.random(200), "cheap": rng.random(200)})
    if words:
        table["kind"] = rng.choice(["a", "b"], 200)
    table["dose"] = 10 * table["scan"] + 3 * table["cheap"]
    table["cheap"] += 0.7 * table["scan"]
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "prices.csv").write_text("feature,cost\nscan,100\ncheap,1\n" + ("kind,1\n" if words else ""))
    arguments = ["fit", "--csv", str(tmp_path / "table.csv"), "--target", "dose", "--regression", "--json"]
    arguments += ["--prices", str(tmp_path / "prices.csv"), "--out", str(tmp_path / "out"), "--trees", "20"]
    assert main([*arguments, "--budget", "5"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert "nothing is bought" not in err
    assert report["error"] < 0.6
    assert 0 < report["cost"] <= 2
    assert main([*arguments, "--budget", "0.5"]) == 0
    assert "note: budget: nothing is bought within 0.5" in capsys.readouterr().err


def test_one_row_held_out_measures_no_regression(tmp_path, capsys) -> None:
    (tmp_path / "table.csv").write_text("age,dose\n" + "".join(f"{i},{i % 3}\n" for i in range(12)))
    arguments = ["fit", "--csv", str(tmp_path / "table.csv"), "--target", "dose", "--budget", "1", "--regression"]
    code = main([*arguments, "--test-share", "0.05", "--out", str(tmp_path / "out")])
    expected = "--test-share: expected at least 2 rows held out, got 1 of 12 by a share of 0.05"
    assert_bad_input(code, capsys.readouterr().err, expected)


@pytest.mark.parametrize(("share", "told"), [("0.25", "held out, got 1 of 4"), ("0.75", "to train on, got 1 of 4")])
def test_parts_have_a_row_of_each_class(tmp_path, capsys, share, told) -> None:
    (tmp_path / "table.csv").write_text("age,ill\n1,yes\n2,no\n3,yes\n4,no\n")
    arguments = ["fit", "--csv", str(tmp_path / "table.csv"), "--target", "ill", "--budget", "1"]
    code = main([*arguments, "--test-share", share, "--out", str(tmp_path / "out")])
    expected = f"--test-share: expected at least 2 rows, one of each class, {told} by a share of {share}"
    assert_bad_input(code, capsys.readouterr().err.splitlines()[-1] + "\n", expected)


def test_predictions_go_by_name(ward, capsys, tmp_path) -> None:
    table = read_csv(ward / "new.csv")
    reordered = "\n".join(["more,age,dose,colour", *(f"x,{row['age']},{row['dose']},{row['colour']}" for row in table)])
    (tmp_path / "reordered.csv").write_text(reordered + "\n")
    for file in (ward / "new.csv", tmp_path / "reordered.csv"):
        assert (
            main(["predict", "--model", str(ward / "model"), "--csv", str(file), "--out", str(tmp_path / "out.csv")])
            == 0
        )
        assert "Wrote 40 predictions" in capsys.readouterr().out
        answers = read_csv(tmp_path / "out.csv")
        (tmp_path / "first.csv").exists() or (tmp_path / "out.csv").rename(tmp_path / "first.csv")
    assert answers == read_csv(tmp_path / "first.csv")


@pytest.mark.parametrize(
    ("file", "text", "parts"),
    [
        ("new.csv", "dose,color,age\n1,red,2\n", ["got none for 'colour'; the closest is 'color'"]),
        ("new.csv", "dose,colour,age\nmuch,red,2\n", ["column dose, line 2: expected a finite number", "'much'"]),
    ],
)
def test_tables_that_do_not_fit_the_model_are_refused(ward, capsys, tmp_path, file, text, parts) -> None:
    (tmp_path / file).write_text(text)
    code = main(["predict", "--model", str(ward / "model"), "--csv", str(tmp_path / file)])
    assert_bad_input(code, capsys.readouterr().err, *parts)


@pytest.mark.parametrize(
    ("old", "new", "options", "parts"),
    [
        ("\n0,", "\n0,x", [], ["column age, line 2: expected a finite number", "'x"]),
        ("", "", ["--target", "sck"], ["--target: expected a column of ", "got 'sck'; the closest is 'sick'"]),
        ("", "", ["--drop", "agee"], ["--drop: expected a column of ", "got 'agee'; the closest is 'age'"]),
        ("", "", ["--budget", "1e400"], ["budget: expected a number up to 1.8e+308, got '1e400'"]),
        ("", "", ["--budget", "-1"], ["budget: expected a number >= 0"]),
        ("", "", ["--test-share", "2"], ["--test-share: expected a share between 0 and 1, got 2"]),
        (
            *("", "", ["--estimator", "BudgetedClassifier"]),
            ["--trees: expected it with --estimator BudgetPrune only, got BudgetedClassifier"],
        ),
    ],
)
def test_bad_tables_and_options_of_fit_are_refused(ward, capsys, tmp_path, old, new, options, parts) -> None:
    (tmp_path / "ward.csv").write_text(
        (ward / "ward.csv").read_text().replace(old, new, 1) if old else (ward / "ward.csv").read_text()
    )
    arguments = fit_arguments(ward)
    arguments[2] = str(tmp_path / "ward.csv")
    code = main([*arguments, "--budget", "4", "--out", str(tmp_path / "out"), *options])
    assert_bad_input(code, capsys.readouterr().err, *parts)
    assert not (tmp_path / "out").exists()


def test_a_separator_that_is_not_recognised_is_asked_for(tmp_path, capsys) -> None:
    (tmp_path / "ward.csv").write_text("age|sick\n1|no\n2|yes\n")
    code = main(["fit", "--csv", str(tmp_path / "ward.csv"), "--target", "sick", "--dry-run"])
    assert_bad_input(code, capsys.readouterr().err, "got 'sick'; its lines have one cell each: say what", "(--sep)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age,sick\n", "expected a row below the names of the columns, got none"),
        ("age,sick\n1,no\n2,no\n", "column sick: expected at least two classes, got 'no' in all 2 rows"),
        (
            "age,sick\n1,no\n2,no\n3,yes\n",
            "column sick: expected at least two rows of each class, got one of 'yes' (line 4); leave out its row",
        ),
        (
            "age,sick\n1,no\n2,no\n3,1\n4,?!\n5,0\n",
            "least two rows of each class, got one of '1' (line 4) and of 2 others; leave out such rows, or merge",
        ),
    ],
)
def test_tables_that_cannot_be_learnt_from_are_refused(tmp_path, capsys, text, expected) -> None:
    (tmp_path / "table.csv").write_text(text)
    arguments = ["fit", "--csv", tmp_path / "table.csv", "--target", "sick", "--budget", "1", "--out", tmp_path / "out"]
    assert_bad_input(main([*map(str, arguments)]), capsys.readouterr().err, "table.csv", expected)


def test_files_that_cannot_be_opened_are_named(own_forest, tmp_path, capsys) -> None:
    (tmp_path / "file").write_text("")
    for folder, expected in (
        (tmp_path / "file", "--out: expected a folder, got the file"),
        ("/proc/no", "/proc/no: No"),
    ):
        code = main(["path", *map(str, own(own_forest)), "--out", str(folder)])
        assert_bad_input(code, capsys.readouterr().err, expected)
    assert main(["predict", "--model", str(tmp_path), "--csv", "absent.csv"]) == 2
    assert "[Errno" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.skops", "model.joblib", "model.pkl", "path.csv"])
@pytest.mark.parametrize(
    "command", ["fit --csv t.csv --target y", "bench", "crosscheck", "frontier", "reproduce", "path"]
)
def test_a_folder_is_not_named_as_a_file(tmp_path, capsys, command, name) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--out", str(tmp_path / name)])
    assert ended.value.code == 2
    assert f"{name}, the name of a file; leave out" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_an_interrupt_while_commands_are_imported_is_told_in_a_line(monkeypatch, capsys) -> None:
    def stopped(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("ipforest.cli.import_module", stopped)
    assert main(["versions"]) == 130
    assert capsys.readouterr().err == "ipforest: interrupted\n"


def test_an_interrupt_that_python_makes_another_error_of_is_an_interrupt(monkeypatch, capsys) -> None:
    class Wrapper:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    monkeypatch.setattr("ipforest.cli.import_module", lambda name: type("Imported", (), {"wrapper": Wrapper()}))
    assert main(["versions"]) == 130
    assert capsys.readouterr().err == "ipforest: interrupted\n"


@pytest.mark.skipif(sys.platform == "win32", reason="on Windows os.kill ends the process at once")
def test_a_command_that_is_asked_to_end_ends_in_order(monkeypatch, capsys) -> None:
    monkeypatch.setattr("ipforest.cli.import_module", lambda name: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["versions"]) == 143
    assert capsys.readouterr().err == "ipforest: terminated\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def drop_an_interrupt(options):
    """Do as compiled code does that calls Python and raises an error of its own for any that comes back."""
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    raise ValueError("Invalid affine transformation matrix")


def test_an_interrupt_that_compiled_code_drops_is_an_interrupt(monkeypatch, capsys) -> None:
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr("ipforest.cli.versions.run", drop_an_interrupt)
        assert main(["versions"]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
    assert capsys.readouterr().err == "ipforest: interrupted; Invalid affine transformation matrix\n"


def test_python_ends_with_the_code_of_an_interrupt_within_exec(tmp_path) -> None:
    code = "import sys, ipforest.cli as cli\ncli.import_module = lambda name: exec('raise KeyboardInterrupt')\n"
    (tmp_path / "interrupted.py").write_text(f"{code}sys.exit(cli.main(['versions']))")
    done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"ipforest: interrupted\n")


def test_a_skops_file_with_foreign_types_is_refused(tmp_path) -> None:
    from skops import io

    from ipforest.tabular.model_files import load_model

    (tmp_path / "model.skops").write_bytes(io.dumps(subprocess.Popen))
    with pytest.raises(ValueError, match=r"model\.skops: .* subprocess\.Popen, a type that is neither"):
        load_model(tmp_path / "model.skops")


def test_examples_and_prices_go_by_name(own_forest, tmp_path, capsys) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
    joblib.dump(RandomForestClassifier(5, random_state=0).fit(X[::2], y[::2]), tmp_path / "model.joblib")
    results = []
    for columns in (X.columns, X.columns[::-1]):
        X[1::2][columns].to_csv(tmp_path / "examples.csv", index=False)
        files = ["--model", tmp_path / "model.joblib", "--examples", tmp_path / "examples.csv", "--allow-pickle"]
        assert (
            main([*map(str, ["prune", *files, "--prices", own_forest / "prices.csv", "--lam", "0.01", "--json"])]) == 0
        )
        captured = capsys.readouterr()
        assert captured.err == ""
        results.append({key: value for key, value in json.loads(captured.out).items() if key != "runtime_s"})
    assert results[0] == results[1]
    without_names = list(map(str, ["prune", *own(own_forest), "--lam", "0.01", "--json"]))
    assert main(without_names) == 0
    assert "note: columns of" in capsys.readouterr().err


def test_a_closed_pipe_ends_a_command_without_a_message(monkeypatch, capsys):
    """As `ipforest versions | head -0` does."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        assert main(["versions"]) == 141
    monkeypatch.undo()
    assert capsys.readouterr().err == ""


def test_large_squared_errors_fit_into_the_table_of_a_path(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    X = np.random.default_rng(0).normal(size=(60, 3))
    forest = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, 1e7 * X.sum(axis=1))
    save_model(forest, tmp_path / "forest.skops")
    np.save(tmp_path / "X.npy", X)
    files = ["--model", str(tmp_path / "forest.skops"), "--examples", str(tmp_path / "X.npy")]
    assert main(["path", *files]) == 0
    rows = [
        line.split()
        for line in capsys.readouterr().out.rpartition("internal nodes")[2].splitlines()[2:]
        if line.strip()
    ]
    assert rows
    assert all(len(row) == 5 and float(row[2]) > 1e6 for row in rows)
