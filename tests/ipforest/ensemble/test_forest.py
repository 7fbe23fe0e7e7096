"""Forest against scikit-learn: the same answers, the same counts, and prunings that are subtrees."""

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from fitted_forests import (
    CLASSIFIERS,
    KINDS,
    LABELS,
    MISSING_KINDS,
    N_FEATURES,
    RowTree,
    examples,
    fitted,
    random_pruning,
)
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_random_state

from ipforest import FeatureCosts, Forest, Pruning
from ipforest.ensemble import read
from ipforest.ensemble.refitting import refit_by_newton, refit_jointly

X_NEW, LABELS_NEW, TARGET_NEW = examples(200, seed=9)
X_NEW_MISSING = examples(200, seed=9, missing=0.2)[0]


def columns_of(estimator) -> list[np.ndarray]:
    """The columns that each member was trained on."""
    if hasattr(estimator, "estimators_features_"):
        return estimator.estimators_features_
    members = getattr(estimator, "estimators_", [estimator])
    return [np.arange(N_FEATURES)] * len(members)


def assert_same_predictions(forest: Forest, estimator, X: np.ndarray) -> None:
    if forest.is_classifier:
        np.testing.assert_allclose(forest.predict_proba(X), estimator.predict_proba(X), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(forest.predict(X), estimator.predict(X))
    else:
        np.testing.assert_allclose(forest.predict(X), estimator.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("task", "name"), KINDS)
def test_predicts_as_scikit_learn(task: str, name: str) -> None:
    estimator = fitted(task, name)
    forest = Forest.from_sklearn(estimator)
    assert_same_predictions(forest, estimator, X_NEW)
    assert_same_predictions(forest, estimator, np.asarray(X_NEW, dtype=np.float32))


@pytest.mark.parametrize(("task", "name"), MISSING_KINDS)
def test_predicts_as_scikit_learn_with_missing_values(task: str, name: str) -> None:
    estimator = fitted(task, name, missing=0.2)
    assert_same_predictions(Forest.from_sklearn(estimator), estimator, X_NEW_MISSING)


@pytest.mark.parametrize(("task", "name"), MISSING_KINDS)
def test_missing_values_that_training_never_saw(task: str, name: str) -> None:
    estimator = fitted(task, name)
    assert_same_predictions(Forest.from_sklearn(estimator), estimator, X_NEW_MISSING)


def test_a_test_of_missing_against_known_has_an_infinite_threshold() -> None:
    X = np.array([[np.nan], [np.nan], [1.0], [2.0]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [1, 1, 0, 0])
    forest = Forest.from_sklearn(tree)
    assert np.isinf(forest.threshold[0])
    assert_same_predictions(forest, tree, np.array([[np.nan], [-3.0], [5.0]]))


def test_thresholds_compare_float32_values() -> None:
    X = np.array([[0.1], [0.1 + 1e-9], [0.3], [0.3 + 1e-7]])
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1])
    grid = np.linspace(0.0999, 0.3001, 4001)[:, None]
    assert_same_predictions(Forest.from_sklearn(tree), tree, grid)


@pytest.mark.parametrize(
    "labels", [np.array([3, 7, 11]), np.array([0.0, 1.0, 2.0]), np.array([-1, 0, 1], dtype=np.int8)]
)
def test_labels_keep_their_type(labels: np.ndarray) -> None:
    X, names, _ = examples(80, seed=3)
    estimator = RandomForestClassifier(3, random_state=0).fit(X, labels[np.searchsorted(LABELS, names)])
    forest = Forest.from_sklearn(estimator)
    assert forest.predict(X_NEW).dtype == estimator.predict(X_NEW).dtype
    assert_same_predictions(forest, estimator, X_NEW)


def test_one_class_and_single_nodes() -> None:
    estimator = RandomForestClassifier(3, random_state=0).fit(X_NEW, np.full(200, "only"))
    forest = Forest.from_sklearn(estimator)
    assert (forest.n_nodes, forest.n_internal) == (3, 0)
    assert_same_predictions(forest, estimator, X_NEW)
    assert forest.prune(Pruning(np.zeros(0, dtype=bool))).n_nodes == 3


