import numpy as np
import pytest
from growing_checks import class_reduction, cuts, members_of_nodes, price_per_example, units_above
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ipforest import FeatureCosts
from ipforest._internal.kernels import njit
from ipforest.growing import (
    AcquisitionState,
    CodedExamples,
    Entropy,
    Gini,
    Gradient,
    Grower,
    Powers,
    ThresholdPairs,
    bootstrap_counts,
    forest_of,
    splitting,
)
from ipforest.growing.grower import _scratch
from ipforest.growing.splitting import TOTAL, Criterion
from proofs.claims import impurity as exact

UNIFORM = FeatureCosts.uniform(4)
GROUPED = FeatureCosts([1, "0.5", 0, 3], groups=[-1, 0, 0, -1], group_fees=[2])


@njit
def general_cut(table, lows, highs, criterion, node, impurity, scratch):
    runs = splitting.runs_of_table(table, scratch)
    return splitting.best_cut(runs, np.uint64(0), lows, highs, criterion, node, impurity, scratch)


@njit
def gradient_cut(table, lows, highs, l2, least, node, impurity):
    return splitting.best_gradient_cut(table, lows, highs, l2, least, node, impurity)


def grid_data(seed, n_samples=60, n_features=4, missing=0.1, n_values=6):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, size=(n_samples, n_features)).astype(np.float32)
    score = (X[:, 0] > 2).astype(int) + (X[:, 1] * X[:, 2] > 6) + (rng.random(n_samples) < 0.2)
    labels = np.minimum(score, 2)
    X[rng.random(X.shape) < missing] = np.nan
    return X, labels


def smooth_data(seed, n_samples=400, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32)
    target = X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2] + 0.3 * rng.normal(size=n_samples)
    return X, target


def no_price(n_features):
    return AcquisitionState.per_tree(FeatureCosts.uniform(n_features))


@st.composite
def criteria(draw):
    impurity = draw(st.sampled_from([Entropy(), Gini(), ThresholdPairs(0), ThresholdPairs(2), Powers(3)]))
    return impurity, draw(st.sampled_from(["minimax", "expected", "total"]))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    criterion=criteria(),
    seed=st.integers(0, 10**6),
    missing=st.sampled_from([0.0, 0.2]),
    costs=st.sampled_from([UNIFORM, GROUPED]),
    sharing=st.sampled_from(["each test", "path", "examples"]),
    min_samples_leaf=st.sampled_from([1, 4]),
)
def test_every_split_has_the_least_risk_of_all(criterion, seed, missing, costs, sharing, min_samples_leaf):
    impurity, reduction = criterion
    X, labels = grid_data(seed, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, size=len(X)).astype(float)
    state = AcquisitionState.per_tree(costs, free_on_path=sharing != "each test")
    if sharing == "examples":
        state = AcquisitionState.per_example(costs, len(X))
        state.record(np.random.default_rng(seed).random(X.shape) < 0.4)
    before = state.bought.copy()
    grower = Grower(impurity, reduction, price_weight=0.3, max_depth=4, min_samples_leaf=min_samples_leaf)
    tree = grower.grow_classifiers(
        CodedExamples.from_examples(X), labels, 3, state, weights=weights[None], seeds=[seed]
    )
    owned = units_above(tree, costs)
    for node, members in members_of_nodes(tree, X).items():
        assert tree.n_samples[node] == members.size
        assert tree.weight[node] == weights[members].sum()
        if tree.left[node] < 0:
            continue
        w, y = weights[members], labels[members]
        bought = before[members] if sharing == "examples" else None
        merits = {}
        for feature in range(X.shape[1]):
            path = owned[node] if sharing != "each test" else frozenset()
            price = price_per_example(feature, costs, path, bought, w)
            for left in cuts(X[members, feature]):
                if min(left.sum(), (~left).sum()) < min_samples_leaf:
                    continue
                gain = class_reduction(impurity, reduction, y, w, left, 3)
                if reduction == "total":
                    merits[feature, left.tobytes()] = gain - 0.3 * price * w.sum()
                elif gain > 1e-9:
                    merits[feature, left.tobytes()] = -price / gain
        values = X[members, tree.feature[node]]
        chosen = np.where(np.isnan(values), tree.missing_left[node], values <= tree.threshold[node])
        key = int(tree.feature[node]), chosen.astype(bool).tobytes()
        assert merits[key] == pytest.approx(max(merits.values()), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("criterion", ["entropy", "gini"])
@pytest.mark.parametrize("seed", range(4))
def test_classification_trees_are_those_of_scikit_learn(criterion, seed):
    X, target = smooth_data(seed)
    labels = np.digitize(target, [-0.5, 0.7])
    weights = np.random.default_rng(seed).integers(500, 2000, size=len(X)).astype(float)
    reference = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=5, random_state=0)
    reference.fit(X, labels, sample_weight=weights)
    impurity = Entropy() if criterion == "entropy" else Gini()
    grower = Grower(impurity, min_samples_leaf=5, price_weight=0)
    tree = grower.grow_classifiers(CodedExamples.from_examples(X), labels, 3, no_price(5), weights=weights[None])
    assert shape_of(tree) == shape_of_sklearn(reference.tree_)


