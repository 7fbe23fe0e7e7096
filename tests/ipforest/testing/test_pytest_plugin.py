"""The plugin of pytest: checks as tests, from the command line alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from formulations import FORMULATIONS
from ipforest.cli import main
from ipforest.solvers import BUDGET_SOLVERS, SOLVERS
from ipforest.testing.subjects import find_formulation, find_solver, registered_solver

MINE = """
import formulations
from ipforest import register_solver, solve

print("what a file prints is no answer")


def gives_nothing(instance, lam):
    return None


def takes_nothing():
    return None


def as_min_cut(instance, lam):
    return solve(instance, lam)


@register_solver("two-words", exact=True)
def two_words(instance, lam):
    print("nor is what a solver prints")
    return solve(instance, lam).pruning


@register_solver("thrifty", takes="budget")
def spends_nothing(instance, budget):
    return instance.roots_only


@formulations.register("two-words", integral=True)
def two_words_model(instance, lam):
    print("nor a formulation")
    return formulations.build("closure", instance, lam)
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """Write the file, and take out again what running it registers."""
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    before = [(registry, set(registry)) for registry in (SOLVERS, BUDGET_SOLVERS, FORMULATIONS)]
    yield path
    for registry, names in before:
        for name in set(registry) - names:
            registry.remove(name)


@pytest.mark.parametrize(
    "text", ["def half(:", "raise OSError('gone')", "import nothing_of_that_name", "raise SystemExit(0)"]
)
def test_files_that_do_not_run_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(text)
    with pytest.raises(
        ValueError, match=r"odd\.py: expected a file that runs, got ((Syntax|OS|ModuleNotFound)Error|SystemExit): "
    ):
        find_formulation(f"{path}:half")


def test_subjects_are_found_by_name_or_in_a_file(file: Path) -> None:
    assert find_formulation("ip3").name == "ip3"
    for text in ("table.csv:ip3", "mine.py"):
        with pytest.raises(ValueError, match=f"{text}: expected the name of one that is known, or FILE.py:NAME"):
            find_formulation(text)
    assert find_solver("min-cut") == "min-cut"
    assert find_solver(f"{file}:gives_nothing").__name__ == "gives_nothing"
    with pytest.raises(ValueError, match=r"mine\.py: expected .* define 'other', got nothing of that name"):
        find_solver(f"{file}:other")
    with pytest.raises(FileNotFoundError):
        find_solver("none.py:other")


@pytest.mark.parametrize("name", ["two_words", "two-words"])
def test_what_a_file_registers_is_found_with_its_promises_by_either_name(file: Path, name: str) -> None:
    assert find_solver(f"{file}:{name}") is SOLVERS["two-words"]
    assert find_formulation(f"{file}:{name.replace('_words', '_words_model')}").integral


def test_a_solver_that_a_file_defines_gets_its_name(file: Path) -> None:
    assert registered_solver("min-cut") == "min-cut"
    assert registered_solver(f"{file}:two_words") == "two-words"
    for _ in range(2):
        assert registered_solver(f"{file}:as_min_cut") == "as_min_cut" in SOLVERS


def test_a_file_is_run_once_until_it_is_edited(tmp_path: Path, capsys) -> None:
    """A solver that is a lambda was refused on the second run, as its name was taken: by itself."""
    file = tmp_path / "short.py"
    file.write_text(
        "from ipforest import register_solver, solve\nprint('run')\n"
        "short = register_solver('short-lambda')(lambda instance, lam: solve(instance, lam))\n"
        "other = lambda instance, lam: solve(instance, lam)\n"
    )
    assert registered_solver(f"{file}:short") == registered_solver(f"{file}:short-lambda") == "short-lambda"
    assert find_solver(f"{file}:other") is find_solver(f"{file}:other")
    assert capsys.readouterr().err == "run\n"
    SOLVERS.remove("short-lambda")
    file.write_text("other = print\n")
    assert find_solver(f"{file}:other") is print


