"""BudgetRF: scikit-learn's checks, the budget, the choice of alpha, and its forests in all that takes forests."""

import numpy as np
import pytest
from fitted_forests import examples
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest import BudgetPrune, FeatureCosts, PruningInstance, prune_path
from ipforest.growing import Polynomial
from ipforest.learners import BudgetRF, GreedyGrowth
from proofs.claims.impurity import section_24_table

X, LABELS, _ = examples(240, seed=51)
X_VAL, LABELS_VAL, _ = examples(120, seed=52)
X_TEST, LABELS_TEST, _ = examples(400, seed=53)
PRICES = [1, 1, 1, 5, 5, 5, 5]


@pytest.mark.slow
@parametrize_with_checks(
    [BudgetRF(4, random_state=0), BudgetRF(3, growth=GreedyGrowth(alpha=(0, 1), cuts="all"), voting="pooled")]
)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def fitted(**options):
    return BudgetRF(12, random_state=3).set_params(**options).fit(X, LABELS, X_VAL, LABELS_VAL)


def test_trees_are_added_until_the_validation_cost_passes_the_budget():
    whole = fitted()
    costs = whole.chosen_.costs
    assert (costs[0], whole.forest_.n_trees) == (0, 12)
    assert np.all(np.diff(costs) >= 0)
    for n_trees in (1, 5, 12):
        model = whole.at_budget(costs[n_trees])
        assert model.cost(X_VAL).mean() == pytest.approx(costs[n_trees])
        assert model.forest_.n_trees == np.flatnonzero(costs <= costs[n_trees])[-1]
        direct = fitted(budget=costs[n_trees])
        np.testing.assert_array_equal(direct.predict_proba(X_TEST), model.predict_proba(X_TEST))
        error = np.mean(model.predict(X_VAL) != LABELS_VAL)
        assert error == pytest.approx(model.chosen_.errors[model.forest_.n_trees])


def test_a_budget_below_the_first_tree_buys_nothing():
    model = fitted(budget=0)
    assert model.cost(X_TEST).max() == 0
    assert set(model.predict(X_TEST)) == {"bee"}
    assert model.chosen_.errors[0] == np.mean(LABELS_VAL != "bee")


def test_alpha_is_chosen_on_validation_examples():
    model = fitted(growth__alpha=(0, 4, 200), budget=3.5)
    scores = {}
    for grown in model.grown_:
        n_trees = np.flatnonzero(grown.costs <= 3.5)[-1]
        scores[grown.impurity.alpha] = grown.errors[n_trees], grown.costs[n_trees]
    assert set(scores) == {0, 4, 200}
    assert model.chosen_.impurity.alpha == min(scores, key=scores.get)
    depths = [grown.forest.n_nodes for grown in model.grown_]
    assert depths == sorted(depths, reverse=True)


def test_cheap_features_are_preferred():
    model, blind = fitted(feature_costs=PRICES), fitted()
    blind_cost = FeatureCosts(PRICES).cost_of(blind.feature_usage(X_TEST)).mean()
    assert model.cost(X_TEST).mean() < 0.8 * blind_cost


def test_less_is_bought_than_by_a_random_forest_of_the_same_error():
    data, labels = load_breast_cancer(return_X_y=True)
    train, test = np.arange(0, 569, 2), np.arange(1, 569, 2)
    model = BudgetRF(20, validation_fraction=None, random_state=0).fit(data[train], labels[train])
    forest = RandomForestClassifier(20, random_state=0).fit(data[train], labels[train])
    prune = BudgetPrune(forest, lam=0).fit(data[test])
    assert model.score(data[test], labels[test]) > forest.score(data[test], labels[test]) - 0.03
    assert model.cost(data[test]).mean() < 0.8 * prune.cost(data[test]).mean()


@pytest.mark.parametrize(
    "options", [{"growth__impurity": "powers"}, {"growth__impurity": "entropy", "growth__reduction": "expected"}]
)
@pytest.mark.parametrize("cuts", ["random", "all"])
def test_impurities_and_cuts(options, cuts):
    model = fitted(growth__cuts=cuts, **options)
    assert model.score(X_TEST, LABELS_TEST) > 0.6
    assert model.forest_.criterion == options["growth__impurity"]


def test_a_polynomial_of_the_class_counts():
    model = fitted(growth__impurity=Polynomial(((1, 1, 0), (0, 1, 1), (1, 0, 2))))
    assert model.score(X_TEST, LABELS_TEST) > 0.6
    with pytest.raises(ValueError, match="exponents: expected 3 per term, one per class, got 2"):
        fitted(growth__impurity=Polynomial(((1, 1),)))


def test_votings():
    models = {voting: fitted(voting=voting, growth__alpha=4) for voting in ("soft", "hard", "pooled")}
    forest = models["soft"].forest_
    leaves = forest.leaves(forest.checked_examples(X_TEST))
    values, weights = forest.value[leaves], forest.weight[leaves][:, :, None]
    expected = {
        "soft": values.mean(axis=0),
        "hard": np.eye(3)[values.argmax(axis=2)].mean(axis=0),
        "pooled": (values * weights).sum(axis=0) / weights.sum(axis=0),
    }
    for voting, model in models.items():
        np.testing.assert_allclose(model.predict_proba(X_TEST), expected[voting], atol=1e-12)


