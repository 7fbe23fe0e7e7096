"""The frontier: what is chosen is chosen on validation, every method has options, finished cells are not run again."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from ipforest import BudgetForest, FeatureCosts, ForestSearch, datasets
from ipforest.cli import main
from ipforest.experiments import frontier, frontier_summary
from ipforest.experiments.experiment import reproduce
from ipforest.experiments.frontier import ABLATIONS, frontier_experiment
from ipforest.experiments.frontier_summary import ALL, COMPOSED
from ipforest.experiments.methods import METHODS, OF_NUMBERS, OURS, available
from ipforest.experiments.options import Answer, Option, choose, least_error_in_hindsight, mix
from ipforest.experiments.parts import half_and_quarters
from ipforest.experiments.tasks import Task
from ipforest.frontiers.joint_frontier import JointFrontier

OF_FRONT_ENDS = {"BudgetedClassifier, mixed", "BudgetedRegressor, mixed"}


def record(method: str, seed: int, budget: float, validation: float, error: float) -> dict[str, Any]:
    measured = {"validation_cost": budget / 2, "validation_error": validation, "cost": budget, "error": error}
    measured |= {"auc": 1 - error, "log_loss": 2 * error, "hindsight_error": error / 2}
    mixed = {f"mixed_{name}": None if name in frontier.UNMIXED else value for name, value in measured.items()}
    return {"data": "d", "method": method, "seed": seed, "budget": budget, "seconds": 2.0, **measured, **mixed}


def test_the_least_validation_error_within_the_budget_is_taken() -> None:
    options = [Option(0, 0.5, 0, 0.1), Option(1, 0.3, 9, 0.4), Option(2, 0.2, 2, 0.3), Option(2.5, 0.2, 1, 0.0)]
    assert [options.index(choose(options, budget)) for budget in (0, 1, 2, 9)] == [0, 1, 2, 2]


def test_the_best_are_chosen_on_validation_and_compared_seed_by_seed() -> None:
    records = [
        record(method, seed, budget, validation, error)
        for seed in (0, 1)
        for budget in (1.0, 2.0)
        for method, validation, error in (
            ("CEGB lazy", 0.2 + seed / 10, 0.30),
            ("BudgetRF", 0.25, 0.20),
            ("BudgetBoost", 0.1, 0.10 + seed / 10),
        )
    ]
    rows = {(row["method"], row["budget"]): row for row in frontier_summary.summarise(records)}
    assert rows["best of others", "area"]["error"] == pytest.approx((30 + 20) / 2)
    assert rows["best of ours", "area"]["error"] == pytest.approx(15)
    assert rows["BudgetBoost", "area"]["difference"] == pytest.approx(-10)
    assert rows["BudgetBoost", "area"]["difference_se"] == pytest.approx(10)
    assert rows["BudgetBoost", 1.0]["error_se"] == pytest.approx(5)
    assert rows["BudgetBoost", "area"]["rank"] == pytest.approx(1.25)
    assert rows["CEGB lazy", 2.0]["rank"] == 3
    figure = frontier_summary.draw(records, list(rows.values()))
    drawn = {container.get_label(): container.lines[0] for container in figure.axes[0].containers}
    references = [drawn[name] for name in frontier_summary.REFERENCES.values() if name in drawn]
    assert len({line.get_linestyle() for line in references}) == len(references) > 1  # equal ones all show
    assert len(figure.axes) == 1


def test_what_is_chosen_is_compared_with_the_best_in_hindsight_and_by_its_probabilities() -> None:
    records = [
        record("BudgetBoost", seed, budget, 0.1, error)
        for seed, budget, error in ((0, 1.0, 0.1), (0, 2.0, 0.2), (1, 1.0, 0.3), (1, 2.0, 0.4))
    ]
    rows = {row["budget"]: row for row in frontier_summary.summarise(records) if row["method"] == "BudgetBoost"}
    found = [rows[budget][name] for budget in (1.0, 2.0, "area") for name in ("auc", "log_loss", "regret")]
    assert found == pytest.approx([0.8, 0.4, 10, 0.7, 0.6, 15, 0.75, 0.5, 12.5])
    mixed = next(row for row in frontier_summary.summarise(records) if row["method"] == "best of ours, mixed")
    assert [mixed[name] for name in ("auc", "log_loss", "regret")] == [None] * 3


def test_the_least_error_in_hindsight_is_that_of_an_option_within_the_budget() -> None:
    options = [Option(0, 0.5, 0, 0.6), Option(2, 0.1, 3, 0.5), Option(4, 0.3, 5, 0.2), Option(9, 0.3, 9, 0.1)]
    assert [least_error_in_hindsight(options, budget) for budget in (0, 3, 4, 8, 10)] == [0.6, 0.5, 0.2, 0.2, 0.1]


def test_a_peer_with_our_stopping_is_on_both_sides_and_peers_may_mix() -> None:
    stopping = record("CEGB early exit", 0, 1.0, 0.1, 0.2) | {"mixed_validation_error": 0.05, "mixed_error": 0.15}
    records = [record("CEGB lazy", 0, 1.0, 0.2, 0.3), stopping, record("BudgetBoost", 0, 1.0, 0.15, 0.1)]
    found = {line["method"]: line for line in frontier_summary.with_composed(records)}
    assert found["best of others"]["error"] == 0.3
    assert found["best of others, stopped"]["error"] == 0.2
    assert found["best of others, stopped or mixed"]["error"] == 0.15
    assert found["best of ours"]["error"] == 0.2
    assert found["best of ours"]["seconds"] == 4.0
    row = next(row for row in frontier_summary.summarise(records) if row["method"] == "BudgetBoost")
    differences = [row[f"{prefix}difference"] for prefix in frontier_summary.REFERENCES]
    assert differences == pytest.approx([-20, -10, -5])


def test_a_loss_counts_at_one_budget_or_at_all_together() -> None:
    """Differences of 4, 5 and 6 points have a standard error of .58: 8.7 of them, and 13.1 are needed for 8 budgets."""
    assert frontier_summary.simultaneous_standard_errors(10**6, 1) == pytest.approx(2, abs=1e-4)
    assert frontier_summary.simultaneous_standard_errors(3, 8) == pytest.approx(13.07, abs=0.01)
    assert frontier_summary.simultaneous_standard_errors(1, 8) is None
    budgets = [float(budget) for budget in range(1, 9)]
    apart = {0: 0.04, 1: 0.05, 2: 0.06}
    records = [
        record(method, seed, budget, 0.2, 0.3 + (apart[seed] if (method, budget) == ("BudgetBoost", 3.0) else 0.0))
        for method in ("CEGB lazy", "BudgetBoost")
        for seed in apart
        for budget in budgets
    ]
    assert list(frontier_summary.losses(frontier_summary.summarise(records), "BudgetBoost").values()) == [8, 1, 0]
    close = [line | {"error": 0.35} if line["error"] > 0.3 else line for line in records]
    close[-3 * 8 + 2]["error"] = 0.3501
    assert list(frontier_summary.losses(frontier_summary.summarise(close), "BudgetBoost").values()) == [8, 1, 1]
    alone = [line for line in records if line["seed"] == 0]
    assert list(frontier_summary.losses(frontier_summary.summarise(alone), "BudgetBoost").values()) == [0, 0, 0]


def test_a_mixture_of_two_options_spends_the_budget() -> None:
    options = [Option(0, 0.5, 0, 0.6), Option(2, 0.4, 3, 0.5), Option(4, 0.1, 5, 0.2), Option(9, 0.3, 9, 0.3)]
    assert [*mix(options, 3).means.values()] == pytest.approx([3, 0.2, 3.75, 0.3])
    assert mix(options, 5) == options[2]
    assert mix(options, 0) == options[0]


def test_of_equal_validation_errors_the_cheapest_is_best_whatever_the_last_bit() -> None:
    costly = record("CEGB lazy", 0, 1.0, 0.1 + 0.2, 0.5) | {"validation_cost": 2.0}
    cheap = record("BudgetRF", 0, 1.0, 0.3, 0.4) | {"validation_cost": 1.0}
    for records in ([costly, cheap], [cheap | {"validation_error": 0.1 + 0.2}, costly | {"validation_error": 0.3}]):
        (best,) = [line for line in frontier_summary.with_composed(records) if line["method"] == "best of others"]
        assert best["error"] == 0.4


def test_areas_and_ranks_are_averaged_over_data_sets() -> None:
    errors = {"CEGB lazy": (0.2, 0.4), "BudgetRF": (0.4, 0.4), "BudgetBoost": (0.1, 0.3), "k best, forest": (0.5, 0.5)}
    records = [
        {**record(method, seed, budget, error[place], error[place]), "data": f"set {place}"}
        for method, error in errors.items()
        for place in (0, 1)
        for seed in (0, 1)
        for budget in (1.0, 2.0)
        if (method, place) != ("k best, forest", 1)
    ]
    only_shared = [line for line in records if line["method"] != "k best, forest"]
    rows = {row["method"]: row for row in frontier_summary.summarise(only_shared) if row["data"] == ALL}
    assert set(rows) == {"CEGB lazy", "BudgetRF", "BudgetBoost", *COMPOSED} - OF_FRONT_ENDS
    best = rows["best of ours"]
    assert [best[name] for name in ("error", "difference")] == pytest.approx([20, -10])
    assert [best[name] for name in ("relative", "relative_se")] == pytest.approx([-37.5, 12.5])
    assert [rows[name]["rank"] for name in errors if name in rows] == pytest.approx([2.25, 2.75, 1])
    assert len(frontier_summary.draw(only_shared, frontier_summary.summarise(only_shared)).axes) == 3
    areas = frontier_summary.areas_by_method(frontier_summary.summarise(records))
    assert all(list(lines) == ["set 0"] for lines in areas.values())
    assert frontier_summary.mean_ranks(frontier_summary.summarise(records)) is None


def test_nothing_is_said_of_differences_to_others_that_were_not_run(tmp_path: Path, capsys: Any) -> None:
    records = [
        {**record("BudgetBoost", seed, budget, 0.2, 0.3), "data": data}
        for data in ("set 0", "set 1")
        for seed in (0, 1)
        for budget in (1.0, 2.0)
    ]
    rows = frontier_summary.summarise(records)
    assert {row["data"] for row in rows} == {"set 0", "set 1", ALL}
    for row in rows:
        assert {value for name, value in row.items() if "difference" in name or "relative" in name} == {None}
    assert frontier_summary.losses(rows, "BudgetBoost")["budgets"] == 0
    assert main(["frontier", "iris", "--methods", "BudgetLinear", "--seeds", "2", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "iris, within budgets: test error" in told
    assert "best of others" not in told


def test_budgets_go_from_two_cheap_units_to_most_of_all() -> None:
    budgets = frontier.budgets_for(FeatureCosts([0, 1, 4, 5], groups=[-1, -1, 0, -1], group_fees=[10]))
    assert budgets[0] == 2
    assert budgets[-1] == 12
    np.testing.assert_allclose(np.diff(np.log(budgets)), np.log(6) / 7, rtol=0.02)


@pytest.mark.slow
def test_a_command_that_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["frontier", "iris", "wine", "--seeds", "2", "--trees", "4", "--out", str(tmp_path)]
    arguments += ["--methods", "k best, forest", "BudgetPrune"]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "best of ours" in told
    assert "mean over data sets: less the best of others, points" in told
    cells = sorted((tmp_path / "cells").iterdir())
    assert len(cells) == 8
    written = [file.stat().st_mtime_ns for file in cells]
    assert main([*arguments, "--json"]) == 0
    assert [file.stat().st_mtime_ns for file in cells] == written
    rows = json.loads(capsys.readouterr().out)["rows"]
    composed = set(COMPOSED) - OF_FRONT_ENDS
    assert {row["method"] for row in rows} == {"k best, forest", "BudgetPrune", *composed}
    with (tmp_path / "frontier.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert (tmp_path / "frontier.png").stat().st_size > 1000


def test_unknown_methods_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frontier", "iris", "--methods", "luck"]) == 2
    assert "methods: expected some of 'CEGB lazy', " in capsys.readouterr().err
    assert set(OURS) <= {*METHODS, *OF_NUMBERS}


def own_table(name: str = "own") -> datasets.Dataset:
    return replace(datasets.load("iris"), name=name)


def test_a_data_set_of_ones_own_is_compared_as_a_named_one(tmp_path: Path) -> None:
    named, own = (
        reproduce(frontier_experiment([data], ["BudgetPrune"], 1, 4), tmp_path).records
        for data in ("iris", own_table())
    )
    told = {"data", "rows", "seconds"}
    assert [{key: line[key] for key in line.keys() - told} for line in own] == [
        {key: line[key] for key in line.keys() - told} for line in named
    ]
    other = replace(own_table(), X=own_table().X + 1)
    cells = [frontier_experiment([data], ["BudgetPrune"]).steps.cells(True, 0) for data in (own_table(), other)]
    assert cells[0] != cells[1]


def test_two_data_sets_of_one_name_are_refused() -> None:
    for data in (["iris", "iris"], [own_table(), own_table()], [own_table("iris")]):
        with pytest.raises(ValueError, match=r"^data_sets: expected a name for each, got 'iris|own' twice"):
            frontier_experiment(data)


def test_the_command_compares_on_a_table_of_words_and_missing_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    lab, sex = rng.normal(size=120), rng.choice(["m", "f"], 120)
    rows = [f"{'' if lab[i] > 2 else lab[i]},{sex[i]},{'ill' if lab[i] > 0 else 'well'}" for i in range(120)]
    table, prices = tmp_path / "ward.csv", tmp_path / "prices.csv"
    table.write_text("\n".join(["lab,sex,outcome", *rows]))
    prices.write_text("feature,cost\nlab,5\nsex,1\n")
    arguments = ["frontier", "--csv", str(table), "--prices", str(prices), "--out", str(tmp_path / "out")]
    assert (
        main([*arguments, "--target", "outcome", "--methods", "cost-complexity", "--seeds", "1", "--trees", "5"]) == 0
    )
    printed = capsys.readouterr().out
    assert "ward, within budgets: test error, %" in printed
    assert "±" not in printed
    assert main(arguments) == 2
    assert "--target: expected the column to predict, with --csv, got none" in capsys.readouterr().err
    assert main(["frontier", "--out", str(tmp_path)]) == 2
    assert "DATA: expected names of data sets, or a table of your own" in capsys.readouterr().err


OF_A_FILE = """
import numpy as np
import pandas as pd
from ipforest.experiments.options import Answer, Option