def test_a_bagged_tree_may_miss_a_class() -> None:
    estimator = fitted("classifier", "bagging that misses classes")
    assert any(tree.n_classes_ < 3 for tree in estimator.estimators_)
    forest = Forest.from_sklearn(estimator)
    assert forest.value.shape == (forest.n_nodes, 3)
    np.testing.assert_allclose(forest.value.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize(("task", "name"), KINDS)
def test_apply_gives_the_leaves_of_scikit_learn(task: str, name: str) -> None:
    estimator = fitted(task, name)
    members = getattr(estimator, "estimators_", [estimator])
    expected = np.column_stack(
        [tree.apply(X_NEW[:, columns]) for tree, columns in zip(members, columns_of(estimator), strict=True)]
    )
    np.testing.assert_array_equal(Forest.from_sklearn(estimator).apply(X_NEW), expected)


@pytest.mark.parametrize(("task", "name"), KINDS)
def test_feature_usage_counts_the_tests_on_the_paths(task: str, name: str) -> None:
    estimator = fitted(task, name)
    members = getattr(estimator, "estimators_", [estimator])
    expected = np.zeros((20, N_FEATURES), dtype=int)
    for tree, columns in zip(members, columns_of(estimator), strict=True):
        paths = tree.decision_path(X_NEW[:20, columns]).toarray()
        for example, node in zip(*np.nonzero(paths), strict=True):
            if tree.tree_.children_left[node] != -1:
                expected[example, columns[tree.tree_.feature[node]]] += 1
    np.testing.assert_array_equal(Forest.from_sklearn(estimator).feature_usage(X_NEW[:20]), expected)


IN_BAG = [
    "forest",
    "forest max_samples",
    "forest max_leaf_nodes",
    "extra trees bootstrap",
    "bagging",
    "extra trees balanced",
]
IN_BAG += ["bagging of some features", "bagging of drawn features", "bagging without replacement"]
IN_BAG += ["bagging that misses classes"]


@pytest.mark.parametrize("name", IN_BAG)
def test_weights_are_the_bootstrap_counts(name: str) -> None:
    """Node counts recomputed from the drawn rows: classes at each node, weighted as in training."""
    estimator = fitted("classifier", name)
    X, labels, _ = examples(120, seed=5)
    forest = Forest.from_sklearn(estimator)
    counts = np.bincount(np.searchsorted(LABELS, labels))
    balanced = len(labels) / (3 * counts) if name == "extra trees balanced" else np.ones(3)
    for tree, columns, drawn, (start, stop) in zip(
        estimator.estimators_, columns_of(estimator), estimator.estimators_samples_, forest, strict=True
    ):
        expected = np.zeros((stop - start, 3))
        paths = tree.decision_path(X[drawn][:, columns]).toarray().astype(bool)
        for path, label in zip(paths, labels[drawn], strict=True):
            index = np.searchsorted(LABELS, label)
            expected[path, index] += balanced[index]
        got = forest.value[start:stop] * forest.weight[start:stop, None]
        np.testing.assert_allclose(got, expected, atol=1e-9)
        np.testing.assert_allclose(forest.weight[start], expected[0].sum())


def test_sample_weights_reach_the_node_weights() -> None:
    X, labels, _ = examples(120, seed=5)
    weights = np.random.default_rng(0).integers(1, 5, 120).astype(float)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, labels, sample_weight=weights)
    forest = Forest.from_sklearn(tree)
    assert_same_predictions(forest, tree, X_NEW)
    assert forest.weight[0] == weights.sum()
    np.testing.assert_array_equal(forest.weight, tree.decision_path(X).T @ weights)


@pytest.mark.parametrize(("task", "name"), KINDS)
def test_pruned_trees_are_subtrees(task: str, name: str) -> None:
    """Cut at random: each example stops at the first cut node of its path and gets that node's value."""
    estimator = fitted(task, name)
    forest = Forest.from_sklearn(estimator)
    pruning = random_pruning(forest, seed=2)
    pruned = forest.prune(pruning)
    splits = np.zeros(forest.n_nodes, dtype=bool)
    splits[forest.internal_nodes] = pruning.kept
    examples32 = X_NEW[:30].astype(np.float32)
    expected = np.zeros((30, forest.value.shape[1]))
    usage = np.zeros((30, N_FEATURES), dtype=int)
    for i, example in enumerate(examples32):
        for start, _ in forest:
            node = start
            while splits[node]:
                usage[i, forest.feature[node]] += 1
                left = example[forest.feature[node]] <= forest.threshold[node]
                node = forest.left[node] if left else forest.right[node]
            expected[i] += forest.value[node]
    expected /= forest.n_trees
    got = pruned.predict_proba(X_NEW[:30]) if forest.is_classifier else pruned.predict(X_NEW[:30])[:, None]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_array_equal(pruned.feature_usage(X_NEW[:30]), usage)
    assert pruned.n_internal == pruning.n_kept
    assert pruned.n_trees == forest.n_trees


