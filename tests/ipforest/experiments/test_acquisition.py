"""Active feature acquisition: subsets within a price, a classifier of any subset, purchases by nearest neighbours."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ipforest import FeatureCosts, datasets
from ipforest._internal.arrays import save_arrays
from ipforest.datasets.tables import Tables
from ipforest.experiments import acquisition, catalogue, methods
from ipforest.experiments.acquisition import ConditionedOracle, MaskedClassifier, Purchases, features_worth_their_price
from ipforest.experiments.afabench2025 import cubes


def test_a_group_without_prices_is_one_purchase() -> None:
    purchases = Purchases.of(FeatureCosts([0, 2, 0, 3], groups=[0, -1, 0, -1], group_fees=[5]))
    assert purchases.columns.astype(int).tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert purchases.prices.tolist() == [5, 2, 3]


def test_what_purchases_cost_is_what_their_features_cost() -> None:
    costs = FeatureCosts([1, 0, 0, 0, 2, 3], groups=[0, 0, 1, 1, -1, 2], group_fees=[5, 4, 6])
    purchases = Purchases.of(costs)
    assert purchases.prices.tolist() == [4, 6, 5, 2, 9]
    everything = np.array(list(product([False, True], repeat=5)))
    paid = costs.cost_of(everything.astype(int) @ purchases.columns > 0)
    for bought, price in zip(everything, paid, strict=True):
        more = (everything & bought).sum(axis=1) == 0
        np.testing.assert_allclose(
            purchases.added(everything[more], bought),
            costs.cost_of((everything[more] | bought).astype(int) @ purchases.columns > 0) - price,
        )
    order = np.array([2, 0, 1])
    assert [purchases.shown([order], most).sum() for most in (4, 5, 9, 10)] == [0, 1, 3, 4]


def test_no_set_within_the_budget_is_worth_more() -> None:
    rng = np.random.default_rng(0)
    gains, prices = rng.normal(0.3, 1, 7), rng.uniform(0.5, 3, 7).tolist()
    costs = FeatureCosts(prices, groups=[0, 0, 0, 1, 1, -1, -1], group_fees=[1, 2])
    everything = np.array(list(product([False, True], repeat=7)))
    for budget, found in zip((0.1, 2.0, 5.0), features_worth_their_price(gains, costs, (0.1, 2.0, 5.0)), strict=True):
        affordable = everything[costs.cost_of(everything) <= budget]
        assert costs.cost_of(found[None])[0] <= budget + 1e-9
        assert found @ gains == pytest.approx((affordable @ gains).max())


@pytest.mark.slow
def test_nearest_neighbours_ask_for_what_tells_the_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first feature says which of the next two is the class; the fourth is noise."""
    monkeypatch.setattr(acquisition, "N_SUBSETS", 12)
    monkeypatch.setattr(acquisition, "N_EPOCHS", 50)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 4)).astype(float)
    y = np.where(X[:, 0] == 0, X[:, 1], X[:, 2]).astype(np.int64)
    classifier = MaskedClassifier(X, y, 0)
    everything = np.ones_like(X, dtype=bool)
    ours = classifier.predict_proba(X, everything)
    theirs = classifier.network.predict_proba(classifier._inputs(X, everything))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    oracle = ConditionedOracle(classifier, X, y, Purchases.of(FeatureCosts([1, 1, 1, 1])), 0)
    orders = oracle.bought(X[:20], 0.02, np.inf, forced=False)
    assert np.mean([3 in order for order in orders]) < 0.2
    assert np.mean([order.size for order in orders]) < 3.2
    shown = np.array([np.isin(np.arange(4), order) for order in orders])
    assert np.mean(classifier.predict_proba(X[:20], shown).argmax(axis=1) == y[:20]) > 0.9
    capped = oracle.bought(X[:4], 0.02, 2.0, forced=True)
    assert all(order.size == 2 for order in capped)


def test_a_second_block_tells_the_same_for_twice_the_price() -> None:
    data = datasets.load("cube_nuc")
    assert [float(price) for price in data.costs.prices] == pytest.approx([2 / 3] * 10 + [4 / 3] * 10)
    rows = np.arange(data.y.size)[:, None]
    for block in (0, 10):
        bits = data.X[rows, block + data.y[:, None] + np.arange(3)] > 0.5
        np.testing.assert_array_equal(bits @ [1, 2, 4], data.y)


def test_accuracies_are_averaged_by_setting() -> None:
    records = [
        {"data": "CUBE", "method": "AACO", "training": 1, "seed": seed, "setting": setting, "budget": budget}
        | {"cost": budget, "accuracy": 0.5 + seed / 10}
        for seed in (0, 1)
        for setting in ("soft", "hard")
        for budget in cubes.BUDGETS
    ]
    hard, soft = cubes.summarise(records)
    assert (hard["setting"], soft["setting"]) == ("hard", "soft")
    assert (hard["1"], hard["mean"], hard["mean_se"], hard["seeds"]) == (55.0, 55.0, 5.0, 2)
    assert len(cubes.draw(records, [hard, soft]).axes) == 2


@pytest.mark.slow
def test_no_example_pays_more_than_a_hard_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pystreed")
    monkeypatch.setattr(methods, "PENALTIES", 2)
    cell = {"data": "CUBE-NUC", "method": cubes.STREED, "training": 150, "seed": 0}
    records = catalogue.find("afabench2025/cubes").steps.run(cell)
    assert len(records) == 2 * len(cubes.BUDGETS)
    assert all(record["cost"] <= record["budget"] + 1e-9 for record in records if record["setting"] == "hard")
    assert all(0 <= record["accuracy"] <= 1 for record in records)


def test_a_split_of_the_benchmark_keeps_its_parts_and_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.integers(2, size=90)
    table = Tables(
        X, y, ["a", "b", "c"], ["0", "1"], np.repeat([0, 1, 2], [50, 20, 20]), prices=np.array([1.5, 1, 0.5])
    )
    save_arrays(tmp_path / "afabench-own.npz", table.arrays())
    save_arrays(tmp_path / "afabench-parts.npz", table._replace(split=None).arrays())
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    named = {cell["data"] for cell in cubes.cells(False, 0)}
    assert named == {*cubes.DATA, "afabench-own", "afabench-parts"}
    cell = {"data": "afabench-own", "method": "BudgetForest", "training": 1000, "seed": 1}
    task = cubes.task_of(cell)
    parts = task.parts
    examples_of_parts = (parts.X_train, parts.X_validation, parts.X_test)
    labels_of_parts = (parts.y_train, parts.y_validation, parts.y_test)
    for part, (examples, labels) in enumerate(zip(examples_of_parts, labels_of_parts, strict=True)):
        np.testing.assert_array_equal(examples, X[table.split == part])
        np.testing.assert_array_equal(labels, y[table.split == part])
    assert task.alone.tolist() == [1.5, 1, 0.5]
    records = [{"setting": cubes.HARD, "budget": budget, "accuracy": 0.5, **cell} for budget in cubes.BUDGETS]
    assert [row["data"] for row in cubes.summarise(records)] == ["afabench-own"]
    with pytest.raises(ValueError, match="afabench-parts: expected a data set with a split, as AFABench writes it"):
        cubes.task_of(cell | {"data": "afabench-parts"})