def always_first(task):
    yield Option.measured(task.parts, lambda X: Answer(np.zeros(len(X), dtype=int), np.ones(len(X))))
"""


def test_a_method_of_a_file_is_compared_and_run_again_when_the_file_changes(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "mine.py"
    file.write_text(OF_A_FILE)
    run = [
        "frontier",
        "iris",
        "--methods",
        f"{file}:always_first",
        "--seeds",
        "1",
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    assert main(run) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["method"] for row in rows} == {"always_first"}
    n_cells = len([*(tmp_path / "out").rglob("*.json")])
    assert main(run) == 0
    assert len([*(tmp_path / "out").rglob("*.json")]) == n_cells
    file.write_text(OF_A_FILE.replace("np.zeros(len(X), dtype=int)", "np.full(len(X), 2)"))
    assert main(run) == 0
    assert len([*(tmp_path / "out").rglob("*.json")]) == n_cells + 1


def test_a_method_that_gives_no_options_is_named() -> None:
    def gives(answer: Any) -> Any:
        def method(task: Any) -> Any:
            return answer(task)

        return frontier_experiment(["iris"], [], n_seeds=1, own_methods={"mine": method})

    def answers(labels: Any, paid: Any) -> Any:
        return lambda task: [Option.measured(task.parts, lambda X: (labels(len(X)), paid(len(X)), None))]

    def outputs(probabilities: Any) -> Any:
        return lambda task: [
            Option.measured(task.parts, lambda X: (np.ones(len(X)), np.ones(len(X)), probabilities(len(X))))
        ]

    def spoils(task: Any) -> Any:
        task.parts.y_test[:] = 0

    for answer, error, message in (
        (lambda task: None, TypeError, "method: expected options, as of Option.measured.*, got NoneType"),
        (lambda task: [3], TypeError, "method: expected options, .*, got int"),
        (answers(np.ones, lambda n: 3.0), ValueError, r"paid: expected shape \(\d+,\), one for each example, got \(\)"),
        (answers(lambda n: np.ones((n, 1)), np.ones), ValueError, r"labels: expected shape .* got \(\d+, 1\)"),
        (answers(np.ones, lambda n: np.full(n, np.nan)), ValueError, "paid: expected finite numbers"),
        (answers(np.ones, lambda n: -np.ones(n)), ValueError, "paid: expected finite numbers >= 0"),
        (answers(lambda n: np.full(n, 7), np.ones), ValueError, "labels: expected classes of the .* 0, 1, 2, got 7$"),
        (answers(lambda n: np.full(n, "1"), np.ones), ValueError, "labels: expected classes of the .*, got '1'$"),
        (
            outputs(np.ones),
            ValueError,
            r"outputs: expected shape \(\d+, 3\), a probability of each class, got \(\d+,\)",
        ),
        (outputs(lambda n: np.ones((n, 3))), ValueError, "outputs: expected probabilities >= 0 whose sum is 1"),
        (spoils, ValueError, "read-only"),
    ):
        steps = gives(answer).steps
        with pytest.raises(error, match=message):
            steps.run(steps.cells(False, 0)[0])
    for name in ("BudgetForest", "best of others"):
        with pytest.raises(ValueError, match=f"own_methods: expected names that no other method has, got '{name}'"):
            frontier_experiment(["iris"], [], own_methods={name: BudgetForest()})


@pytest.mark.slow
def test_estimators_that_choose_themselves_are_not_chosen_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the larger budget it errs more on validation than within the smaller, and is taken all the same."""
    forest = BudgetForest(4, search=ForestSearch(n_lambdas=2, n_prunings=1, n_lookahead=0, nested=False))
    monkeypatch.setitem(frontier.KNOWN, "few trees", forest)
    records = frontier.run({}, {"data": "breast_cancer", "method": "few trees", "trees": 4, "seed": 2})
    parts, costs = frontier.drawn(datasets.load("breast_cancer"), 2)
    model = clone(forest).set_params(feature_costs=costs, random_state=2)
    model.fit(parts.X_train, parts.y_train, parts.X_validation, parts.y_validation)
    for record in records:
        chosen = model.at_budget(record["budget"])
        assert record["error"] == pytest.approx(1 - chosen.score(parts.X_test, parts.y_test))
        assert record["validation_error"] == pytest.approx(1 - chosen.score(parts.X_validation, parts.y_validation))
    assert records[-1]["validation_error"] > records[0]["validation_error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [*METHODS, *(pytest.param(name, marks=pytest.mark.long) for name in ABLATIONS if name not in METHODS)]
)
def test_every_method_has_options(method: str) -> None:
    if not available([method]):
        pytest.skip("needs a library")
    records = frontier_experiment(["iris"], [method]).steps.run(
        {"data": "iris", "method": method, "trees": 4, "seed": 0}
    )
    assert len(records) == 8
    assert all(line["validation_cost"] <= line["budget"] * (1 + 1e-9) for line in records)
    errors = [line["validation_error"] for line in records]
    if not isinstance({**METHODS, **ABLATIONS}[method], JointFrontier):
        assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.6 or method == "cost-complexity"  # which is blind to prices, and buys more than this