def test_prune_keeps_all_or_nothing_at_the_ends() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    whole = forest.prune(Pruning(np.ones(forest.n_internal, dtype=bool)))
    np.testing.assert_array_equal(whole.left, forest.left)
    np.testing.assert_array_equal(whole.value, forest.value)
    roots = forest.prune(Pruning(np.zeros(forest.n_internal, dtype=bool)))
    assert (roots.n_nodes, roots.n_internal) == (forest.n_trees, 0)
    np.testing.assert_array_equal(roots.value, forest.value[forest.tree_offsets[:-1]])
    assert roots.cost(X_NEW, FeatureCosts.uniform(N_FEATURES)).sum() == 0


def test_prunings_compose() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "extra trees"))
    outer = random_pruning(forest, seed=1)
    once = forest.prune(outer)
    inner = random_pruning(once, seed=2)
    kept = np.zeros(forest.n_internal, dtype=bool)
    kept[np.flatnonzero(outer.kept)[inner.kept]] = True
    twice, direct = once.prune(inner), forest.prune(Pruning(kept))
    for name in ("tree_offsets", "left", "right", "feature", "threshold", "value", "weight", "parent"):
        np.testing.assert_array_equal(getattr(twice, name), getattr(direct, name))


@pytest.mark.parametrize(("task", "name"), KINDS)
def test_round_trip_through_scikit_learn(task: str, name: str) -> None:
    forest = Forest.from_sklearn(fitted(task, name))
    pruned = forest.prune(random_pruning(forest, seed=4))
    back = pruned.to_sklearn()
    assert isinstance(back, RandomForestClassifier if task == "classifier" else RandomForestRegressor)
    assert_same_predictions(pruned, back, X_NEW)
    np.testing.assert_array_equal(back.apply(X_NEW), pruned.apply(X_NEW))
    again = Forest.from_sklearn(back)
    for field in ("left", "right", "feature", "threshold", "missing_left", "value", "weight", "n_samples", "impurity"):
        np.testing.assert_array_equal(
            getattr(again, field)[pruned.internal_nodes], getattr(pruned, field)[pruned.internal_nodes]
        )
    np.testing.assert_array_equal(again.value, pruned.value)


@pytest.mark.parametrize(("task", "name"), MISSING_KINDS)
def test_round_trip_routes_missing_values(task: str, name: str) -> None:
    forest = Forest.from_sklearn(fitted(task, name, missing=0.2))
    assert_same_predictions(forest, forest.to_sklearn(), X_NEW_MISSING)


def test_writing_a_forest_draws_nothing_from_the_generator_of_others() -> None:
    shared = check_random_state(None)
    before = shared.get_state()[2]
    Forest.from_sklearn(fitted("classifier", "forest")).to_sklearn()
    assert shared.get_state()[2] == before


def test_the_scikit_learn_forest_is_usable() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    back = forest.prune(random_pruning(forest, seed=4)).to_sklearn()
    copy = pickle.loads(pickle.dumps(back))
    np.testing.assert_array_equal(copy.predict(X_NEW), back.predict(X_NEW))
    np.testing.assert_allclose(back.feature_importances_.sum(), 1)
    assert back.score(X_NEW, LABELS_NEW) == np.mean(back.predict(X_NEW) == LABELS_NEW)
    assert max(tree.get_depth() for tree in back.estimators_) > 1
    assert not hasattr(clone(back), "estimators_")


def test_cost_buys_each_feature_and_each_group_once() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    costs = FeatureCosts([1, 2, 0, "0.5", 4, 8, Fraction(1, 3)], groups=[-1, 0, 0, 1, 1, -1, -1], group_fees=[10, 100])
    used = forest.feature_usage(X_NEW) > 0
    expected = [
        sum(float(costs.prices[f]) for f in np.flatnonzero(row)) + 10 * (row[1] or row[2]) + 100 * (row[3] or row[4])
        for row in used
    ]
    np.testing.assert_allclose(forest.cost(X_NEW, costs), expected)


