"""Node losses against sums over the examples at each node."""

import dataclasses
from fractions import Fraction
from math import log2

import numpy as np
import pytest
from fitted_forests import LABELS, N_FEATURES, examples, fitted
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import FeatureCosts, Forest, PruningInstance
from ipforest.losses import NodeErrors, node_errors

X_HELD, LABELS_HELD, TARGET_HELD = examples(60, seed=31)
X_TRAIN, LABELS_TRAIN, TARGET_TRAIN = examples(120, seed=5)
REGRESSOR = Forest.from_sklearn(fitted("regressor", "forest"))
CLASSIFIER = Forest.from_sklearn(fitted("classifier", "forest"))


def examples_at_nodes(forest: Forest, X: np.ndarray, draws: list[np.ndarray] | None = None) -> list[list[int]]:
    """The examples that pass each node, one by one; in tree t only (and as often as) ``draws[t]`` says."""
    at = [[] for _ in range(forest.n_nodes)]
    for t, (root, _) in enumerate(forest):
        for i in range(len(X)) if draws is None else draws[t]:
            node = root
            while True:
                at[node].append(int(i))
                if forest.left[node] < 0:
                    break
                left = np.float32(X[i, forest.feature[node]]) <= forest.threshold[node]
                node = int(forest.left[node] if left else forest.right[node])
    return at


def as_floats(result: NodeErrors, n_examples: int, n_trees: int) -> np.ndarray:
    """Losses in units of the loss itself: the unit must be resolution / (N_e T)."""
    assert result.error_unit == result.resolution / (n_examples * n_trees)
    return result.errors * float(result.resolution)


def class_counts(labels: np.ndarray) -> np.ndarray:
    return np.array([np.sum(labels == label) for label in LABELS])


IMPURITY = {
    "misclassification": lambda counts: counts.sum() - counts.max(),
    "gini": lambda counts: counts.sum() - (counts**2).sum() / counts.sum(),
    "entropy": lambda counts: sum(c * log2(counts.sum() / c) for c in counts if c),
}


@pytest.mark.parametrize("loss", IMPURITY)
@pytest.mark.parametrize("name", ["forest", "extra trees", "forest max_samples", "bagging of drawn features"])
def test_in_bag_losses(loss: str, name: str) -> None:
    estimator = fitted("classifier", name)
    forest = Forest.from_sklearn(estimator)
    at = examples_at_nodes(forest, X_TRAIN, estimator.estimators_samples_)
    expected = [IMPURITY[loss](class_counts(LABELS_TRAIN[rows])) for rows in at]
    result = node_errors(forest, loss, None, None)
    got = as_floats(result, len(estimator.estimators_samples_[0]), forest.n_trees)
    np.testing.assert_allclose(got, expected, rtol=0, atol=float(result.resolution) / 2 + 1e-9)
    assert (result.resolution == 1) == (loss == "misclassification")


def test_in_bag_squared_error() -> None:
    estimator = fitted("regressor", "forest")
    forest = Forest.from_sklearn(estimator)
    at = examples_at_nodes(forest, X_TRAIN, estimator.estimators_samples_)
    expected = [((TARGET_TRAIN[rows] - TARGET_TRAIN[rows].mean()) ** 2).sum() for rows in at]
    result = node_errors(forest, "squared_error", None, None)
    np.testing.assert_allclose(as_floats(result, 120, 5), expected, atol=float(result.resolution) / 2 + 1e-9)


HELD_OUT = {
    "misclassification": lambda p, c, floor: float(np.argmax(p) != c),
    "gini": lambda p, c, floor: sum((p[k] - (k == c)) ** 2 for k in range(3)),
    "entropy": lambda p, c, floor: -log2(max(p[c], floor)),
}


