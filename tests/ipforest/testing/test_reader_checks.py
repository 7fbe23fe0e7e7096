"""All readers pass their checks; readers that are wrong in one way fail the check of that name."""

from dataclasses import replace
from functools import cache
from itertools import count

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from ipforest.ensemble import BoostedTrees, Forest, read
from ipforest.ensemble.category_sets import CategorySets
from ipforest.ensemble.libraries import READERS
from ipforest.testing import check_reader, reader_checks

N = 300
SMALL = {"n_estimators": 5, "n_jobs": 1}
SYMMETRIC = {"iterations": 5, "depth": 3, "verbose": False, "thread_count": 1, "allow_writing_files": False}


def numbers(kind):
    """Draw small integers, whose midpoints float32 holds, or numbers of many digits, or such with holes."""
    rng = np.random.default_rng(0)
    if kind == "integers":
        return rng.integers(0, 9, (N, 4)).astype(np.float64)
    X = rng.normal(size=(N, 4))
    if kind == "holes":
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def table(kind):
    if kind == "named":
        return pd.DataFrame(numbers("digits"), columns=["age", "mean radius", "lead", "größe"])
    if kind != "words":
        return numbers(kind)
    X = numbers("integers")
    return pd.DataFrame(
        {"kind": pd.Categorical(np.array([*"xyzuvwrst"])[X[:, 0].astype(int)]), "b": X[:, 1], "c": X[:, 2]}
    )


def score(X):
    values = np.nan_to_num(numbers("integers") if isinstance(X, pd.DataFrame) and X.shape[1] == 3 else np.asarray(X))
    return values[:, 0] % 5 + values[:, 1] * (values[:, 2] > np.median(values[:, 2]))


def library(name):
    return pytest.importorskip(name)


MODELS = {
    "forest": lambda: ("integers", 2, RandomForestClassifier(4, max_depth=4, random_state=0)),
    "forest of three classes": lambda: ("named", 3, RandomForestClassifier(4, max_depth=4, random_state=0)),
    "forest with holes": lambda: ("holes", 2, RandomForestClassifier(4, random_state=0)),
    "regression": lambda: ("digits", 0, RandomForestRegressor(4, max_depth=4, random_state=0)),
    "extra trees": lambda: ("holes", 0, ExtraTreesRegressor(4, max_depth=4, random_state=0)),
    "monotone": lambda: ("digits", 0, RandomForestRegressor(4, monotonic_cst=[1, -1, 0, 0], random_state=0)),
    "bagging": lambda: (
        "named",
        2,
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, max_features=0.6, random_state=0),
    ),
    "boosting": lambda: ("digits", 3, GradientBoostingClassifier(n_estimators=5, random_state=0)),
    "boosting of targets": lambda: (
        "digits",
        0,
        GradientBoostingRegressor(n_estimators=5, loss="huber", random_state=0),
    ),
    "histogram": lambda: ("holes", 2, HistGradientBoostingClassifier(max_iter=5)),
    "histogram of targets": lambda: ("named", 0, HistGradientBoostingRegressor(max_iter=5)),
    "histogram of categories": lambda: (
        "integers",
        2,
        HistGradientBoostingClassifier(max_iter=5, categorical_features=[0, 1]),
    ),
    "histogram of words": lambda: ("words", 2, HistGradientBoostingClassifier(max_iter=5)),
    "lightgbm": lambda: ("holes", 2, library("lightgbm").LGBMClassifier(**SMALL, verbose=-1)),
    "lightgbm of targets": lambda: ("named", 0, library("lightgbm").LGBMRegressor(**SMALL, verbose=-1)),
    "lightgbm of words": lambda: (
        "words",
        3,
        library("lightgbm").LGBMClassifier(**SMALL, verbose=-1, min_data_per_group=1),
    ),
    "xgboost": lambda: ("integers", 2, library("xgboost").XGBClassifier(**SMALL)),
    "xgboost of targets": lambda: ("holes", 0, library("xgboost").XGBRegressor(**SMALL)),
    "xgboost of words": lambda: ("words", 3, library("xgboost").XGBClassifier(**SMALL, enable_categorical=True)),
    "catboost": lambda: ("integers", 2, library("catboost").CatBoostClassifier(**SYMMETRIC)),
    "catboost of targets": lambda: ("holes", 0, library("catboost").CatBoostRegressor(**SYMMETRIC, nan_mode="Max")),
    "catboost of three classes": lambda: ("named", 3, library("catboost").CatBoostClassifier(**SYMMETRIC)),
}
"""The examples, how many classes there are, and the model that is trained on them."""
QUICK = ("forest of three classes", "regression", "boosting", "histogram", "lightgbm", "xgboost", "catboost")


