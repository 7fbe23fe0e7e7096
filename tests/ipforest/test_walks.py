"""Compiled walks buy, test and answer what sessions do, to the last bit."""

import gc
import pickle
from copy import copy, deepcopy
from typing import Any
from weakref import ref

import numpy as np
import pytest
from budgeted_estimators import CLASSIFIERS
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from ipforest import BudgetPrune, EarlyExit
from ipforest._internal.arrays import Array
from ipforest.costs import FeatureCosts
from ipforest.ensemble import BoostedTrees, Forest
from ipforest.ensemble.category_sets import CategorySets
from ipforest.frontiers import AveragedTrees, AveragedTreesRegressor
from ipforest.frontiers.averaged_trees import TreeSettings
from ipforest.frontiers.context_cascades import ContextRouter
from ipforest.policy import Policy, TreesInOrder
from ipforest.results import Pruning
from ipforest.session import Seller, Sessions
from ipforest.stopping.certified_stopping import CertifiedRule
from ipforest.stopping.early_exit_policy import EarlyExitPolicy
from ipforest.stopping.optimal_stopping import StagedRule
from ipforest.stopping.stages import Stage, StagesInOrder
from ipforest.stopping.threshold_stopping import ThresholdStopping
from ipforest.walks import packed
from ipforest.walks.stages import BLOCK
from ipforest.wrappers.calibration import CalibratedClassifier

N_FEATURES = 6


def random_structure(rng: Any, n_trees: int, n_features: int = N_FEATURES) -> dict[str, Any]:
    """Draw trees that test numbers from 0 to 4 and, in the last column, categories."""
    columns: dict[str, list[Any]] = {"left": [], "right": [], "feature": [], "threshold": [], "category_set": []}
    offsets = [0]

    def grow(depth: int) -> int:
        node = len(columns["left"])
        for name, value in {"left": -1, "right": -1, "feature": -1, "threshold": 0.0, "category_set": -1}.items():
            columns[name].append(value)
        if depth and rng.random() < 0.8:
            feature = int(rng.integers(n_features))
            columns["feature"][node], columns["threshold"][node] = feature, float(rng.integers(4)) + 0.5
            columns["category_set"][node] = int(rng.integers(3)) if feature == N_FEATURES - 1 else -1
            columns["left"][node], columns["right"][node] = grow(depth - 1), grow(depth - 1)
        return node

    for _ in range(n_trees):
        grow(4)
        offsets.append(len(columns["left"]))
    return {
        **{name: np.array(values) for name, values in columns.items()},
        "tree_offsets": np.array(offsets),
        "missing_left": rng.random(offsets[-1]) < 0.5,
        "n_features": n_features,
        "comparison": "<=",
        "dtype": np.float32 if rng.random() < 0.5 else np.float64,
        "left_categories": CategorySets.of([([0, 2], False), ([1], True), ([3], False)]),
    }


def random_trees(rng: Any, n_classes: int, n_features: int = N_FEATURES) -> Forest | BoostedTrees:
    structure = random_structure(rng, 7, n_features)
    classes, n = np.arange(n_classes) if n_classes > 1 else None, structure["tree_offsets"][-1]
    if rng.random() < 0.5:
        values = rng.random((n, max(n_classes, 1)))
        values = values / values.sum(axis=1, keepdims=True) if classes is not None else values
        ones = np.ones(n)
        return Forest(
            **structure,
            value=values,
            weight=ones,
            n_samples=ones.astype(int),
            impurity=ones,
            classes=classes,
            criterion="gini",
        )
    n_margins = n_classes if n_classes > 2 else 1
    link = (
        "multinomial logit"
        if n_margins > 1
        else rng.choice(["logit", "half logit"] if classes is not None else ["identity", "log"])
    )
    first = rng.integers(n_margins, size=7).astype(np.int32)
    leaf = structure["left"] < 0
    return BoostedTrees(
        **structure,
        value=np.where(leaf, rng.normal(size=n), 0.0)[:, None],
        first_output=first,
        base_score=rng.normal(size=n_margins),
        classes=classes,
        link=str(link),
    )