@pytest.mark.parametrize("loss", HELD_OUT)
@pytest.mark.parametrize("name", ["forest", "extra trees", "bagging that misses classes"])
def test_held_out_losses(loss: str, name: str) -> None:
    """A node predicts what it learnt: 0-1 loss, Brier score, log loss with a floor under small probabilities."""
    forest = Forest.from_sklearn(fitted("classifier", name))
    expected = [
        sum(
            HELD_OUT[loss](forest.value[node], LABELS.tolist().index(LABELS_HELD[i]), 0.5 / forest.n_samples[node])
            for i in rows
        )
        for node, rows in enumerate(examples_at_nodes(forest, X_HELD))
    ]
    result = node_errors(forest, loss, (X_HELD, LABELS_HELD), None)
    got = as_floats(result, 60, forest.n_trees)
    np.testing.assert_allclose(got, expected, rtol=0, atol=float(result.resolution) / 2 + 1e-9)


def test_held_out_squared_error() -> None:
    forest = Forest.from_sklearn(fitted("regressor", "extra trees"))
    expected = [
        ((TARGET_HELD[rows] - forest.value[node, 0]) ** 2).sum()
        for node, rows in enumerate(examples_at_nodes(forest, X_HELD))
    ]
    result = node_errors(forest, "squared_error", (X_HELD, TARGET_HELD), None)
    np.testing.assert_allclose(as_floats(result, 60, 5), expected, atol=float(result.resolution) / 2 + 1e-9)


def test_held_out_error_of_the_unpruned_forest() -> None:
    """Average of the trees' error rates, exactly."""
    estimator = fitted("classifier", "forest")
    forest = Forest.from_sklearn(estimator)
    costs = FeatureCosts.uniform(N_FEATURES)
    instance = PruningInstance.from_forest(forest, X_HELD, costs, error_data=(X_HELD, LABELS_HELD))
    wrong = sum(int(np.sum(LABELS[tree.predict(X_HELD).astype(int)] != LABELS_HELD)) for tree in estimator.estimators_)
    assert instance.evaluate(instance.unpruned)[0] == Fraction(wrong, 60 * forest.n_trees)


def test_squared_error_far_from_zero_keeps_its_digits() -> None:
    """Adding a constant to all targets changes no residual; sums of raw squares would lose them."""
    far = dataclasses.replace(REGRESSOR, value=REGRESSOR.value + 2.0**24)
    expected = node_errors(REGRESSOR, "squared_error", (X_HELD, TARGET_HELD), "0.001")
    got = node_errors(far, "squared_error", (X_HELD, TARGET_HELD + 2.0**24), "0.001")
    np.testing.assert_allclose(got.errors, expected.errors, atol=2)


def test_class_weights_weigh_the_errors() -> None:
    weights = {"ant": 3.0, "bee": 1.0, "cat": 0.25}
    tree = DecisionTreeClassifier(max_depth=2, class_weight=weights, random_state=0).fit(X_TRAIN, LABELS_TRAIN)
    forest = Forest.from_sklearn(tree)
    factors = np.array([weights[label] for label in LABELS])
    expected = []
    for rows in examples_at_nodes(forest, X_TRAIN):
        counts = class_counts(LABELS_TRAIN[rows]) * factors
        expected.append(counts.sum() - counts.max())
    result = node_errors(forest, "misclassification", None, None)
    total = (class_counts(LABELS_TRAIN) * factors).sum()
    np.testing.assert_allclose(result.errors * float(result.resolution), expected, atol=float(result.resolution))
    assert result.error_unit == result.resolution / Fraction(total)


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**-10, 0.5, 1.0, 2.0**20])
def test_the_scale_of_sample_weights_does_not_matter(scale: float) -> None:
    """Weights of one part in a billion are not counts of zero."""
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    forest = Forest.from_sklearn(tree.fit(X_TRAIN, LABELS_TRAIN, sample_weight=np.full(120, scale)))
    counts = Forest.from_sklearn(tree.fit(X_TRAIN, LABELS_TRAIN))
    for loss in IMPURITY:
        result, plain = node_errors(forest, loss, None, None), node_errors(counts, loss, None, None)
        np.testing.assert_allclose(
            result.errors * float(result.error_unit), plain.errors * float(plain.error_unit), rtol=0, atol=1e-5
        )


