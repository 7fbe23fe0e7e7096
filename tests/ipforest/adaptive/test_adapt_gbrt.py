"""Adapt-Gbrt: GreedyMiser without a full model, shares that lower the loss, features free once either has them."""

import numpy as np
import pytest
from estimator_checks import random_parts
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ipforest.adaptive import AdaptGbrt, BoostedSearch, PairGrowth
from ipforest.adaptive.adapt_gbrt import boost_pair
from ipforest.adaptive.approximation import Training
from ipforest.costs import FeatureCosts
from ipforest.learners import GreedyMiser, PricedGrowth
from ipforest.learners.priced_booster import PricedBooster

TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
SMALL = AdaptGbrt(TREE, n_estimators=4, search=BoostedSearch(shares=[0.5], lambdas=2, n_folds=2), random_state=0)
COSTS = FeatureCosts(["1/2", 1, 2, 3, 1, 1, 2, 2, 1, 1], [0, 0, 0, -1, -1, 1, 1, -1, -1, -1], ["1/2", 1])
X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :10]


@pytest.mark.slow
@parametrize_with_checks([SMALL], expected_failed_checks=random_parts)
def test_checks_of_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("lam", [0, 1e-3, 1e-2])
def test_without_a_full_model_it_is_greedy_miser_tree_by_tree(n_classes: int, lam: float) -> None:
    data, labels = make_classification(200, 6, n_informative=4, n_classes=n_classes, random_state=1)
    shared, growth = {"n_estimators": 6, "validation_fraction": None}, {"learning_rate": 0.4, "max_depth": 3}
    miser = GreedyMiser(lam=lam, growth=PricedGrowth(**growth), **shared).fit(data, labels)
    search = BoostedSearch(shares=[0], lambdas=[lam], n_readouts=6)
    model = AdaptGbrt(TREE, search=search, growth=PairGrowth(**growth), random_state=0, **shared).fit(data, labels)
    ours = [candidate for candidate in model.candidates_ if candidate.pair.n_rounds]
    assert [candidate.pair.n_rounds for candidate in ours] == [1, 2, 3, 4, 5, 6]
    last = ours[-1].pair
    for name in ("tree_offsets", "left", "feature", "threshold", "value"):
        np.testing.assert_array_equal(getattr(last.cheap.trees, name), getattr(miser.trees_, name))
    assert last.gate.trees.n_internal == 0
    np.testing.assert_array_equal([candidate.cost for candidate in ours], miser.stage_costs_[1:])
    np.testing.assert_allclose([candidate.error for candidate in ours], miser.stage_errors_[1:])
    model.chosen_ = ours[-1]
    np.testing.assert_array_equal(model.predict_proba(data), miser.predict_proba(data))
    np.testing.assert_array_equal(model.cost(data), miser.cost(data))


def boosted(p_full: float, lam: float = 0.0, rate: float = 0.3):
    targets = (Y == 1).astype(float)[:, None]
    loss = np.random.default_rng(0).exponential(0.1, Y.size)
    booster = PricedBooster(X.astype(np.float32), COSTS, lam=lam, growth=PricedGrowth(min_samples_leaf=5))
    return boost_pair(Training(X, targets, loss), p_full, booster, 20, 2, rate)


@pytest.mark.parametrize("p_full", [0.2, 0.5, 0.8])
def test_new_shares_never_raise_the_loss_and_small_steps_lower_it(p_full: float) -> None:
    objectives = np.array(boosted(p_full).objectives)
    assert objectives.size == 20
    assert np.all(objectives[1::2] <= objectives[::2] + 1e-12)
    assert np.all(np.diff(objectives[::2]) <= 1e-12)