def random_rule(rng: Any, kind: str, n_classes: int) -> tuple[Any, float]:
    sign = 1 if n_classes > 1 else -1  # of signals: margins between classes, or minus what a target may still move by
    if kind == "threshold":
        return ThresholdStopping(), -sign * float(rng.random())
    edges = tuple(np.sort(sign * rng.random(rng.integers(0, 3))) for _ in range(3))
    if kind == "staged":
        return StagedRule(edges, tuple(rng.random(each.size + 1) for each in edges), 0.1), float(rng.random())
    first = 1 + int(edges[0].size) + 1
    n_nodes = first + edges[1].size + 1
    following = (0, 2, *[-1] * (n_nodes - 2))
    children = (1, first, *[-1] * (n_nodes - 2))
    bins = (edges[0], edges[1], *[np.empty(0)] * (n_nodes - 2))
    return CertifiedRule(None, rng.random(n_nodes), following, bins, children), float(rng.random())  # type: ignore[arg-type]  # its tree is not asked for


def random_costs(rng: Any) -> FeatureCosts:
    prices, groups = rng.integers(0, 4, N_FEATURES).tolist(), rng.integers(-1, 2, N_FEATURES).tolist()
    return FeatureCosts(prices, groups=groups, group_fees=rng.integers(0, 3, 2).tolist())


def random_examples(rng: Any, n: int = 40) -> Array:
    X = rng.integers(0, 5, (n, N_FEATURES)).astype(np.float64)
    return np.where(rng.random(X.shape) < 0.15, np.nan, X)


def seller_of(rng: Any, costs: FeatureCosts, n_classes: int, class_costs: Array | None) -> Seller:
    return Seller(
        costs,
        0.0,
        np.arange(n_classes) if n_classes > 1 else None,
        tuple(map(str, range(N_FEATURES))),
        True,
        class_costs,
        missing_seen=rng.random(N_FEATURES) < 0.5,
    )


def require_the_same(policy: Policy, seller: Seller, X: Array, max_cost: Any) -> None:
    walk = policy.at_once(seller.purse(max_cost))  # type: ignore[attr-defined]  # not all policies have it
    sessions = Sessions(policy, seller, X.shape[0], max_cost=max_cost)
    sessions.see(X)
    outputs, tests = walk(X)
    np.testing.assert_array_equal(walk(X, answers=False)[1], tests)
    np.testing.assert_array_equal(outputs, sessions.outputs)
    np.testing.assert_array_equal(tests, sessions.tests)
    np.testing.assert_array_equal(tests > 0, sessions.bought)
    order = np.random.default_rng(0).integers(X.shape[0], size=2 * BLOCK + 40)
    np.testing.assert_array_equal(walk(X[order])[0], outputs[order])
    np.testing.assert_array_equal(walk(X[order])[1], tests[order])
    one, tests_of_one = walk(X[:1])
    np.testing.assert_array_equal(one, outputs[:1])
    np.testing.assert_array_equal(tests_of_one, tests[:1])


CASES = [
    (rule, n_classes, capped, priced)
    for rule in (None, "threshold", "staged", "certified")
    for n_classes in (1, 2, 3)
    for capped in (False, True)
    for priced in ((False, True) if n_classes > 1 else (False,))
]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))])
def test_trees_that_a_rule_stops(seed: int) -> None:
    for number, (rule, n_classes, capped, priced) in enumerate(CASES):
        rng = np.random.default_rng([seed, number])
        costs, trees = random_costs(rng), TreesInOrder(random_trees(rng, n_classes))
        class_costs = rng.integers(0, 5, (n_classes, n_classes)).astype(float) if priced else None
        seller = seller_of(rng, costs, n_classes, class_costs)
        policy: Policy = trees
        if rule is not None:
            policy = EarlyExitPolicy(trees, *random_rule(rng, rule, n_classes), seller.free_features, class_costs)
        require_the_same(policy, seller, random_examples(rng), 5 if capped else None)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))])