def test_a_stated_resolution_rounds_each_node_to_the_nearest_step() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    fine = node_errors(forest, "gini", None, "1e-9")
    coarse = node_errors(forest, "gini", None, Fraction(1, 4))
    assert (fine.resolution, coarse.resolution) == (Fraction(1, 10**9), Fraction(1, 4))
    assert coarse.error_unit == Fraction(1, 4) / (120 * forest.n_trees)
    np.testing.assert_allclose(coarse.errors, fine.errors * 4e-9, atol=0.5 + 1e-6)


def test_a_resolution_may_also_coarsen_counts() -> None:
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    counts = node_errors(forest, "misclassification", None, None)
    same = node_errors(forest, "misclassification", None, 1)
    halves = node_errors(forest, "misclassification", None, "1/2")
    np.testing.assert_array_equal(same.errors, counts.errors)
    assert same.error_unit == counts.error_unit
    np.testing.assert_array_equal(halves.errors, 2 * counts.errors)
    assert halves.error_unit * 2 == counts.error_unit


@pytest.mark.parametrize("loss", ["gini", "entropy"])
def test_the_default_resolution_is_a_power_of_two(loss: str) -> None:
    """An example at the roots has 2^15 to 2^16 units on average, all examples together at most 2^28."""
    forest = Forest.from_sklearn(fitted("classifier", "forest"))
    result = node_errors(forest, loss, (X_HELD, LABELS_HELD), None)
    assert result.resolution.numerator == 1
    assert result.resolution.denominator.bit_count() == 1
    total = int(result.errors[forest.tree_offsets[:-1]].sum())
    assert 2**15 <= total / (60 * forest.n_trees) <= 2**16
    rows = np.arange(60).repeat(500)
    many = node_errors(forest, loss, (X_HELD[rows], LABELS_HELD[rows]), None)
    assert 2**27 <= int(many.errors[forest.tree_offsets[:-1]].sum()) <= 2**28
    assert many.resolution > result.resolution


def test_a_perfect_forest_has_no_errors() -> None:
    forest = Forest.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X_TRAIN, ["same"] * 120))
    for loss in IMPURITY:
        assert node_errors(forest, loss, None, None).errors.tolist() == [0]
    constant = Forest.from_sklearn(DecisionTreeRegressor().fit(X_TRAIN, np.full(120, 1.5)))
    assert node_errors(constant, "squared_error", None, None).errors.tolist() == [0]