@cache
def trained(name):
    kind, n_classes, model = MODELS[name]()
    X = table(kind)
    y = score(X)
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
        y = y if "xgboost" in name else np.array(["b", "a", "c"])[y]
    return model.fit(X, y), X


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODELS]
)
def test_the_readers_of_the_package_keep_their_promises(name):
    model, X = trained(name)
    for _, check in check_reader(READERS[type(model).__module__.partition(".")[0]], model, X):
        check()


def test_boosters_are_asked_by_a_function():
    model, X = trained("lightgbm")
    for _, check in check_reader(read, model.booster_, X):
        check()
    model, X = trained("xgboost")
    dense = library("xgboost").DMatrix
    for _, check in check_reader(read, model.get_booster(), X, predict=lambda X: model.get_booster().predict(dense(X))):
        check()


def compares_below(model):
    return replace(read(model), comparison="<")


def compares_up_to(model):
    return replace(read(model), comparison="<=")


def compares_in_float64(model):
    return replace(read(model), dtype=np.dtype(np.float64))


def compares_in_float32(model):
    return replace(read(model), dtype=np.dtype(np.float32))


def reads_six_digits(model):
    """Read the thresholds from a text that rounds them."""
    trees = read(model)
    return replace(trees, threshold=np.array([float(f"{each:.6g}") for each in trees.threshold]))


def sends_missing_values_right(model):
    return replace(read(model), missing_left=np.zeros(read(model).n_nodes, dtype=bool))


def takes_infinity_for_a_large_number(model):
    trees = read(model)
    return replace(trees, threshold=np.nan_to_num(trees.threshold, posinf=1e9))


def takes_infinity_for_the_largest_number(model):
    trees = read(model)
    return replace(trees, threshold=np.nan_to_num(trees.threshold))


def swaps_children(model):
    trees = read(model)
    return replace(trees, left=trees.right, right=trees.left)


def forgets_the_base_score(model):
    return replace(read(model), base_score=np.zeros_like(read(model).base_score))


def forgets_the_last_tree(model):
    return read(model).first(read(model).n_trees - 1)


def forgets_the_learning_rate(model):
    return replace(read(model), value=read(model).value / model.learning_rate)


def takes_another_link(model):
    return replace(read(model), link="half logit")


def numbers_the_classes(model):
    return replace(read(model), classes=np.arange(len(model.classes_)))


def orders_classes_as_they_came(model):
    return replace(read(model), classes=read(model).classes[::-1])


def reads_margins_as_targets(model):
    return replace(read(model), classes=None, link="identity")


def forgets_names(model):
    return replace(read(model), feature_names=None)


def gives_counts(model):
    return replace(read(model), value=read(model).value * 9)


def gives_arrays(model):
    return vars(model.estimators_[0])


def counts_the_columns_that_are_tested(model):
    trees = read(model)
    used = np.unique(trees.feature[trees.internal_nodes])
    feature = np.where(trees.is_leaf, -1, np.searchsorted(used, trees.feature))
    return replace(trees, feature=feature, n_features=len(used))


CALLS = count()


def reads_in_another_order(model):
    trees = read(model)
    return trees if next(CALLS) % 2 else trees.reordered(np.arange(trees.n_trees)[::-1])


def unpickles_only_what_it_knows(model):
    """Read by the identity of the model, as a cache by ``id`` does."""
    return read(model) if model is trained("regression")[0] else read(model).first(1)


def takes_the_model_apart(model):
    forest = read(model)
    model.estimators_.reverse()
    return forest


def notes_that_it_was_read(model):
    model.was_read_ = getattr(model, "was_read_", 0) + 1
    return read(model)


def leaves_inner_nodes_at_0(model):
    trees = read(model)
    return replace(trees, value=np.where(trees.is_leaf[:, None], trees.value, 0.0))