def test_a_feature_is_free_once_gate_or_classifier_has_it() -> None:
    free = boosted(0.5, lam=0.0)
    dear = boosted(0.5, lam=2e-3)
    used = [
        {int(feature) for forest in (pair.gate, pair.cheap) for feature in forest.feature[forest.left >= 0]}
        for pair in (free, dear)
    ]
    assert len(used[1]) < len(used[0])
    apart = [set(forest.feature[forest.left >= 0].tolist()) for forest in (dear.gate, dear.cheap)]
    assert apart[0] & apart[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_regrown_without_a_full_model_it_is_greedy_miser_too(n_classes: int) -> None:
    data, labels = make_classification(120, 6, n_informative=4, n_classes=n_classes, random_state=1)
    shared = {"n_estimators": 3, "validation_fraction": None}
    growth = {"learning_rate": 0.4, "max_depth": 3, "charge": "node"}
    miser = GreedyMiser(lam=1e-2, growth=PricedGrowth(**growth), **shared).fit(data, labels)
    model = AdaptGbrt(
        TREE,
        search=BoostedSearch(shares=[0], lambdas=[1e-2], n_readouts=1),
        growth=PairGrowth(max_regrowths=50, **growth),
        **shared,
    ).fit(data, labels)
    last = model.candidates_[-1].pair
    for name in ("tree_offsets", "left", "feature", "threshold", "value"):
        np.testing.assert_array_equal(getattr(last.cheap.trees, name), getattr(miser.trees_, name))
    model.chosen_ = model.candidates_[-1]
    assert not model.goes_to_full(data).any()


def test_the_accounting_of_the_full_model_alone_leaves_out_the_gate_where_it_sends_on() -> None:
    model = clone(SMALL).set_params(feature_costs=COSTS, search__gate_shares=[0.2, 0.6]).fit(X[:300], Y[:300])
    whole, part = X[300:400], Y[300:400]
    less = 0
    for candidate in model.candidates_[2::4]:
        model.chosen_ = candidate
        paid, sent = model.cost(whole), model.goes_to_full(whole)
        (union,) = model.measure(whole, part, [candidate])
        (alone,) = model.measure(whole, part, [candidate], "full model only")
        tested = np.zeros((len(whole), 10), dtype=bool)
        path = model.estimator_.decision_path(whole)
        for row in range(len(whole)):
            features = model.estimator_.tree_.feature[path[row].indices]
            tested[row, features[features >= 0]] = True
        assert union.cost == pytest.approx(paid.mean())
        assert alone.cost == pytest.approx(np.where(sent, COSTS.cost_of(tested), paid).mean())
        assert (alone.error, alone.full_share) == (union.error, union.full_share)
        less += alone.cost < union.cost
    assert less > 0


def test_another_measure_than_the_error_is_taken_of_the_probabilities() -> None:
    model = clone(SMALL).fit(X[:300], Y[:300])
    (measured,) = model.measure(X[300:], Y[300:], [model.chosen_], error_of=lambda outputs: outputs[:, 1].mean())
    assert measured.error == pytest.approx(model.predict_proba(X[300:])[:, 1].mean())


def test_another_accounting_is_refused() -> None:
    model = clone(SMALL).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match=r"^accounting: expected one of union, full model only, got 'gate only'$"):
        model.measure(X[:50], Y[:50], model.candidates_, "gate only")


def test_costs_and_errors_of_candidates_are_those_of_the_model() -> None:
    model = clone(SMALL).set_params(feature_costs=COSTS, search__gate_shares=[0.2, 0.6]).fit(X[:300], Y[:300])
    thresholds = {candidate.pair.threshold for candidate in model.candidates_}
    assert len(thresholds) > 3
    for candidate in model.measure(X[300:], Y[300:], model.candidates_[::5]):
        model.chosen_ = candidate
        assert candidate.cost == pytest.approx(model.cost(X[300:]).mean())
        assert candidate.error == pytest.approx(1 - model.score(X[300:], Y[300:]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_estimators": 0}, r"^n_estimators: expected an integer >= 1, got 0$"),
        ({"growth__trees_per_step": 1.5}, r"^growth\.trees_per_step: expected an integer >= 1, got 1.5$"),
        ({"growth__max_regrowths": -1}, r"^growth\.max_regrowths: expected an integer >= 0, got -1$"),
        ({"growth__charge": "once"}, r"^growth\.charge: expected one of 'path', 'tree', 'node', got 'once'$"),
        ({"growth__learning_rate": 0}, r"^growth\.learning_rate: expected a finite number > 0, got 0$"),
        ({"growth__max_bins": 0}, r"^growth\.max_bins: "),
        ({"search__gate_shares": [2]}, r"^search\.gate_shares: expected numbers from 0 to 1, 1 excluded, got 2$"),
    ],
)
def test_bad_input_is_refused_before_training(changes: dict, message: str) -> None:
    estimator = clone(SMALL)
    with pytest.raises(ValueError, match=message):
        estimator.set_params(**changes).fit(X, Y)
    assert not hasattr(estimator, "estimator_")