@pytest.mark.parametrize(
    ("forest", "loss", "error_data", "resolution", "text"),
    [
        (REGRESSOR, "gini", None, None, "loss: expected 'squared_error' for regression, got 'gini'"),
        (REGRESSOR, "misclassification", None, None, "loss: expected 'squared_error' for regression"),
        (CLASSIFIER, "squared_error", None, None, "'gini' or 'entropy' for classification, got 'squared_error'"),
        (CLASSIFIER, "zero-one", None, None, "loss: expected 'misclassification' or .* got 'zero-one'"),
        (CLASSIFIER, "gini", None, -1, "resolution: expected a number > 0, got -1"),
        (CLASSIFIER, "gini", None, "1e-30", r"resolution: expected a step that keeps losses below 2\^62 units, got"),
        (REGRESSOR, "squared_error", (X_HELD, LABELS_HELD), None, "error_data: expected finite numbers as targets"),
        (REGRESSOR, "squared_error", (X_HELD, np.full(60, np.nan)), None, "error_data: expected finite numbers"),
        (CLASSIFIER, "gini", (X_HELD, TARGET_HELD), None, "error_data: expected classes among"),
        (CLASSIFIER, "gini", (X_HELD, LABELS_HELD[:, None]), None, r"error_data: .* shape \(60,\), got \(60, 1\)"),
        (CLASSIFIER, "gini", [X_HELD], None, r"error_data: expected a pair \(X, y\) or \(X, y, weights\), got list"),
    ],
)
def test_bad_losses_are_refused(forest, loss, error_data, resolution, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        node_errors(forest, loss, error_data, resolution)
    assert "\n" not in str(caught.value)


def test_a_criterion_without_squared_errors_needs_error_data() -> None:
    forest = Forest.from_sklearn(fitted("regressor", "forest absolute error"))
    with pytest.raises(
        ValueError, match=r"estimator: .* or error_data = \(X, y\) .* got criterion 'absolute_error' alone"
    ):
        node_errors(forest, "squared_error", None, None)
    assert node_errors(forest, "squared_error", (X_HELD, TARGET_HELD), None).errors.min() >= 0


def test_monotonic_constraints_need_error_data() -> None:
    """Clipped node values are no class fractions, so in-bag counts cannot be read from them."""
    y = np.where(LABELS_TRAIN == "ant", "ant", "bee")
    constraints = [1, -1, 1, -1, 0, 0, 0]
    estimator = RandomForestClassifier(3, monotonic_cst=constraints, random_state=0).fit(X_TRAIN, y)
    forest = Forest.from_sklearn(estimator)
    np.testing.assert_array_equal(forest.predict(X_HELD), estimator.predict(X_HELD))
    with pytest.raises(
        ValueError, match=r"estimator: expected in-bag class fractions .* monotonic constraints\) alone"
    ):
        node_errors(forest, "gini", None, None)
    assert node_errors(forest, "gini", (X_HELD, np.where(LABELS_HELD == "ant", "ant", "bee")), None).errors.any()


def test_weights_of_very_different_size() -> None:
    """Nodes with light examples only are not empty."""
    weights = np.where(LABELS_TRAIN == "cat", 1e-8, 1.0)
    tree = DecisionTreeClassifier(random_state=0).fit(X_TRAIN, LABELS_TRAIN, sample_weight=weights)
    forest = Forest.from_sklearn(tree)
    for loss in IMPURITY:
        assert node_errors(forest, loss, None, None).errors[forest.left == -1].sum() == 0


@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_log_loss_of_weighted_forests(scale: float) -> None:
    """The floor under probabilities counts examples, whatever they weigh."""
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)
    forest = Forest.from_sklearn(tree.fit(X_TRAIN, LABELS_TRAIN, sample_weight=np.full(120, scale)))
    plain = Forest.from_sklearn(tree.fit(X_TRAIN, LABELS_TRAIN))
    held_out = (X_HELD, LABELS_HELD)
    got, expected = (node_errors(each, "entropy", held_out, "1e-6").errors for each in (forest, plain))
    np.testing.assert_allclose(got, expected, atol=1)


def test_in_bag_squared_error_of_averaged_forest_matches_impurity_sum() -> None:
    estimator = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X_TRAIN, TARGET_TRAIN)
    forest = Forest.from_sklearn(estimator)
    instance = PruningInstance.from_forest(forest, X_HELD, FeatureCosts.uniform(N_FEATURES), "squared_error")
    expected = np.mean(
        [
            np.mean((tree.predict(X_TRAIN[drawn]) - TARGET_TRAIN[drawn]) ** 2)
            for tree, drawn in zip(estimator.estimators_, estimator.estimators_samples_, strict=True)
        ]
    )
    np.testing.assert_allclose(float(instance.evaluate(instance.unpruned)[0]), expected, rtol=1e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor])
