"""What mistakes cost: read by name, decided by, chosen by, and minimised together with what is bought."""

from __future__ import annotations

import json
from fractions import Fraction
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ipforest import BoostSearch, BudgetBoost, BudgetedClassifier, BudgetForest, BudgetPrune
from ipforest.choosing.class_costs import price_of_a_mistake, read_class_cost_file, read_class_costs, weighted_labels
from ipforest.cli import main
from ipforest.frontiers.scores import soft_cost
from ipforest.tabular.model_files import load_model, save_model
from proofs.crosschecks.brute_force import prunings

CLASSES = np.array(["ill", "well"])
COSTS = np.array([[0.0, 90.0], [5.0, 1.0]])
X, Y = load_breast_cancer(return_X_y=True)
X, LABELS = X[:, :8], np.where(Y == 1, "well", "ill")
BOOST = {"n_estimators": 12, "search": BoostSearch(n_lambdas=2, n_prunings=1), "random_state": 0}


@pytest.mark.parametrize(
    "given",
    [
        COSTS,
        COSTS.tolist(),
        {"ill": {"well": 90}, "well": {"ill": 5, "well": 1}},
        {"well": {"well": 1, "ill": 5}, "ill": {"ill": 0, "well": 90}},
        pd.DataFrame(COSTS[::-1], index=["well", "ill"], columns=["ill", "well"]),
    ],
)
def test_class_costs_are_read_by_name_or_in_the_order_of_the_classes(given: Any) -> None:
    assert read_class_costs(given, CLASSES).tolist() == COSTS.tolist()


def test_class_costs_of_polars_and_arrow_go_by_their_names() -> None:
    frame = pd.DataFrame(COSTS[::-1, ::-1], columns=["well", "ill"])
    named = frame.assign(true=["well", "ill"])[["true", "ill", "well"]]
    for library, make in (("polars", "from_pandas"), ("pyarrow", "Table.from_pandas")):
        from_pandas = attrgetter(make)(pytest.importorskip(library))
        for table in (frame, named):
            assert read_class_costs(from_pandas(table), CLASSES).tolist() == COSTS.tolist()


def test_numbers_of_classes_match_their_texts() -> None:
    given = {"0": {"1": 2}, "1": {"0": 3}}
    for classes in ([0, 1], [0.0, 1.0], ["0.0", "1.0"]):
        assert read_class_costs(given, np.array(classes)).tolist() == [[0, 2], [3, 0]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.eye(3), r"expected shape \(2, 2\), a row per true class, got \(3, 3\)"),
        (-COSTS, "expected finite numbers >= 0, got other values"),
        (np.full((2, 2), np.inf), "expected finite numbers >= 0, got other values"),
        ("much", "expected a matrix of numbers, got 'much'"),
        ({"ill": 90, "well": 5}, r"expected \{true: \{predicted: cost\}\}, got 90 for 'ill'"),
        ({"ill": {"well": 90}}, "expected what predicting ill costs where well is true, got nothing"),
        ({"ill": {"healthy": 90}}, "expected classes among ill, well, got 'healthy'"),
        (pd.DataFrame(COSTS, index=["ill", "ill"], columns=CLASSES), "expected one row and one column for each class"),
    ],
)
def test_what_is_no_class_cost_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^class_costs: {message}"):
        read_class_costs(given, CLASSES)


def test_files_of_class_costs(tmp_path: Path) -> None:
    table, text = tmp_path / "costs.csv", tmp_path / "costs.json"
    table.write_text("true;ill;well\nwell;5.5;0\nill;0;90\n")
    text.write_text(json.dumps({"ill": {"well": 90}, "well": {"ill": 5.5}}))
    for path in (table, text):
        assert read_class_costs(read_class_cost_file(path), CLASSES).tolist() == [[0, 90], [5.5, 0]]
    text.write_text('{"ill": {"well": 90, "well": 9}}')
    with pytest.raises(ValueError, match=r"costs\.json: .*: expected each class once, got well, well"):
        read_class_cost_file(text)
    for content in (b"", b'{"ill": {"we', b'{"ill\xe9": 1}'):
        text.write_bytes(content)
        with pytest.raises(ValueError, match=r"costs\.json: expected class costs in JSON, got: "):
            read_class_cost_file(text)
    table.write_text("true,ill,well\nill,0,9\nill,5,0\n")
    with pytest.raises(ValueError, match=r"costs\.csv: expected each class once, got ill, ill"):
        read_class_cost_file(table)
    text.write_text("[1]")
    with pytest.raises(ValueError, match="got list"):
        read_class_cost_file(text)
    table.write_text("true\nill\n")
    with pytest.raises(ValueError, match="a column for each predicted, got one"):
        read_class_cost_file(table)