def test_forest_arrays_are_read_only_and_pickle() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    with pytest.raises(ValueError, match="read-only"):
        forest.threshold[0] = 1.0
    copy = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(copy.predict(X_NEW), forest.predict(X_NEW))


def test_a_forest_sums_as_boosted_trees_and_divides() -> None:
    y = np.digitize(np.nan_to_num(X_NEW).sum(axis=1), [-1, 1])
    forest = Forest.from_sklearn(RandomForestClassifier(4, max_depth=3, random_state=0).fit(X_NEW, y))
    total, leaves = np.tile(forest.base_score, (len(X_NEW), 1)), forest.leaves(forest.checked_examples(X_NEW))
    for reached, first in zip(leaves, forest.first_output.tolist(), strict=True):
        total[:, first : first + forest.value.shape[1]] += forest.value[reached]
        assert np.unique(forest.tree_of_node[reached]).size == 1
    assert forest.link == "mean"
    np.testing.assert_array_equal(total / forest.n_trees, forest.predict_proba(X_NEW))


def test_repr_tells_the_size() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest of roots_only"))
    assert repr(forest) == "Forest(3 trees, 3 nodes, 0 internal, 7 features, 3 classes)"
    assert repr(Forest.from_sklearn(fitted("regressor", "tree"))).endswith("7 features, regression)")


@pytest.mark.parametrize(
    ("estimator", "error", "text"),
    [
        (GradientBoostingClassifier(), TypeError, "got GradientBoostingClassifier"),
        (HistGradientBoostingRegressor(), TypeError, "got HistGradientBoostingRegressor"),
        (AdaBoostClassifier(), TypeError, "got AdaBoostClassifier"),
        (LogisticRegression(), TypeError, "got LogisticRegression"),
        (RandomForestClassifier, TypeError, r"got RandomForestClassifier \(a class\)"),
        (None, TypeError, "got NoneType"),
        (RandomForestClassifier(), NotFittedError, "RandomForestClassifier .* not fitted"),
        (DecisionTreeRegressor(), NotFittedError, "DecisionTreeRegressor .* not fitted"),
        (BaggingClassifier(LogisticRegression(), 2).fit(X_NEW, LABELS_NEW), TypeError, "got one of LogisticRegression"),
        (DecisionTreeRegressor().fit(X_NEW, X_NEW[:, :2]), ValueError, "estimator: expected one output, got 2"),
        (RandomForestClassifier(2).fit(X_NEW, np.c_[LABELS_NEW, LABELS_NEW]), ValueError, "one output, got 2; train"),
    ],
)
def test_other_estimators_are_refused(estimator, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        Forest.from_sklearn(estimator)
    assert "\n" not in str(caught.value)


FOREST = Forest.from_sklearn(fitted("classifier", "forest"))


@pytest.mark.parametrize(
    ("X", "error", "text"),
    [
        (X_NEW[:, :5], ValueError, "X: expected 7 columns as in training, got 5"),
        (X_NEW[:0], ValueError, "X: expected at least one example, got none"),
        (X_NEW[0], ValueError, r"X: expected 2 dimensions \(n_samples, n_features\), got 1"),
        (np.where(X_NEW > 1, np.inf, X_NEW), ValueError, "X: expected finite float32 values or NaN, got an infinite"),
        (X_NEW * 1e39, ValueError, "too large"),
        (csr_array(X_NEW), TypeError, r"X: expected a dense array, got a sparse matrix; call its toarray\(\)"),
        (np.full((3, 7), "a"), TypeError, "X: expected numbers, got dtype <U1"),
        (X_NEW + 1j, TypeError, "X: expected real numbers, got dtype complex128"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "apply", "feature_usage"])
def test_bad_examples_are_refused(method: str, X, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        getattr(FOREST, method)(X)


def test_a_regression_forest_has_no_probabilities() -> None:
    with pytest.raises(AttributeError, match="predict_proba: expected a classification forest, got a regression"):
        Forest.from_sklearn(fitted("regressor", "tree")).predict_proba(X_NEW)


def test_prices_must_fit_the_forest() -> None:
    with pytest.raises(ValueError, match="costs: expected 7 prices, one per feature, got 3"):
        FOREST.cost(X_NEW, FeatureCosts.uniform(3))
    with pytest.raises(TypeError, match=r"costs: expected FeatureCosts\(prices\), got list"):
        FOREST.cost(X_NEW, [1] * 7)


def test_bad_prunings_are_refused() -> None:
    with pytest.raises(ValueError, match=f"pruning: expected {FOREST.n_internal} internal nodes, .* got 3"):
        FOREST.prune(Pruning(np.ones(3, dtype=bool)))
    kept = np.ones(FOREST.n_internal, dtype=bool)
    kept[0] = False
    with pytest.raises(ValueError, match="pruning: expected the parent of each kept node to be kept, not so at node 1"):
        FOREST.prune(Pruning(kept))


def forest_fields(**changes):
    tree = Forest.from_sklearn(DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X_NEW, LABELS_NEW))
    fields = {field.name: getattr(tree, field.name) for field in dataclasses.fields(Forest) if field.init}
    return {**fields, **changes}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"tree_offsets": [0]}, "tree_offsets: expected 0 and then the ascending ends"),
        ({"tree_offsets": [0, 0, 5]}, "tree_offsets"),
        ({"tree_offsets": [1, 5]}, "tree_offsets"),
        ({"threshold": np.zeros(4)}, r"threshold: expected shape \(5,\), got \(4,\)"),
        ({"value": np.zeros((5, 2))}, r"value: expected shape \(5, 3\), got \(5, 2\)"),
        ({"value": np.full((5, 3), np.nan)}, "value: expected finite numbers, got nan"),
        ({"impurity": [0, 0, np.inf, 0, 0]}, "impurity: expected finite numbers, got inf"),
        ({"weight": [2, 1, 1, 2, -1]}, "weight: expected numbers >= 0, got -1.0; train the forest without negative"),
        ({"threshold": np.full(5, np.nan)}, "threshold: expected numbers at internal nodes, got nan"),
        ({"feature": [7, 0, 0, 0, 0]}, r"feature: expected 0..6 at internal nodes, got 0..7"),
        ({"right": [-1, -1, -1, -1, -1]}, "right: expected a right child exactly where there is a left one"),
        ({"left": [1, 0, -1, -1, -1]}, "left, right: expected each child after its parent"),
        ({"left": [3, 3, -1, -1, -1], "right": [4, 4, -1, -1, -1]}, "left, right: expected"),
    ],
)
def test_broken_arrays_are_refused(changes, text: str) -> None:
    assert Forest(**forest_fields()).n_internal == 2
    with pytest.raises(ValueError, match=text):
        Forest(**forest_fields(**changes))