@pytest.mark.parametrize("options", [{"max_depth": 4}, {"max_leaf_nodes": 11}])
@pytest.mark.parametrize("seed", range(4))
def test_regression_trees_are_those_of_scikit_learn(options, seed):
    X, target = smooth_data(seed)
    reference = DecisionTreeRegressor(min_samples_leaf=4, random_state=0, **options).fit(X, target)
    grower = Grower(Gradient(), price_weight=0, min_samples_leaf=4, **options)
    tree = grower.grow_regressors(CodedExamples.from_examples(X), -target[None], np.ones(len(X))[None], no_price(5))
    assert shape_of(tree) == shape_of_sklearn(reference.tree_)
    forest = forest_of([tree], 5, None, "squared_error")
    np.testing.assert_allclose(forest.predict(X), reference.predict(X), rtol=1e-9)


def shape_of(tree, node=0):
    if tree.left[node] < 0:
        return int(tree.n_samples[node])
    test = int(tree.feature[node]), float(tree.threshold[node])
    return test, shape_of(tree, tree.left[node]), shape_of(tree, tree.right[node])


def shape_of_sklearn(tree, node=0):
    if tree.children_left[node] < 0:
        return int(tree.n_node_samples[node])
    test = int(tree.feature[node]), float(tree.threshold[node])
    return (test, shape_of_sklearn(tree, tree.children_left[node]), shape_of_sklearn(tree, tree.children_right[node]))


def test_bins_of_few_values_are_the_values():
    X, labels = grid_data(0, n_samples=500, missing=0.1)
    grower = Grower(Entropy(), price_weight=0)
    exact_tree, binned = (
        grower.grow_classifiers(CodedExamples.from_examples(X, bins), labels, 3, no_price(4)) for bins in (None, 255)
    )
    assert shape_of(exact_tree) == shape_of(binned)


@pytest.mark.parametrize("max_bins", [2, 16, 255])
def test_codes_are_ascending_and_bins_about_equally_full(max_bins):
    X = np.random.default_rng(0).lognormal(size=(2000, 2)).astype(np.float32)
    X[::7, 1] = np.nan
    coded = CodedExamples.from_examples(X, max_bins)
    for feature in range(2):
        first, past = coded.offsets[feature : feature + 2]
        codes, lows, highs = coded.codes[feature], coded.lows[first:past], coded.highs[first:past]
        present = codes < past - first
        np.testing.assert_array_equal(present, ~np.isnan(X[:, feature]))
        values = X[present, feature]
        assert np.all((lows[codes[present]] <= values) & (values <= highs[codes[present]]))
        assert np.all(highs[:-1] < lows[1:])
        sizes = np.bincount(codes[present])
        assert sizes.size == max_bins
        assert sizes.max() <= 2 * present.sum() / max_bins


def test_a_coarsely_binned_tree_is_nearly_as_good():
    X, target = smooth_data(1, 1500)
    labels = (target > 0).astype(int)
    forests = [
        forest_of(
            [Grower(Entropy(), price_weight=0, max_depth=6).grow_classifiers(
                CodedExamples.from_examples(X[:1000], bins), labels[:1000], 2, no_price(5)
            )],
            5,
            np.array([0, 1]),
            "entropy",
        )
        for bins in (None, 32)
    ]  # fmt: skip
    errors = [np.mean(forest.predict(X[1000:]) != labels[1000:]) for forest in forests]
    assert errors[1] < errors[0] + 0.04