def test_the_command_crosscheck_takes_a_solver_of_a_file(file: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(file.parent)
    wanted = ["crosscheck", "--json", "--instances", "1", "--methods", "min-cut"]
    assert main([*wanted, f"{file}:two_words"]) == 0
    assert {each["method"] for each in json.loads(capsys.readouterr().out)["tallies"]} >= {"min-cut", "two-words"}
    assert main([*wanted, f"{file}:gives_nothing"]) == 1
    said = json.loads(capsys.readouterr().out)
    (problem,) = said["disagreement"]["answers"][-1]["problems"]
    assert "gives_nothing: expected a Pruning, " in problem
    assert said["saved"] == "disagreement.json"


def test_the_commands_take_a_formulation_of_a_file(file: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(file.parent)
    wanted = ["crosscheck", "--json", "--instances", "1", "--methods", "min-cut", f"{file}:two_words_model"]
    assert main([*wanted, f"{file}:two_words"]) == 0
    assert {each["method"] for each in json.loads(capsys.readouterr().out)["tallies"]} >= {"pyomo-two-words"}
    assert main(["atlas", "--json", "--problems", "1", f"{file}:two_words_model"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)["entries"]] == ["two-words"]
    with pytest.raises(ValueError, match=r"mine\.py:two_words_model: expected a solver, got a formulation"):
        registered_solver(f"{file}:two_words_model")
    with pytest.raises(ValueError, match=r"mine\.py:thrifty: expected a solver at one lambda, got one within a budget"):
        registered_solver(f"{file}:thrifty")


@pytest.mark.slow
def test_each_check_is_a_test(file: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "ipforest.testing.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    options = ["--check-solver", f"{file}:gives_nothing", "--check-solver", f"{file}:as_min_cut"]
    done = subprocess.run([*command, *options], cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    failed = {line for line in done.stdout.splitlines() if line.startswith("FAILED")}
    assert any("gives_nothing-" in line for line in failed)
    assert not any("as_min_cut-" in line for line in failed)
    for kind, subject in (("formulation", f"{file}:other"), ("solver", "none"), ("solver", f"{file}:takes_nothing")):
        wrong = [*command, f"--check-{kind}", subject]
        refused = subprocess.run(wrong, cwd=file.parent, capture_output=True, text=True, check=False)
        assert refused.returncode == pytest.ExitCode.USAGE_ERROR
        assert f"--check-{kind}: " in refused.stderr


ESTIMATORS = """
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetPrune, EarlyExit
from ipforest.stopping import ThresholdStopping


class FreeTests(EarlyExit):
    def cost(self, X):
        return 0 * super().cost(X)


free = FreeTests(RandomForestClassifier(5))
needs_trees = BudgetPrune
forest = RandomForestClassifier()
sure = ThresholdStopping
"""


@pytest.mark.slow
def test_each_check_of_an_estimator_is_a_test(tmp_path: Path) -> None:
    (tmp_path / "trees.py").write_text(ESTIMATORS)
    command = [sys.executable, "-m", "pytest", "-p", "ipforest.testing.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    wanted = [*command, "--check-estimator", "trees.py:free", "--check-rule", "trees.py:sure"]
    done = subprocess.run(wanted, cwd=tmp_path, capture_output=True, text=True, check=False)
    failed = [line.partition(" - ")[0] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    assert "FAILED ipforest::free-pays_for_what_is_bought" in failed
    assert len(failed) < 5, "the others hold: also copies, which are pickled with their class"
    assert not any("sure" in line for line in failed)
    for kind, name, said in (
        ("estimator", "needs_trees", "required positional argument: 'estimator'"),
        ("estimator", "none", "expected it to register or define 'none', got nothing of that name"),
        (
            "estimator",
            "forest",
            "expected one that derives from ipforest.estimator.BudgetedEstimator, got RandomForest",
        ),
        ("rule", "command", "expected it to register or define 'command'"),
    ):
        wrong = [*command, f"--check-{kind}", f"trees.py:{name}"]
        refused = subprocess.run(wrong, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert refused.returncode == pytest.ExitCode.USAGE_ERROR
        assert said in refused.stderr
