"""Mixtures: the best coin between two models of a frontier, the same for an example wherever it comes."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetPrune, EarlyExit, FeatureCosts, NestedCascade
from ipforest.choosing.frontier import Frontier
from ipforest.estimator.measurement import Measurement
from ipforest.estimator.mixed_model import MixedModel
from tests.budgeted_estimators import CLASSIFIERS, REGRESSORS

X, y = load_breast_cancer(return_X_y=True)
X = X[:, :6]
COSTS = FeatureCosts([1, 2, 3, 1, 2, 3])

amounts = st.integers(0, 6)


@settings(max_examples=30)
@given(st.lists(st.tuples(amounts, amounts), min_size=1, max_size=8), st.fractions(0, 7))
def test_no_mixture_of_any_number_of_models_loses_less(models, budget) -> None:
    """The linear program over all shares."""
    costs, errors = (np.array(column, dtype=float) for column in zip(*models, strict=True))
    found = linprog(errors, [costs], [float(budget)], [np.ones_like(costs)], [1.0])
    if not found.success:
        with pytest.raises(ValueError, match=r"^budget: expected at least"):
            Frontier(costs, errors).mixture(budget)
        return
    cheap, costly, share = Frontier(costs, errors).mixture(budget)
    assert 0 <= share < 1
    assert (1 - share) * errors[cheap] + share * errors[costly] == pytest.approx(found.fun, abs=1e-9)
    assert (1 - share) * costs[cheap] + share * costs[costly] <= budget + 1e-9


def test_a_budget_that_a_model_spends_takes_that_model_alone() -> None:
    assert Frontier(np.array([0, 2, 4]), np.array([9, 3, 1])).mixture(2) == (1, 2, 0.0)
    assert Frontier(np.array([0, 2, 4]), np.array([9, 3, 3])).mixture(None) == (1, 1, 0.0)
    assert Frontier(np.array([0, 2, 4]), np.array([9, 8, 1])).mixture(1) == (0, 2, 0.25)


@pytest.fixture(scope="module")
def pruned():
    return CLASSIFIERS["BudgetPrune"](COSTS).fit(X, y)


@pytest.fixture(scope="module")
def mixed(pruned) -> MixedModel:
    costs = pruned.path_.costs
    return pruned.mixture((costs[len(costs) // 3] + costs[len(costs) // 3 - 1]) / 2)


def test_between_breakpoints_it_is_the_optimum_of_the_relaxation(pruned) -> None:
    for budget in (Fraction(1, 3), 1, Fraction(5, 2), 4):
        mixed = pruned.mixture(budget)
        found = pruned.path_.at_budget(budget)
        errors = [float(pruned.path_.errors[pruned.path_.costs.index(cost)]) for cost in _budgets_of(mixed)]
        expected = errors[0] + mixed.share * (errors[1] - errors[0])
        assert expected == pytest.approx(float(found.mixture_error), abs=1e-12)


def _budgets_of(mixed: MixedModel) -> tuple[object, object]:
    return mixed.cheap.budget, mixed.costly.budget


KINDS = ["BudgetRF"]
SLOW_KINDS = [
    "BudgetBoost",
    "NestedCascade",
    "GreedyMiser",
    "BudgetForest",
    "BudgetedClassifier",
    "CSTC",
    "Adapt-Lin before a forest",
]


@pytest.mark.parametrize("kind", [*KINDS, *(pytest.param(kind, marks=pytest.mark.slow) for kind in SLOW_KINDS)])
def test_every_frontier_is_mixed_at_its_own_corners(kind: str) -> None:
    model = CLASSIFIERS[kind](COSTS).fit(X, y)
    costs, losses = model.frontier_.cost, model.frontier_.criterion
    for budget in np.linspace(costs.min(), costs.max(), 5)[1:4]:
        mixed = model.mixture(budget)
        spent = [float(cost) for cost in _budgets_of(mixed)]
        assert spent[0] + mixed.share * (spent[1] - spent[0]) <= budget * (1 + 1e-9)
        reached = [losses[np.isclose(costs, cost, rtol=1e-9, atol=0)].min() for cost in spent]
        found = linprog(losses, [costs], [budget], [np.ones_like(costs)], [1.0])
        assert reached[0] + mixed.share * (reached[1] - reached[0]) == pytest.approx(found.fun, abs=1e-6)


@pytest.mark.slow
def test_regressors_are_mixed_as_classifiers_are() -> None:
    model = REGRESSORS["NestedCascade"](COSTS).fit(X, X[:, 2])
    mixed = model.mixture(2)
    assert mixed.classes_ is None
    assert mixed.predict(X).dtype == float
    assert mixed.score(X, X[:, 2]) > 0.5


@pytest.fixture(scope="module")
def one_costly_test() -> NestedCascade:
    """Learn from a costly feature that tells everything, and a cheap one that tells nothing."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(800, 2))
    model = NestedCascade(RandomForestClassifier(5, random_state=0), feature_costs=[1, 20], random_state=0)
    return model.fit(table[:400], table[:400, 1] > 1.3, table[400:], table[400:, 1] > 1.3)