def test_missing_values_go_where_they_help():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    X[:100, 0] = np.nan
    labels = np.where(np.isnan(X[:, 0]), 1, (X[:, 0] > 0).astype(int))
    tree = Grower(Entropy(), price_weight=0).grow_classifiers(CodedExamples.from_examples(X), labels, 2, no_price(2))
    assert tree.n_nodes == 3
    assert not tree.missing_left[0]
    only_missing = np.where(np.isnan(X[:, 0]), 1, 0)
    tree = Grower(Entropy(), price_weight=0).grow_classifiers(
        CodedExamples.from_examples(X), only_missing, 2, no_price(2)
    )
    assert (tree.n_nodes, tree.threshold[0]) == (3, np.inf)
    forest = forest_of([tree], 2, np.array([0, 1]), "entropy")
    np.testing.assert_array_equal(forest.predict(X), only_missing)


def test_unseen_missing_values_go_with_the_majority():
    X = np.array([[0], [1], [2], [3]], dtype=np.float32)
    for labels, left in (([0, 0, 0, 1], True), ([0, 1, 1, 1], False)):
        tree = Grower(Gini(), price_weight=0).grow_classifiers(
            CodedExamples.from_examples(X), np.array(labels), 2, no_price(1)
        )
        assert tree.missing_left[0] == left