def test_stages_with_routers(seed: int) -> None:
    for number, (rule, n_classes, capped, priced) in enumerate(case for case in CASES if case[0] is not None):
        rng = np.random.default_rng([seed, number])
        X, y, costs = random_examples(rng), rng.permutation(np.arange(40) % max(n_classes, 3)), random_costs(rng)
        at_threshold = (rng.random(X.shape) < 0.2) & (np.arange(N_FEATURES) < N_FEATURES - 1)
        X[at_threshold] += 0.5 + 1e-12  # as float32, but not as float64, it is no more than the threshold
        class_costs = rng.integers(0, 5, (n_classes, n_classes)).astype(float) if priced else None
        seller = seller_of(rng, costs, n_classes, class_costs)
        y = y % n_classes if n_classes > 1 else y
        sees = [np.array(columns, dtype=np.int64) for columns in ([], [1, 4], [1, 4, 0], [1, 4, 2, 3], [0, 1, 2, 3, 4])]
        mean = AveragedTrees if n_classes > 1 else AveragedTreesRegressor
        averaged = mean()._take_trees(_forests(rng, n_classes, 2), [TreeSettings(False, 1)] * 2)
        models = [
            (DummyClassifier() if n_classes > 1 else DummyRegressor()).fit(X, y),
            averaged,
            _Read(random_trees(rng, n_classes, 3)),
            _Read(random_trees(rng, n_classes, 4)),
            _Read(random_trees(rng, n_classes, 5)),
        ]
        router = DecisionTreeRegressor(max_leaf_nodes=3, random_state=0).fit(np.nan_to_num(X[:, [1, 4]]), y)
        goals = [
            np.array([1]),
            rng.integers(2, 4, router.tree_.node_count),
            np.array([4, -1]),
            np.array([4]),
            np.array([-1]),
        ]
        routers = [None, router, ContextRouter(2, 1.5), None, None]
        stages = [Stage(*each) for each in zip(models, sees, goals, routers, strict=True)]
        policy = StagesInOrder(
            stages, costs, 6 if capped else None, *random_rule(rng, str(rule), n_classes), class_costs
        )
        policy._read._trees = {
            number: (model.trees,) for number, model in enumerate(models) if isinstance(model, _Read)
        }
        require_the_same(policy, seller, X, 6 if capped else None)


class _Read:
    """Stands for a model of another library: what was read of it answers."""

    def __init__(self, trees: Forest | BoostedTrees) -> None:
        self.trees = trees


def _forests(rng: Any, n_classes: int, n_features: int) -> list[Forest]:
    found: list[Forest] = []
    while len(found) < 2:
        trees = random_trees(rng, n_classes, n_features)
        if isinstance(trees, Forest) and trees.dtype == np.float32:
            found.append(trees)
    return found


@pytest.fixture(scope="module")
def fitted() -> EarlyExit:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    return EarlyExit(forest, stopping=ThresholdStopping(), feature_costs=[1, 2, 3, 1], budget=4, random_state=0).fit(
        X, y
    )


def test_cost_comes_with_the_prediction(fitted: EarlyExit) -> None:
    X = load_iris().data
    labels, paid = fitted.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, fitted.predict(X))
    np.testing.assert_array_equal(paid, fitted.cost(X))


def test_what_was_made_ready_is_made_anew_when_the_model_changes(fitted: EarlyExit) -> None:
    X = load_iris().data
    model, calibrated = copy(fitted), CalibratedClassifier(fitted).fit(X, load_iris().target)
    assert model.cost(X).min() == calibrated.cost(X).min() > 0
    other = copy(model)
    model.level_ = np.inf
    assert model.cost(X).max() == 0 < other.cost(X).min()
    calibrated.model_ = model
    assert calibrated.cost(X).max() == 0
    model.level_ = -np.inf
    np.testing.assert_array_equal(calibrated.cost(X), model.cost(X))
    assert calibrated.cost(X).min() > 0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, 2.0, 3.0]]), "X has 3 features, but EarlyExit is expecting 4"),
        (np.array([[1.0, 2.0, 3.0, np.inf]]), "infinity"),
        (np.full((1, 4), 1e39), "too large"),
        (np.ones(4), "expected 2 dimensions"),
        (np.empty((0, 4)), "0 sample"),
        (np.array([["a", "b", "c", "d"]]), "expected numbers, got 'a' in column 0"),
    ],
)
def test_arrays_are_checked_when_the_model_is_ready(fitted: EarlyExit, X: Array, message: str) -> None:
    fitted.predict(np.ones((1, 4)))
    with pytest.raises(ValueError, match=message):
        fitted.predict(X)