def test_a_model_says_by_how_much_a_mixture_is_better(one_costly_test: NestedCascade) -> None:
    advice = r"the cheapest model that is better costs 20; mixture\(12\), a coin between two choices, loses \d\d% less"
    with pytest.warns(UserWarning, match=rf"^budget: nothing is bought within 12; {advice} on held-out examples$"):
        model = one_costly_test.at_budget(12)
    costs, losses = model.frontier_.cost, model.frontier_.loss
    best = linprog(losses, [costs], [12], [np.ones_like(costs)], [1.0]).fun
    assert model.mixture_gain == pytest.approx(1 - best / losses[costs <= 12].min())
    assert model.mixture_gain > 0.3
    assert f"mixture(12), a coin between two choices, loses {model.mixture_gain:.0%} less" in model.summary()


def test_a_summary_measures_the_model_once(one_costly_test: NestedCascade, monkeypatch: pytest.MonkeyPatch) -> None:
    model = one_costly_test.at_budget(20)
    table = np.random.default_rng(1).normal(size=(100, 2))
    budgets, measured = [], NestedCascade.measured

    def counted(self: NestedCascade, *examples: np.ndarray) -> Measurement:
        budgets.append(self.budget)
        return measured(self, *examples)

    monkeypatch.setattr(NestedCascade, "measured", counted)
    model.summary(table, table[:, 1] > 1.3)
    with pytest.warns(UserWarning, match="nothing is bought within 12"):
        other = one_costly_test.at_budget(12)
    assert "mixture(12)" in other.summary(table, table[:, 1] > 1.3)
    assert budgets == [20, 12, *_budgets_of(other.mixture(12))]


@pytest.mark.filterwarnings("ignore:budget. nothing is bought")
def test_where_a_mixture_is_no_better_beyond_chance_none_is_mentioned(one_costly_test: NestedCascade) -> None:
    for model in (one_costly_test.at_budget(None), one_costly_test.at_budget(0.2), one_costly_test.at_budget(21)):
        assert model.mixture_gain < 0.05
        assert "mixture" not in model.summary()


def test_a_pruned_forest_compares_with_its_exact_pruning(pruned) -> None:
    model = pruned.at_budget(Fraction(5, 2))
    result = model.result_
    assert model.mixture_gain == pytest.approx(float(1 - result.mixture_error / result.error))
    assert pruned.at_lambda(0.1).mixture_gain == 0


def test_a_mixture_that_is_better_in_training_alone_is_not_mentioned() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4200, 3)), rng.integers(0, 2, 4200)
    forest = RandomForestClassifier(10, random_state=0)
    model = BudgetPrune(forest, budget=2, validation_fraction=None).fit(X[:200], y[:200])
    assert model.mixture_gain > 0.3
    mixed = model.mixture(2)
    cheap, costly, alone = (1 - one.score(X[200:], y[200:]) for one in (mixed.cheap, mixed.costly, model))
    lost = (1 - mixed.share) * cheap + mixed.share * costly
    assert model.mixture_gain_on(X[200:], y[200:]) == pytest.approx(max(1 - lost / alone, 0))
    assert "mixture" not in model.summary(X[200:], y[200:])


@pytest.mark.slow
def test_where_nothing_is_bought_the_warning_points_to_the_mixture() -> None:
    table = np.random.default_rng(0).normal(size=(4000, 2))
    model = CLASSIFIERS["BudgetBoost"](FeatureCosts([1, 20])).fit(table, table[:, 1] > 1.3)
    with pytest.warns(UserWarning, match=r"nothing is bought within 3; .*; mixture\(3\), .*, loses 1\d% less"):
        model.at_budget(3)


def test_each_example_has_the_model_that_its_key_draws(mixed: MixedModel) -> None:
    keys = [f"patient {number}" for number in range(len(X))]
    costly = mixed.gets_costly(keys)
    assert 0 < mixed.share < 1
    assert costly.mean() == pytest.approx(mixed.share, abs=0.1)
    answers = mixed.answers(X, keys)
    for name, answered in zip(("predict", "predict_proba", "cost", "acquired"), answers, strict=True):
        np.testing.assert_array_equal(answered, getattr(mixed, name)(X, keys))
    np.testing.assert_equal(mixed.predict(X, keys, return_cost=True), (answers.predicted, answers.cost))
    for name in ("predict", "predict_proba", "cost", "acquired", "feature_usage"):
        ours = getattr(mixed, name)(X, keys)
        parts = [getattr(model, name)(X) for model in (mixed.cheap, mixed.costly)]
        shape = (-1,) + (1,) * (ours.ndim - 1)
        np.testing.assert_array_equal(ours, np.where(costly.reshape(shape), parts[1], parts[0]))
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = mixed.predict(X[order], [keys[place] for place in order])
    np.testing.assert_array_equal(shuffled, mixed.predict(X, keys)[order])