@pytest.mark.parametrize("max_bins", [None, 255])
def test_threads_change_nothing(max_bins):
    X, target = smooth_data(2)
    labels = (target > 0).astype(int)
    grower = Grower(ThresholdPairs(1), "minimax", random_cuts=True, max_features=2)
    draws = np.random.RandomState(0)
    weights = [bootstrap_counts(len(X), draws) for _ in range(6)]
    coded = CodedExamples.from_examples(X, max_bins)
    one, two = (
        grower.grow_bagged(coded, labels, 2, no_price(5), weights, list(range(6)), n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_array_equal(a.threshold, b.threshold)


def test_sums_passed_to_children_are_those_of_their_examples():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(4000, 6)).astype(np.float32)
    gradients = rng.normal(size=4000) + X[:, 0] * X[:, 1] - X[:, 2]
    tables, sorting = (
        Grower(Gradient(1.0), price_weight=0, max_depth=6, max_leaf_nodes=leaves).grow_regressors(
            CodedExamples.from_examples(X), gradients[None], np.ones(4000)[None], no_price(6)
        )
        for leaves in (None, 64)
    )
    for tree in (tables, sorting):
        for node, members in members_of_nodes(tree, X).items():
            assert tree.n_samples[node] == members.size
            assert tree.value[node, 0] == pytest.approx(-gradients[members].sum() / (members.size + 1.0))
    assert shape_of(tables) == shape_of(sorting)


def test_random_cuts_lie_inside_the_node_and_follow_the_seed():
    X, target = smooth_data(4)
    labels = (target > 0).astype(int)
    coded = CodedExamples.from_examples(X)
    grower = Grower(ThresholdPairs(0), "minimax", random_cuts=True)
    trees = [grower.grow_classifiers(coded, labels, 2, no_price(5), seeds=[seed]) for seed in (0, 0, 1)]
    assert shape_of(trees[0]) == shape_of(trees[1]) != shape_of(trees[2])
    for node, members in members_of_nodes(trees[0], X).items():
        if trees[0].left[node] >= 0:
            values = X[members, trees[0].feature[node]]
            assert values.min() <= trees[0].threshold[node] < values.max()


def test_an_example_drawn_twice_counts_twice_in_the_number_of_random_cuts():
    X, target = smooth_data(4)
    X, labels = X[:300], (target[:300] > 0).astype(int)
    grower = Grower(ThresholdPairs(0), "minimax", random_cuts=True, max_depth=3)
    drawn, repeated = (
        grower.grow_classifiers(
            CodedExamples.from_examples(np.repeat(X, copies, axis=0)),
            np.repeat(labels, copies),
            2,
            no_price(5),
            weights=np.full(300 * copies, 2.0 / copies)[None],
            seeds=[3],
        )
        for copies in (1, 2)
    )
    assert drawn.feature.tolist() == repeated.feature.tolist()
    np.testing.assert_array_equal(drawn.threshold, repeated.threshold)


def test_between_classes_that_a_gap_parts_random_thresholds_fill_the_gap():
    X = np.array([[0.0], [0.1], [0.9], [1.0]], dtype=np.float32)
    coded = CodedExamples.from_examples(X)
    grower = Grower(ThresholdPairs(0), "minimax", random_cuts=True)
    labels = np.array([0, 0, 1, 1])
    trees = [grower.grow_classifiers(coded, labels, 2, no_price(1), seeds=[seed]) for seed in range(300)]
    thresholds = np.array([tree.threshold[0] for tree in trees])
    counts, _ = np.histogram(thresholds, bins=4, range=(0.1, 0.9))
    assert counts.sum() == 300
    assert counts.min() > 45
    assert all(tree.n_nodes == 3 for tree in trees)


def test_random_subsets_hide_features():
    X, _ = smooth_data(6, n_features=3)
    labels = (X[:, 0] > 0).astype(int)
    coded = CodedExamples.from_examples(X)
    roots = {
        int(Grower(Entropy(), price_weight=0, max_features=1).grow_classifiers(
            coded, labels, 2, no_price(3), seeds=[seed]
        ).feature[0])
        for seed in range(20)
    }  # fmt: skip
    assert roots == {0, 1, 2}


def test_constant_features_do_not_use_up_the_subset():
    X, _ = smooth_data(7)
    X[:, 1:] = 1.0
    labels = (X[:, 0] > 0).astype(int)
    grower = Grower(Entropy(), price_weight=0, max_features=1)
    tree = grower.grow_classifiers(CodedExamples.from_examples(X), labels, 2, no_price(5))
    assert shape_of(tree)[0][0] == 0


def test_what_was_bought_is_free():
    X, target = smooth_data(8)
    labels = (target > 0).astype(int)
    coded = CodedExamples.from_examples(X)
    costs = FeatureCosts([1, 1, 1, 1, 1000])
    for state, owned in ((AcquisitionState.per_ensemble(costs), 1), (AcquisitionState.per_example(costs, len(X)), 400)):
        grower = Grower(Gini(), price_weight=1e6)
        assert grower.grow_classifiers(coded, labels, 2, state).n_nodes == 1
        usage = np.zeros(X.shape, dtype=int)
        usage[:, 4] = 2
        state.record(usage)
        assert state.bought.sum() == owned
        tree = grower.grow_classifiers(coded, labels, 2, state)
        assert tree.n_nodes > 1
        assert set(tree.feature[tree.left >= 0]) == {4}


def test_a_unit_is_priced_by_those_who_lack_it():
    X, _ = smooth_data(9)
    labels = (X[:, 0] > 0).astype(int)
    state = AcquisitionState.per_example(FeatureCosts.uniform(5), len(X))
    usage = np.zeros(X.shape, dtype=int)
    usage[:300, 0] = 1
    state.record(usage)
    gain = Entropy().of(np.bincount(labels)) * len(X)
    for price_weight, n_nodes in ((gain / 100 * 1.01, 1), (gain / 100 * 0.99, 3)):
        tree = Grower(Entropy(), price_weight=price_weight).grow_classifiers(
            CodedExamples.from_examples(X), labels, 2, state
        )
        assert tree.n_nodes == n_nodes


def section_24():
    table = exact.section_24_table()
    return CodedExamples.from_examples(table.features.astype(np.float32)), table


def test_section_24_takes_depth_2_for_a_few_errors_and_depth_10_for_none():
    coded, table = section_24()
    grower = Grower(ThresholdPairs(0), "minimax", max_depth=2)
    state = AcquisitionState.per_tree(FeatureCosts.uniform(10), free_on_path=False)
    shallow = forest_of([grower.grow_classifiers(coded, table.labels, 4, state)], 10, np.arange(4), "threshold-pairs")
    X = table.features.astype(np.float32)
    assert np.mean(shallow.predict(X) != table.labels) == 4 / 1024
    assert shallow.cost(X, state.costs).max() == 2
    for depth, errors in ((9, True), (10, False)):
        grower = Grower(ThresholdPairs(0), "minimax", max_depth=depth)
        tree = grower.grow_classifiers(coded, table.labels, 4, state)
        forest = forest_of([tree], 10, np.arange(4), "threshold-pairs")
        assert np.any(forest.predict(X) != table.labels) == errors


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("alpha", [0, 1])
def test_max_cost_is_within_the_bound_of_theorem_22(seed, alpha):
    rng = np.random.default_rng(seed)
    table = exact.random_table(rng, 12, 4, 3)
    impurity = exact.threshold_pairs(alpha)
    optimum = optimal_for(table, impurity)
    costs = FeatureCosts(list(table.prices))
    grower = Grower(ThresholdPairs(alpha), "minimax")
    X = table.features.astype(np.float32)
    n_classes = int(table.labels.max()) + 1
    state = AcquisitionState.per_tree(costs, free_on_path=False)
    tree = grower.grow_classifiers(CodedExamples.from_examples(X), table.labels, n_classes, state)
    forest = forest_of([tree], 4, np.arange(n_classes), "threshold-pairs")
    worst = forest.cost(X, costs).max()
    counts = table.counts(np.arange(12))
    smallest = exact.smallest_positive_impurity(impurity, counts)
    if smallest is None or impurity(counts) == 0:
        assert worst == 0
    else:
        assert worst <= (np.log(float(impurity(counts) / smallest)) + 1) * optimum + 1e-9


def optimal_for(table, impurity):
    optimum = exact.optimal_max_cost(table, impurity)
    assert optimum is not None
    return optimum


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reduction": "least"}, "reduction: expected one of minimax, expected, total, got 'least'"),
        ({"impurity": Gradient(), "reduction": "minimax"}, "reduction: expected 'total' with gradients, got 'minimax'"),
        ({"max_features": 0}, "max_features: expected at least 1, got 0"),
        ({"min_samples_split": 1}, "min_samples_split: expected at least 2, got 1"),
    ],
)
def test_bad_growers_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Grower(**{"impurity": Entropy(), **change})