def forgets_draws(model):
    """Weigh leaves by the examples in them, inner nodes by how often these were drawn."""
    trees = read(model)
    return replace(trees, weight=np.where(trees.is_leaf, trees.n_samples, trees.weight).astype(np.float64))


def counts_draws_as_examples(model):
    trees = read(model)
    return replace(trees, n_samples=np.where(trees.is_leaf, trees.weight, trees.n_samples).astype(np.int64))


def keeps_no_weights(model):
    trees = read(model)
    return replace(trees, weight=np.ones(trees.n_nodes), n_samples=np.ones(trees.n_nodes, dtype=np.int64))


def test_a_reader_of_models_that_keep_no_weights_passes():
    for _, check in check_reader(keeps_no_weights, *trained("regression")):
        check()


def takes_unknown_categories_left(model):
    trees = read(model)
    sets = trees.left_categories
    return replace(trees, left_categories=CategorySets(sets.offsets, sets.listed, ~sets.others))


def reads_what_is_gone(model):
    return Forest.from_sklearn(model.members)


WRONG = [
    (
        compares_below,
        "forest",
        "goes_as_the_model_at_thresholds",
        r"column \d at node \d+ of tree \d, < \d.5 in float32",
    ),
    (compares_up_to, "xgboost", "goes_as_the_model_at_thresholds", r"<= \d.0 in float32, looks at"),
    (compares_in_float64, "forest", "goes_as_the_model_next_to_thresholds", "in float64, looks at"),
    (compares_in_float32, "histogram", "goes_as_the_model_next_to_thresholds", "in float32, looks at"),
    (reads_six_digits, "histogram", "goes_as_the_model_next_to_thresholds", "looks at"),
    (reads_six_digits, "lightgbm", "goes_as_the_model_at_thresholds", "looks at"),
    (sends_missing_values_right, "histogram", "missing_values_go_as_in_the_model", "looks at nan, got"),
    (sends_missing_values_right, "catboost", "missing_values_go_as_in_the_model", "looks at nan, got"),
    (takes_infinity_for_a_large_number, "absent", "extreme_values_go_as_in_the_model", "looks at 1e"),
    (takes_infinity_for_the_largest_number, "absent", "extreme_values_go_as_in_the_model", "looks at inf"),
    (swaps_children, "forest", "answers_as_the_model", "as the model answers of row 0 of X, got"),
    (swaps_children, "forest", "single_rows_are_answered_alike", "of row 0 of X alone, got"),
    (forgets_the_base_score, "boosting of targets", "answers_as_the_model", "as the model answers of row 0 of X"),
    (forgets_the_last_tree, "regression", "answers_as_the_model", r"as the model answers of row \d of X"),
    (forgets_the_learning_rate, "histogram", "answers_as_the_model", "as the model answers of row 0 of X"),
    (takes_another_link, "histogram", "answers_as_the_model", "as the model answers of row 0 of X"),
    (
        reads_margins_as_targets,
        "histogram",
        "answers_as_the_model",
        r"shape \(300, 2\), as of the model, got \(300, 1\)",
    ),
    (reads_margins_as_targets, "histogram", "classes_are_those_of_the_model", "got None, as of trees for targets"),
    (
        numbers_the_classes,
        "forest",
        "classes_are_those_of_the_model",
        r"expected the classes \['a', 'b'\].* got \[0, 1\]",
    ),
    (orders_classes_as_they_came, "forest", "classes_are_those_of_the_model", r"got \['b', 'a'\]"),
    (forgets_names, "forest of three classes", "names_are_kept", "'größe'.*, got None"),
    (gives_counts, "forest", "gives_trees", "to return class shares >= 0 whose sum is 1"),
    (gives_arrays, "forest", "gives_trees", "to return a Forest or BoostedTrees, got dict"),
    (counts_the_columns_that_are_tested, "one column", "gives_trees", "expected n_features=4, .*, got 1$"),
    (reads_in_another_order, "regression", "reads_alike_again", "expected the same .* read a second time, got another"),
    (unpickles_only_what_it_knows, "regression", "reads_alike_again", "from a copy that was pickled, got another"),
    (takes_the_model_apart, "own", "leaves_the_model_alone", "to stay as it is, got other bytes of pickle.dumps"),
    (notes_that_it_was_read, "own", "leaves_the_model_alone", "to stay as it is, got other bytes of pickle.dumps"),
    (leaves_inner_nodes_at_0, "regression", "inner_values_are_between_those_below", "where it becomes a leaf, between"),
    (forgets_draws, "forest", "weights_add_up", r"weight: expected node \d+ to hold [0-9.]+, as its children do"),
    (counts_draws_as_examples, "regression", "weights_add_up", r"n_samples: expected node \d+ to hold [0-9.]+, as its"),
    (
        takes_unknown_categories_left,
        "histogram of categories",
        "categories_go_as_in_the_model",
        "looks at [0-9.]+, got",
    ),
    (reads_what_is_gone, "forest", "gives_trees", "no attribute 'members'"),
    ("ipforest.ensemble.scikit_learn:read_all", "forest", "gives_trees", "READERS: expected MODULE:FUNCTION"),
]