def test_sessions_are_those_of_the_drawn_model(mixed: MixedModel) -> None:
    labels, paid = mixed.predict(X[:12]), mixed.cost(X[:12])
    for key in range(12):
        session = mixed.session(key)
        while session.next_unit is not None:
            session.tell(X[key, session.next_unit.features[0]])
            session = mixed.resume(session.to_json(), key)
        assert (session.answer, session.paid) == (labels[key], paid[key])
    demand = mixed.predict_on_demand(lambda unit, rows: X[rows, unit.features[0]], 12)
    np.testing.assert_array_equal(demand.predictions, labels)
    np.testing.assert_array_equal(demand.paid, paid)
    np.testing.assert_array_equal(demand.bought, mixed.acquired(X[:12]))


def test_seeds_draw_differently_and_frames_are_read(pruned, mixed: MixedModel) -> None:
    other = pruned.mixture(sum(_budgets_of(mixed)) / 2, seed=1)
    assert not np.array_equal(other.gets_costly(50), pruned.mixture(sum(_budgets_of(mixed)) / 2).gets_costly(50))
    frame = pd.DataFrame(X).rename(columns=str)
    named = CLASSIFIERS["BudgetPrune"](COSTS).fit(frame, y).mixture(2)
    assert named.predict(frame).shape == named.cost(frame).shape == (len(X),)
    assert named.n_features_in_ == 6
    assert mixed.score(X, y) == np.mean(mixed.predict(X) == y)
    assert "of the examples at" in repr(mixed)


def test_what_cannot_be_mixed_is_refused(pruned, mixed: MixedModel) -> None:
    with pytest.raises(ValueError, match=r"^keys: expected 3, one per example, got 2$"):
        mixed.predict(X[:3], ["a", "b"])
    with pytest.raises(ValueError, match=r"^budget: expected a number >= 0"):
        pruned.mixture(-1)
    stopped = EarlyExit(pruned).fit(X, y)
    with pytest.raises(TypeError, match=r"^frontier_: expected an estimator whose models are .*, got EarlyExit, which"):
        stopped.at_choice(0)
    with pytest.raises(TypeError, match=r"^frontier_: expected an estimator whose models are .*, got EarlyExit, which"):
        stopped.mixture(2)
    assert stopped.frontier_ is None
    with pytest.raises(TypeError, match=r"^max_cost: expected none for a mixture"):
        CLASSIFIERS["BudgetPrune with a cap"](COSTS).fit(X, y).mixture(1)


def no_values(unit, rows):
    return rows


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda mixed: mixed.gets_costly(10**30), "keys: expected at most .* examples, got 10{30}$"),
        (lambda mixed: mixed.gets_costly(-1), "keys: expected an integer >= 0, got -1"),
        (
            lambda mixed: mixed.gets_costly("patient"),
            "keys: expected a sequence of keys, or their number, got 'patient'",
        ),
        (lambda mixed: mixed.gets_costly(2.5), r"keys: expected a sequence of keys, or their number, got 2\.5"),
        (lambda mixed: mixed.predict_on_demand(no_values, 10**30), "n: expected at most .* examples, got 10{30}$"),
        (lambda mixed: mixed.predict_on_demand(no_values, "3"), "n: expected an integer >= 0, got '3'"),
        (lambda mixed: mixed.predict_on_demand("x", 3), "fetch: expected a function of a unit .*, got 'x'"),
        (lambda mixed: mixed.cheap.predict_on_demand("x", 3), "fetch: expected a function of a unit .*, got 'x'"),
        (lambda mixed: mixed.cheap.sessions(10**30), "n: expected at most .* examples, got 10{30}$"),
        (lambda mixed: mixed.cheap.at_choice("x"), "place: expected an integer, got 'x'"),
        (lambda mixed: mixed.cheap.at_choice(10**30), r"place: expected -\d+\.\.\d+, as there are \d+ choices, got 10"),
        (lambda mixed: mixed.cheap.summary(n_units="x"), "n_units: expected an integer >= 0, got 'x'"),
        (lambda mixed: FeatureCosts.uniform(10**30), "n_features: expected an integer >= 1 and < 2"),
        (lambda mixed: FeatureCosts.uniform("x"), "n_features: expected an integer, got 'x'"),
    ],
)
def test_what_is_no_count_no_place_and_no_function_is_refused_at_once(mixed, ask, message) -> None:
    with pytest.raises((IndexError, TypeError, ValueError), match=f"^{message}"):
        ask(mixed)


def test_keys_may_come_one_after_another(mixed) -> None:
    np.testing.assert_array_equal(mixed.gets_costly(iter(range(50))), mixed.gets_costly(50))
    np.testing.assert_array_equal(mixed.cost(X[:50], iter(range(50))), mixed.cost(X[:50], 50))