def test_bad_data_are_refused():
    X, labels = grid_data(0)
    coded = CodedExamples.from_examples(X)
    with pytest.raises(ValueError, match="weights: expected an example of positive weight, got none"):
        Grower(Entropy()).grow_classifiers(coded, labels, 3, no_price(4), weights=np.zeros(len(X))[None])
    with pytest.raises(ValueError, match="max_bins: expected None or 2..255, got 256".replace(".", r"\.")):
        CodedExamples.from_examples(X, 256)
    with pytest.raises(ValueError, match="impurity: expected one of class counts, got Gradient"):
        Grower(Gradient()).grow_classifiers(coded, labels, 3, no_price(4))
    with pytest.raises(ValueError, match="impurity: expected Gradient, got entropy"):
        Grower(Entropy()).grow_regressors(coded, X[:, 0][None], X[:, 0][None], no_price(4))


@pytest.mark.slow
@pytest.mark.parametrize("min_samples_leaf", [1, 4])
def test_the_quick_search_for_gradients_finds_the_cut_of_the_general_one(min_samples_leaf):
    rng = np.random.default_rng(0)
    criterion = Criterion(Gradient(0.5).code, Gradient(0.5).parameters, False, TOTAL, min_samples_leaf, False)
    for n_codes in (1, 2, 5, 30):
        lows = np.sort(rng.random(2 * n_codes))
        for trial in range(40):
            counts = rng.integers(0, 4, n_codes + 1) * (rng.random(n_codes + 1) < 0.7)
            counts[-1] *= trial % 2
            counts[0] += counts.sum() == 0
            table = (
                np.column_stack([rng.normal(size=n_codes + 1), rng.random(n_codes + 1), counts]) * (counts > 0)[:, None]
            )
            node = table.sum(axis=0)
            impurity = -0.5 * node[0] ** 2 / (node[1] + 0.5)
            scratch = _scratch(n_codes, int(counts.sum()) + n_codes, 3, 0)
            general = general_cut(table, lows[::2], lows[1::2], criterion, node, impurity, scratch)
            quick = gradient_cut(table, lows[::2], lows[1::2], 0.5, min_samples_leaf, node, impurity)
            assert quick.code == general.code
            assert quick.missing_left == general.missing_left
            np.testing.assert_allclose([quick.reduction, quick.threshold], [general.reduction, general.threshold])