def test_squared_errors_under_monotonic_constraints_need_error_data(kind: type, seed: int) -> None:
    """scikit-learn stores the impurity about the mean from before a value is clipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] * 2 + np.sin(3 * X[:, 1]) + rng.normal(size=200) * 2
    options = {} if kind is DecisionTreeRegressor else {"n_estimators": 3, "bootstrap": False}
    model = kind(monotonic_cst=[1, 0, -1, 0], random_state=seed, **options).fit(X, y)
    forest = Forest.from_sklearn(model)
    with pytest.raises(ValueError, match=r"estimator: expected in-bag means .* error_data = \(X, y\) .* monotonic"):
        node_errors(forest, "squared_error", None, None)
    errors = node_errors(forest, "squared_error", (X, y), None)
    claimed = float(errors.error_unit * int(errors.errors[forest.is_leaf].sum()))
    true = np.mean([np.square(forest.value[leaves, 0] - y) for leaves in forest.leaves(forest.checked_examples(X))])
    assert claimed == pytest.approx(true, rel=1e-3)


def test_squared_errors_of_targets_far_from_zero_are_right_or_refused() -> None:
    """The stored impurity is a difference of two squares, which loses all digits far from zero."""
    for offset in (0, 1e3, 1e6, 1e8):
        y = TARGET_TRAIN + offset
        tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X_TRAIN, y)
        forest = Forest.from_sklearn(tree)
        try:
            errors = node_errors(forest, "squared_error", None, None)
        except ValueError as problem:
            assert "differ by much less than their size" in str(problem), offset  # noqa: PT017
            continue
        claimed = float(errors.error_unit * int(errors.errors[forest.is_leaf].sum()))
        assert claimed == pytest.approx(float(np.square(tree.predict(X_TRAIN) - y).mean()), rel=1e-3)
    assert offset == 1e8


@pytest.mark.parametrize("usual", [0.7, -3.3])
def test_trees_whose_draws_have_equal_targets_err_by_rounding_alone(usual: float) -> None:
    """Three rare events in 200 examples are in no draw of one tree in twenty: such forests were refused."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.full(200, usual)
    y[[20, 70, 120]] += 5
    model = RandomForestRegressor(40, random_state=0).fit(X, y)
    forest = Forest.from_sklearn(model)
    of_root = forest.impurity[forest.tree_offsets[:-1]]
    assert abs(of_root).min() < 1e-12
    errors = node_errors(forest, "squared_error", None, None)
    claimed = float(errors.error_unit * int(errors.errors[forest.tree_offsets[:-1]].sum()))
    assert claimed == pytest.approx(of_root.mean(), rel=1e-6)


def test_clipped_values_that_add_up_to_the_parents_are_seen() -> None:
    """Both children clipped to the same distance keep the mean, but not the squares."""
    tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 2.0])
    forest = Forest.from_sklearn(tree)
    assert node_errors(forest, "squared_error", None, None).errors.tolist() == [2, 0, 0]
    clipped = dataclasses.replace(forest, value=np.array([[1.0], [0.5], [1.5]]))
    with pytest.raises(ValueError, match="expected in-bag means of the targets at the nodes"):
        node_errors(clipped, "squared_error", None, None)
    moved = dataclasses.replace(forest, value=np.array([[0.0], [0.0], [0.0]]), impurity=np.array([1.0, 1.0, 1.0]))
    assert node_errors(moved, "squared_error", None, None).errors.tolist() == [2, 1, 1]


@pytest.mark.parametrize(("scale", "offset"), [(1e5, 3e5), (1e4, 5e6), (1e9, 1e9), (1, 1e4), (1e7, 0), (1e12, 0)])
def test_targets_may_be_amounts_of_money(scale: float, offset: float) -> None:
    y = np.round(offset + scale * (X_TRAIN[:, 0] - X_TRAIN[:, 0].mean()) + np.linspace(0, scale / 9, len(X_TRAIN)), 2)
    model = RandomForestRegressor(5, random_state=0).fit(X_TRAIN, y)
    assert min(tree.tree_.impurity.min() for tree in model.estimators_) < -1e-9  # rounding of zeros
    errors = node_errors(Forest.from_sklearn(model), "squared_error", None, None)
    roots = Forest.from_sklearn(model).tree_offsets[:-1]
    in_bag = [tree.tree_.impurity[0] for tree in model.estimators_]
    assert float(errors.error_unit * int(errors.errors[roots].sum())) == pytest.approx(np.mean(in_bag), rel=1e-3)


@pytest.mark.parametrize("outlier", [1e12, 1e30])
def test_losses_that_are_integers_as_all_large_floats_are_no_counts(outlier: float) -> None:
    y = X_TRAIN[:, 0].copy()
    y[0] = outlier
    forest = Forest.from_sklearn(DecisionTreeRegressor(max_depth=1, random_state=0).fit(X_TRAIN, y))
    errors = node_errors(forest, "squared_error", (X_TRAIN, y), None)
    exact = np.square(y - y.mean()).mean()
    assert float(errors.error_unit * int(errors.errors[0])) == pytest.approx(exact, rel=1e-3)