def test_the_loss_of_a_mistake_by_hand() -> None:
    # Expected costs are (4.8, 4.56) and (2.5, 45.5): well, ill. Only the first changes its label if well is less likely
    # or ill is likelier, in 4 of 8 cases.
    outputs = np.array([[0.04, 0.96], [0.5, 0.5]])
    lost = soft_cost(outputs, np.array(["ill", "well"]), CLASSES, 300, COSTS)
    assert lost.tolist() == pytest.approx([0.75 * 90 + 0.25 * 0.5 * 90, 5.0])
    assert price_of_a_mistake(COSTS) == 47.5
    assert price_of_a_mistake(np.zeros((2, 2))) == 1


@pytest.mark.parametrize(
    "estimator", [BudgetBoost(**BOOST), BudgetedClassifier([BudgetBoost(**BOOST)], random_state=0)]
)
def test_the_total_cost_is_minimised_on_the_frontier(estimator: Any) -> None:
    model = estimator.set_params(class_costs=COSTS, scoring="total cost").fit(X, LABELS)
    frontier = model.frontier_
    assert model.choice_ == np.argmin(frontier.cost + 47.5 * frontier.loss)
    guesses = model.predict(X)
    assert (guesses == CLASSES[np.argmin(model.predict_proba(X) @ COSTS, axis=1)]).all()
    mistakes = COSTS[(LABELS == "well").astype(int), (guesses == "well").astype(int)]
    assert model.misclassification_cost(X, LABELS) == pytest.approx(mistakes.mean())
    assert model.total_cost(X, LABELS) == pytest.approx(mistakes.mean() + model.cost(X).mean())
    assert model.measured().mistakes is not None
    assert "least total cost" in model.summary()
    assert model.at_budget(1).cost(X).mean() <= model.cost(X).mean()


@pytest.mark.slow
def test_cheap_mistakes_buy_nothing_and_expensive_ones_buy_more() -> None:
    model = BudgetBoost(**BOOST, scoring="total cost", class_costs=[[0, 0.1], [0.1, 0]]).fit(X, LABELS)
    assert model.cost(X).max() == 0
    spent = [model.cost(X).mean()]
    for price in (10, 1000):
        model = BudgetBoost(**BOOST, scoring="total cost", class_costs=[[0, price], [price, 0]]).fit(X, LABELS)
        spent.append(model.cost(X).mean())
    assert spent[0] < spent[1] <= spent[2]


def test_a_pruning_of_least_total_cost_is_proven() -> None:
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    model = BudgetPrune(forest, lam=1, class_costs=COSTS, random_state=0).fit(X, LABELS)
    assert model.gap_ == 0
    assert model.result_.objective == model.result_.error + model.result_.cost
    assert all(
        model.result_.objective <= error + cost
        for error, cost in zip(model.path_.errors, model.path_.costs, strict=True)
    )


@pytest.mark.slow
def test_a_model_with_class_costs_is_saved(tmp_path: Path) -> None:
    costs = {"ill": {"well": 90}, "well": {"ill": 5}}
    model = BudgetBoost(**BOOST, class_costs=costs, scoring="total cost").fit(X, LABELS)
    loaded = load_model(save_model(model, tmp_path / "m.skops"))
    assert (loaded.predict(X) == model.predict(X)).all()
    framed = BudgetBoost(**BOOST, class_costs=pd.DataFrame(COSTS, CLASSES, CLASSES)).fit(X, LABELS)
    with pytest.raises(TypeError, match=r"^model: expected parts that .* write a .joblib file$"):
        save_model(framed, tmp_path / "framed.skops")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BudgetForest(scoring="money"), "^scoring: expected the name of a scikit-learn scorer .*, got 'money'"),
        (BudgetForest(scoring="total cost"), "^class_costs: expected what mistakes cost, to minimise"),
        (BudgetedClassifier([BudgetBoost(class_costs=COSTS)]), "^class_costs: expected none in BudgetBoost"),
        (BudgetBoost(**BOOST, class_costs=np.eye(3)), r"^class_costs: expected shape \(2, 2\)"),
    ],
)
def test_what_cannot_be_minimised_is_refused(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(8)]).assign(state=LABELS)
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "costs.csv").write_text("true,ill,well\nill,0,90\nwell,5,0\n")
    return tmp_path