def test_its_forest_is_a_forest_like_any_other():
    model = fitted(feature_costs=PRICES)
    instance = PruningInstance.from_forest(model.to_forest(), X_VAL, model.costs_)
    path = prune_path(instance)
    pruned = BudgetPrune(model, feature_costs=PRICES, budget=4).fit(X_VAL)
    assert pruned.path_.errors == path.errors
    assert pruned.cost(X_VAL).mean() <= 4
    np.testing.assert_array_equal(model.to_sklearn().predict(X_TEST), model.predict(X_TEST))
    trained = BudgetPrune(BudgetRF(20, random_state=0), lam=0, random_state=0).fit(X, LABELS)
    assert trained.score(X_TEST, LABELS_TEST) > 0.6


def test_sessions_pay_what_cost_says():
    model = fitted(feature_costs=PRICES, voting="hard")
    for row in X_TEST[:20]:
        session = model.session()
        while session.next_unit is not None:
            session.tell(*(row[feature] for feature in session.next_unit.features))
        assert session.paid == pytest.approx(model.cost(row[None])[0])
        assert session.answer == model.predict(row[None])[0]


def test_section_24():
    table = section_24_table()
    bits = table.features.astype(float)
    model = BudgetRF(30, growth=GreedyGrowth(alpha=8), voting="hard", validation_fraction=None, random_state=0)
    model.fit(bits, table.labels)
    assert 1 - model.score(bits, table.labels) == 4 / 1024
    assert model.cost(bits).max() == 2


def test_missing_values_are_learnt_from():
    data, labels, _ = examples(240, seed=51, missing=0.2)
    model = BudgetRF(8, random_state=0).fit(data, labels)
    assert model.score(data, labels) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget: expected .* >= 0"),
        ({"n_estimators": 0}, "n_estimators: expected an integer >= 1, got 0"),
        (
            {"growth__impurity": "pairs"},
            "^growth.impurity: expected one of threshold-pairs, powers, entropy, gini, or an Impurity",
        ),
        (
            {"growth__impurity": "gini", "growth__alpha": 3},
            "^growth.alpha: expected 0 but for impurity 'threshold-pairs', got 3",
        ),
        ({"growth__alpha": -2}, "^growth.alpha: expected a number >= 0, got -2"),
        ({"growth__alpha": ()}, "^growth.alpha: expected a sequence of 1 or more, got "),
        ({"growth__reduction": "total"}, "^growth.reduction: expected one of 'minimax', 'expected', got 'total'"),
        ({"growth__cuts": 80}, "^growth.cuts: expected one of 'random', 'all', got 80"),
        ({"voting": "majority"}, "^voting: expected one of 'soft', 'hard', 'pooled', got 'majority'"),
        ({"growth__max_bins": 1000}, "^growth.max_bins: expected None or 2..255, got 1000"),
        ({"growth__max_features": 0}, "^growth.max_features: expected an integer >= 1 or None, got 0"),
        ({"validation_fraction": 2}, "validation_fraction: expected"),
        ({"feature_costs": [1, -1]}, "prices.*>= 0"),
        ({"feature_costs": [1, 1]}, "expected 7 prices"),
    ],
)
def test_bad_parameters_are_refused_before_training(options, message, monkeypatch):
    monkeypatch.setattr(BudgetRF, "_grow", lambda *_: pytest.fail("trained"))
    with pytest.raises(ValueError, match=message):
        clone(BudgetRF()).set_params(**options).fit(X, LABELS)


def test_half_a_validation_set_is_refused():
    with pytest.raises(ValueError, match="X_val: expected X_val and y_val together, got one of them"):
        BudgetRF(2).fit(X, LABELS, X_VAL)


def test_a_budget_is_spent_to_the_last_digit():
    model = fitted()
    for n_trees, cost in enumerate(model.chosen_.costs[1:6], 1):
        assert model.at_budget(np.nextafter(cost, 0)).forest_.n_trees >= n_trees


def test_the_examples_that_each_tree_was_grown_from_are_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = BudgetRF(4, growth=GreedyGrowth(alpha=[0, 1]), validation_fraction=0.25, random_state=7).fit(X, y)
    forest, samples = model.forest_, model.estimators_samples_
    assert len(samples) == forest.n_trees
    for tree, drawn in enumerate(samples):
        nodes = slice(*forest.tree_offsets[tree : tree + 2])
        reached = forest.leaves(forest.checked_examples(X[drawn]))[tree]
        counts = np.bincount(reached, minlength=forest.n_nodes)[nodes]
        assert drawn.size == 30
        assert np.unique(drawn).size == forest.n_samples[nodes.start]
        assert np.array_equal(counts, np.where(forest.is_leaf, forest.weight, 0)[nodes])


def test_trees_grow_by_the_settings() -> None:
    def told(settings: GreedyGrowth) -> tuple[object, ...]:
        grower = settings.growers()[0]
        limits = grower.max_depth, grower.min_samples_leaf, grower.max_features
        return grower.impurity.name, grower.reduction, grower.random_cuts, *limits

    assert told(GreedyGrowth()) == ("threshold-pairs", "minimax", False, None, 1, None)
    given = GreedyGrowth(
        "entropy", reduction="expected", cuts="random", max_depth=3, min_samples_leaf=4, max_features=2
    )
    assert told(given) == ("entropy", "expected", True, 3, 4, 2)