def test_trees_do_not_share_nodes() -> None:
    """A child in another tree would let examples walk out of their tree."""
    left, right = [1, 3, 6, -1, -1, 8, -1, -1, -1, -1], [2, 4, 7, -1, -1, 9, -1, -1, -1, -1]
    fields = {
        **forest_fields(),
        **{name: np.zeros(10) for name in ("threshold", "weight", "impurity")},
        **{name: np.zeros(10, dtype=int) for name in ("feature", "n_samples")},
        "category_set": np.full(10, -1),
        "missing_left": np.zeros(10, dtype=bool),
        "value": np.ones((10, 3)),
    }
    with pytest.raises(ValueError, match="left, right: expected each child after its parent, in the same tree"):
        Forest(**{**fields, "left": left, "right": right, "tree_offsets": [0, 5, 10]})


def test_the_table_of_kinds_covers_a_missing_class() -> None:
    assert isinstance(CLASSIFIERS["bagging that misses classes"].estimator, RowTree)


def test_bare_roots_do_not_vote() -> None:
    forest = Forest.from_sklearn(RandomForestClassifier(6, max_depth=3, random_state=0).fit(X_NEW, LABELS_NEW))
    kept = np.zeros(forest.n_internal, dtype=bool)
    kept[np.isin(forest.internal_nodes, forest.tree_offsets[[1, 4]])] = True
    pruned = forest.prune(Pruning(kept))
    voting = pruned.without_bare_roots()
    assert (pruned.n_trees, voting.n_trees) == (6, 2)
    leaves = pruned.leaves(pruned.checked_examples(X_NEW))
    np.testing.assert_allclose(voting.predict_proba(X_NEW), pruned.value[leaves[[1, 4]]].mean(axis=0))
    np.testing.assert_array_equal(voting.feature_usage(X_NEW), pruned.feature_usage(X_NEW))
    nothing = forest.prune(Pruning(np.zeros(forest.n_internal, dtype=bool)))
    assert nothing.without_bare_roots() is nothing
    assert forest.without_bare_roots() is forest