def fit(folder: Path, *options: str) -> int:
    files = ["--csv", f"{folder}/table.csv", "--target", "state", "--out", f"{folder}/model", "--trees", "5"]
    return main(["fit", *files, *options])


def test_the_command_minimises_the_total_cost(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fit(table, "--class-costs", f"{table}/costs.csv", "--scoring", "total-cost", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["budget"] is None
    assert report["mistakes"] + report["cost"] < report["mistakes_unpruned"] + report["cost_unpruned"]
    assert fit(table, "--class-costs", f"{table}/costs.csv", "--scoring", "total-cost") == 0
    assert "Mistakes cost" in capsys.readouterr().out
    assert fit(table, "--class-costs", f"{table}/costs.csv", "--budget", "2") == 0
    assert "No pruning within the budget has a training cost of mistakes that is smaller" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scoring", "total-cost"), "--class-costs: expected a file of what mistakes cost"),
        (("--class-costs", "costs.csv"), "--budget: expected what an example may cost"),
        (("--class-costs", "costs.csv", "--scoring", "total-cost", "--budget", "2"), "--budget: expected none with"),
        (("--class-costs", "costs.csv", "--budget", "2", "--regression"), "--class-costs: expected none with"),
    ],
)
def test_options_that_do_not_go_together(
    table: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    assert fit(table, *options) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("true,ill,sick\nill,0,90\nsick,5,0\n", "{file}: expected classes among ill, well, got 'sick'"),
        ("true,ill\nill,0\nwell,5\n", "{file}: expected what predicting well costs where ill is true, got nothing"),
        ("true,predicted,cost\nill,well,90\n", "the first column names true classes, and each other one holds what"),
    ],
)
def test_files_of_class_costs_are_checked_before_training(
    table: Path, capsys: pytest.CaptureFixture[str], written: str, message: str
) -> None:
    file = table / "costs.csv"
    file.write_text(written)
    assert fit(table, "--class-costs", str(file), "--budget", "2") != 0
    said = capsys.readouterr().err
    assert message.format(file=file) in said
    assert "training" not in said


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_weighted_labels_count_what_predictions_cost_up_to_a_constant(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    costs, classes = rng.integers(0, 5, (40, n_classes)), np.array(list("abcd"))[:n_classes]
    rows, labels, weight = weighted_labels(costs, classes)
    assert weight.min() > 0
    apart = [
        weight[labels != classes[predicted][rows]].sum() - costs[np.arange(40), predicted].sum()
        for predicted in rng.integers(0, n_classes, (10, 40))
    ]
    np.testing.assert_allclose(apart, apart[0])
    if n_classes == 2:
        assert np.unique(rows).size == rows.size
        np.testing.assert_array_equal(labels, classes[costs.argmin(axis=1)][rows])


def test_a_pruning_by_weighted_labels_is_the_least_of_tests_and_mistakes_of_the_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 3)).astype(np.float64)
    ill = X[:, :1] + rng.normal(size=(60, 1)) > 1.5
    costs = np.where(ill, [[8, 0]], [[0, 3]]) * rng.integers(1, 4, (60, 1))
    rows, labels, weight = weighted_labels(costs, ["ill", "well"])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    lam = Fraction(len(rows), int(weight.sum()))
    model = BudgetPrune(tree, lam=lam, validation_fraction=None).fit(X[rows], labels, sample_weight=weight)
    names = {"ill": 0, "well": 1}

    def total(forest: Any) -> float:
        predicted = np.array([names[label] for label in forest.predict(X[rows])])
        return float(costs[rows, predicted].mean() + forest.cost(X[rows], model.costs_).mean())

    taken = total(model.forest_.prune(model.pruning_))
    assert all(taken <= total(model.forest_.prune(pruning)) + 1e-9 for pruning in prunings(model.instance_))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([[1, 2, 3]], r"^costs: expected shape \(n_samples, 2\), a column a class, got \(1, 3\)$"),
        ([[1, np.nan]], "^costs: expected finite numbers >= 0, got other values$"),
        ([[1, -1]], "^costs: expected finite numbers >= 0, got other values$"),
        ([[2, 2], [0, 0]], "^costs: expected examples for which classes cost different amounts, got none$"),
    ],
)
def test_example_costs_that_cannot_be_are_refused(costs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        weighted_labels(costs, ["a", "b"])