def test_arrays_without_the_names_of_training_are_noticed_each_time() -> None:
    frame = load_iris(as_frame=True)
    model = BudgetPrune(RandomForestClassifier(3, max_depth=2, random_state=0), random_state=0).fit(
        frame.data, frame.target
    )
    for _ in range(2):
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(frame.data.to_numpy())


def test_rules_of_others_stop_through_sessions(fitted: EarlyExit) -> None:
    class Never:
        def keenness(self, stage: Array, signal: Array, memory: Array) -> tuple[Array, Array]:
            return np.full(stage.size, np.inf), memory

    model, X = copy(fitted), load_iris().data
    model.rule_ = Never()
    assert model._ready.walk is None
    assert model.cost(X).mean() > fitted.cost(X).mean()


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_was_made_ready_keeps_no_model(name: str) -> None:
    X = np.random.default_rng(0).normal(size=(80, 4))
    model = CLASSIFIERS[name](FeatureCosts([1, 2, 1, 3])).fit(X, X[:, 0] + X[:, 1] > 0)
    model.predict(X)
    kept = ref(model)
    del model
    gc.collect()
    assert kept() is None


class Holding(TreesInOrder):
    """Trees in order that know the estimator they are of."""

    owner: Any


class Held(BudgetPrune):
    """Buys by a policy of a user's that holds it."""

    def policy(self) -> Holding:
        policy = Holding(self.pruned_)
        policy.owner = self
        return policy


def fitted_held() -> tuple[Held, Array]:
    X, y = load_iris(return_X_y=True)
    return Held(RandomForestClassifier(3, max_depth=3, random_state=0), budget=2, random_state=0).fit(X, y), X


def test_a_policy_that_holds_its_estimator_is_freed_with_it() -> None:
    model, X = fitted_held()
    model.predict(X)
    kept = ref(model)
    del model
    gc.collect()
    assert kept() is None


def test_what_is_ready_is_neither_state_nor_copied_nor_pickled() -> None:
    model, X = fitted_held()
    before = dict(vars(model))
    expected = model.predict(X)
    assert vars(model) == before
    for other in (copy(model), deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert getattr(other, "_kept", None) is None
        assert np.array_equal(other.predict(X), expected)
        assert other._ready.policy.owner is other


def test_a_tree_of_one_leaf_has_no_test_in_the_memory_beside_it() -> None:
    X, y = load_iris(return_X_y=True)
    forest = Forest.from_sklearn(RandomForestClassifier(1, max_depth=1, random_state=0).fit(X, y))
    leaf = forest.prune(Pruning(np.zeros(forest.n_internal, dtype=bool)))
    assert leaf.n_nodes == 1
    for _ in range(50):  # what was in the memory before differs
        splits = packed(leaf.splits)
        assert (splits.left == -1).all()


def test_one_huge_target_leaves_the_other_predictions_alone() -> None:
    X = np.random.default_rng(0).normal(size=(400, 5))
    y = X[:, 0] + X[:, 1]
    y[0] = 1e15
    model = BudgetPrune(RandomForestRegressor(20, random_state=0), random_state=0).fit(X, y)
    expected = model.to_trees().predict(X.astype(np.float32))
    assert np.count_nonzero(np.abs(expected) < 100) > 300
    np.testing.assert_array_equal(model.predict(X), expected)