def numbers(name: str = "numbers") -> datasets.Dataset:
    """The first feature tells the most of a number, the second one less; five are noise."""
    X = np.random.default_rng(0).normal(size=(160, 7))
    y = 100 + 30 * X[:, 0] + 10 * X[:, 1] ** 2
    return datasets.Dataset(name, X, y, tuple("abcdefg"), (), FeatureCosts([2, 1, 1, 1, 1, 1, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("method", OF_NUMBERS)
def test_every_method_that_predicts_numbers_has_options(method: str) -> None:
    if not available([method]):
        pytest.skip("needs a library")
    steps = frontier_experiment([numbers()], [method], 1, 4).steps
    records = steps.run(steps.cells(False, 0)[0])
    assert len(records) == 8
    assert all(line["validation_cost"] <= line["budget"] * (1 + 1e-9) for line in records)
    assert all(line["auc"] is None and line["log_loss"] is None for line in records)
    assert 0 < records[-1]["error"] < 0.9 or method == "cost-complexity"  # of the variance


def test_a_number_costs_its_squared_error_as_a_share_of_the_variance() -> None:
    def mean_or_first(task: Task) -> Any:
        slope = np.polyfit(task.parts.X_train[:, 0], task.parts.y_train, 1)
        yield Option.measured(task.parts, lambda X: Answer(np.polyval(slope, X[:, 0]), np.full(len(X), 2.0)))

    data = numbers()
    steps = frontier_experiment([data], [], 1, own_methods={"a line": mean_or_first}).steps
    records = steps.run(steps.cells(False, 0)[0])
    parts = half_and_quarters(data.X, data.y, 0)
    predicted = np.polyval(np.polyfit(parts.X_train[:, 0], parts.y_train, 1), parts.X_test[:, 0])
    lost = np.mean((predicted - parts.y_test) ** 2) / parts.y_train.var()
    assert [records[0]["budget"], records[0]["cost"]] == [2, 2]
    assert records[0]["error"] == pytest.approx(lost)
    whole = frontier.drawn(replace(data, y=np.arange(160)), 0)[0]  # numbers, though none has a fraction
    assert whole.is_regression
    assert whole.y_train.std() == pytest.approx(1)
    shifted = replace(data, y=7 - 3 * data.y)
    other = frontier_experiment([shifted], [], 1, own_methods={"a line": mean_or_first}).steps
    assert other.cells(False, 0) != steps.cells(False, 0)
    assert other.run(other.cells(False, 0)[0])[0]["error"] == pytest.approx(lost)


def test_a_table_of_ones_own_that_is_called_letter_is_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)
    steps = frontier_experiment([numbers("letter")], ["k best, forest"], 1, 4).steps
    assert 0 < steps.run(steps.cells(False, 0)[0])[-1]["error"] < 0.9


def test_numbers_are_compared_apart_from_classes_and_by_methods_that_predict_them() -> None:
    with pytest.raises(ValueError, match="got numbers in numbers and classes in iris; compare them apart"):
        frontier_experiment(["iris", numbers()])
    with pytest.raises(ValueError, match=r"methods: expected some of .*'BudgetedRegressor', got 'BudgetRF'"):
        frontier_experiment([numbers()], ["BudgetRF"])
    with pytest.raises(ValueError, match="expected finite numbers to predict, got others"):
        replace(numbers(), y=np.full(160, np.nan))
    with pytest.raises(ValueError, match="data: expected parts of at least 4 examples, got 5, 2, 2"):
        half_and_quarters(np.zeros((10, 1)), np.zeros(10), 0)


def test_the_command_compares_what_predicts_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, table = numbers(), tmp_path / "yield.csv"
    pd.DataFrame(data.X, columns=data.feature_names).assign(target=data.y).to_csv(table, index=False)
    command = ["frontier", "--csv", str(table), "--target", "target", "--out", str(tmp_path / "out"), "--trees", "4"]
    assert main([*command, "--methods", "k best, forest", "BudgetPrune", "--seeds", "1"]) == 0
    told = capsys.readouterr()
    assert "yield, within budgets: squared test error, % of the variance" in told.out
    assert "so a number is predicted; with --no-regression they are classes" in told.err


def test_a_context_says_which_block_matters() -> None:
    data = datasets.load("cube_nm")
    context = np.argmax(data.X[:, :5], axis=1)
    own = data.X[:, 5:].reshape(-1, 5, 10)[np.arange(data.y.size), context]
    bits = own[np.arange(data.y.size)[:, None], data.y[:, None] + np.arange(3)] > 0.5
    np.testing.assert_array_equal(bits @ [1, 2, 4], data.y)
    shares = np.array([np.bincount(data.y[context == k], minlength=8) for k in range(5)]) / 800
    assert np.abs(shares - 1 / 8).max() < 0.06


@pytest.mark.parametrize(
    ("counts", "n_train", "told"),
    [
        ((3, 30), 16, "at least 4 examples of each class, .*, got 3 of class 0$"),
        ((20, 20), 1, "parts of at least 2 examples, one of each class, got 1, 10, 10 to train"),
    ],
)
def test_parts_have_examples_of_each_class(counts, n_train, told):
    y = np.repeat([0, 1], counts)
    with pytest.raises(ValueError, match=rf"^data: expected {told}"):
        half_and_quarters(np.zeros((y.size, 1)), y, 0, most=(n_train, 10, 10))
    for seed in range(20):
        parts = half_and_quarters(np.zeros((34, 1)), np.repeat([0, 1], (4, 30)), seed)
        assert all(np.unique(labels).size == 2 for labels in (parts.y_train, parts.y_validation, parts.y_test))