@pytest.mark.parametrize("task", ["classifier", "regressor"])
def test_refitted_leaves_predict_what_scikit_learn_would(task: str) -> None:
    if task == "classifier":
        tree, target = DecisionTreeClassifier(max_depth=4, random_state=0), LABELS_NEW
    else:
        tree, target = DecisionTreeRegressor(max_depth=4, random_state=0), TARGET_NEW
    half = Forest.from_sklearn(tree.fit(X_NEW[::2], target[::2]))
    weights = np.random.default_rng(0).integers(0, 3, len(X_NEW)).astype(float)
    refitted = half.refit(X_NEW, target, weights)
    leaf = half.leaves(half.checked_examples(X_NEW))[0]
    for node in np.unique(leaf[weights > 0]):
        here = (leaf == node) & (weights > 0)
        if task == "classifier":
            shares = [np.average(target[here] == label, weights=weights[here]) for label in half.classes]
        else:
            shares = [np.average(target[here], weights=weights[here])]
            variance = np.average((target[here] - shares[0]) ** 2, weights=weights[here])
            np.testing.assert_allclose(refitted.impurity[node], variance, atol=1e-9)
        np.testing.assert_allclose(refitted.value[node], shares)
        assert (refitted.weight[node], refitted.n_samples[node]) == (weights[here].sum(), (leaf == node).sum())
    same = Forest.from_sklearn(tree.fit(X_NEW, target)).refit(X_NEW, target)
    np.testing.assert_allclose(same.value, Forest.from_sklearn(tree).value)
    np.testing.assert_allclose(same.impurity, Forest.from_sklearn(tree).impurity, atol=1e-9)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (np.ones(3), r"sample_weight: expected one per example, shape \(\d+,\), got \(3,\)"),
        (np.full(len(X_NEW), -1.0), "sample_weight: expected finite numbers >= 0, got -1"),
        (np.full(len(X_NEW), np.nan), "sample_weight: expected finite numbers >= 0, got nan"),
    ],
)
def test_strange_weights_and_targets_are_not_learnt_from(weights: np.ndarray, text: str) -> None:
    forest = Forest.from_sklearn(DecisionTreeRegressor(max_depth=2).fit(X_NEW, TARGET_NEW))
    with pytest.raises(ValueError, match=text):
        forest.refit(X_NEW, TARGET_NEW, weights)
    boosted = read(GradientBoostingRegressor(n_estimators=2).fit(np.nan_to_num(X_NEW), TARGET_NEW))
    for refit in (refit_by_newton, refit_jointly):
        with pytest.raises(ValueError, match=text):
            refit(boosted, X_NEW, TARGET_NEW, weights)
    with pytest.raises(ValueError, match="y: expected finite numbers as targets, got other values"):
        forest.refit(X_NEW, np.where(np.arange(len(X_NEW)) == 1, np.nan, TARGET_NEW))


def test_nodes_that_no_example_reaches_stay_as_they_are() -> None:
    forest = Forest.from_sklearn(RandomForestClassifier(3, random_state=0).fit(X_NEW, LABELS_NEW))
    refitted = forest.refit(X_NEW[:1], LABELS_NEW[:1])
    reached = np.isin(np.arange(forest.n_nodes), forest.tree_offsets[:-1])
    assert np.all(refitted.value[reached].max(axis=1) == 1)
    unreached = refitted.n_samples == forest.n_samples
    np.testing.assert_array_equal(refitted.value[unreached], forest.value[unreached])
    with pytest.raises(ValueError, match=r"y: expected classes among .* got 'dog'"):
        forest.refit(X_NEW, ["dog"] * len(X_NEW))
    with pytest.raises(ValueError, match=r"y: expected one target per example, shape \(\d+,\), got \(3,\)"):
        forest.refit(X_NEW, LABELS_NEW[:3])