def model_for(name):
    if name == "absent":
        X = numbers("holes")
        return HistGradientBoostingClassifier(max_iter=3).fit(X, np.isnan(X[:, 0])), X
    if name == "one column":
        X = numbers("digits")
        return RandomForestClassifier(2, max_depth=1, max_features=None, random_state=0).fit(X, X[:, 0] > 0), X
    if name == "own":
        X = numbers("digits")
        return RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 0), X
    return trained(name)


@pytest.mark.parametrize(
    ("reader", "model", "name", "message"),
    WRONG,
    ids=[f"{getattr(reader, '__name__', 'by name')}-{name}" for reader, _, name, _ in WRONG],
)
def test_a_wrong_reader_fails_the_check_that_names_it(reader, model, name, message):
    problems = (AssertionError, AttributeError, ImportError, TypeError, ValueError)
    with pytest.raises(problems, match=message):
        dict(check_reader(reader, *model_for(model)))[name]()


def test_every_check_finds_a_wrong_reader():
    names = {check.__name__.removeprefix("_check_") for check in reader_checks.CHECKS}
    assert names == {name for _, _, name, _ in WRONG}


class LabelsAlone:
    classes_ = (0, 1)

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.parametrize(
    ("arguments", "problem", "message"),
    [
        ((3, RandomForestClassifier(), np.ones((2, 2))), TypeError, "reader: expected a function of a model"),
        ((read, object(), np.ones((2, 2))), TypeError, "model: expected one with predict_proba or predict"),
        ((read, LabelsAlone(), np.ones((2, 2))), TypeError, "predict: expected a function that gives probabilities"),
        ((read, RandomForestClassifier(), np.ones(2)), ValueError, r"X: expected examples .*, got shape \(2,\)"),
        ((read, RandomForestClassifier(), np.ones((0, 2))), ValueError, r"X: expected examples .*, got shape \(0, 2\)"),
    ],
)
def test_what_cannot_be_checked_is_refused(arguments, problem, message):
    with pytest.raises(problem, match=f"^{message}"):
        next(check_reader(*arguments))


def test_a_small_model_of_any_size_is_checked():
    X = np.ones((3, 2))
    model = RandomForestClassifier(1, random_state=0).fit(X, [0, 1, 1])
    assert isinstance(read(model), Forest)
    for _, check in check_reader(read, model, X):
        check()


def test_many_tests_are_looked_at_evenly(monkeypatch):
    model, X = trained("boosting")
    trees = read(model)
    assert isinstance(trees, BoostedTrees)
    monkeypatch.setattr(reader_checks, "MAX_TESTS", 3)
    probes = reader_checks._Probes.of(trees, X, trees.internal_nodes.astype(np.int64))
    assert np.unique(probes.nodes)[[0, -1]].tolist() == trees.internal_nodes[[0, -1]].tolist()
    assert np.unique(probes.nodes).size == 3


def test_a_node_of_votes_may_answer_what_none_below_does():
    def read_votes(model):
        forest = read(model)
        return replace(forest, value=np.eye(3)[forest.value.argmax(axis=1)])

    model, X = trained("forest of three classes")
    forest, inner = read_votes(model), read(model).internal_nodes
    below = np.maximum(forest.value[forest.left[inner]], forest.value[forest.right[inner]])
    assert (forest.value[inner] > below).any()
    dict(check_reader(read_votes, model, X))["inner_values_are_between_those_below"]()
