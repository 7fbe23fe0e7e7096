"""Models of other people: names that are kept, methods and losses of their own, labels and fields unforeseen."""

import dataclasses
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import NODE_DTYPE, Tree
from skops import io as skops_io

from ipforest import (
    BudgetedClassifier,
    BudgetPrune,
    FeatureCosts,
    Forest,
    NestedStages,
    PruningInstance,
    PruningSettings,
)
from ipforest.adaptive import AdaptGbrt, BoostedSearch
from ipforest.ensemble import read, sklearn_trees
from ipforest.ensemble.boosted import BoostedTrees
from ipforest.ensemble.category_sets import CategorySets
from ipforest.ensemble.library_checks import require_known_parts
from ipforest.ensemble.refitting import fill_inner_values, mean_loss, refit_by_newton, refit_jointly
from ipforest.learners.forest_pruner import check_own_samples
from ipforest.stopping import NestedCascade
from ipforest.tabular.price_lists import read_prices

DIABETES = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
QUIET = {"verbose": False, "thread_count": 1, "allow_writing_files": False, "depth": 3}
NAMES = {
    "underscores and blanks": ["mean_radius", "mean texture", "größe", "b"],
    "made up by LightGBM": ["Column_2", "Column_0", "Column_1", "Column_3"],
    "made up by LightGBM, in order": ["Column_0", "Column_1", "Column_2", "Column_3"],
    "made up by XGBoost": ["f0", "f1", "f2", "f3"],
    "numbers as text": ["0", "1", "2", "3"],
    "numbers as text, in another order": ["3", "1", "0", "2"],
    "numbers": [0, 1, 2, 3],
}


def quick(library: str, **options: Any) -> Any:
    """Make a small model of a library."""
    if library == "sklearn":
        return RandomForestClassifier(3, random_state=0, **options)
    if library == "histogram":
        return HistGradientBoostingClassifier(max_iter=4, **options)
    package = pytest.importorskip(library)
    if library == "catboost":
        return package.CatBoostClassifier(4, **QUIET, **options)
    if library == "lightgbm":
        return package.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1, **options)
    return package.XGBClassifier(n_estimators=4, n_jobs=1, **options)


KNOWN_FIELDS = [(name, NODE_DTYPE[name]) for name in NODE_DTYPE.names]
LIBRARIES = ("sklearn", "histogram", "lightgbm", "xgboost", "catboost")


@pytest.mark.slow
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_names_are_kept_and_matched(library: str, names: list[Any]) -> None:
    X, y = CANCER
    frame = pd.DataFrame(X[:, :4], columns=names)
    trees = read(quick(library).fit(frame, y))
    np.testing.assert_array_equal(trees.predict(frame), trees.predict(frame.to_numpy()))
    with pytest.raises(ValueError, match=r"X: expected (the )?columns"):
        trees.predict(frame.iloc[:, ::-1])
    price = {name: 10**place for place, name in enumerate(names)}
    backwards = {str(name): price[name] for name in reversed(names)}
    by_hand = (trees.feature_usage(frame) > 0) @ np.array([*price.values()])
    np.testing.assert_allclose(trees.cost(frame, FeatureCosts(backwards)), by_hand)
    features = trees.n_features if trees.feature_names is None else trees.feature_names
    np.testing.assert_allclose(trees.cost(frame, read_prices(backwards).costs_for(features)), by_hand)
    with pytest.raises(ValueError, match="expected"):
        trees.cost(frame, FeatureCosts(dict.fromkeys("wxyz", 1)))


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_was_trained_on_an_array_has_no_names(library: str) -> None:
    X, y = CANCER
    trees = read(quick(library).fit(X[:, :12], y))
    assert trees.feature_names is None
    with pytest.raises(ValueError, match="as the features have no names; got a price of 'a'"):
        trees.cost(X[:, :12], FeatureCosts(dict.fromkeys("abcdefghijkl", 1)))
    price = {str(column): 100 if column == 10 else 1 for column in range(12)}
    sorted_as_text = {key: price[key] for key in sorted(price)}
    by_hand = (trees.feature_usage(X[:, :12]) > 0) @ np.array([*price.values()])
    for costs in (FeatureCosts(sorted_as_text), read_prices(sorted_as_text).costs_for(12)):
        np.testing.assert_allclose(trees.cost(X[:, :12], costs), by_hand)


def test_blanks_that_lightgbm_wrote_as_underscores_are_matched_unless_ambiguous() -> None:
    frame, y = pd.DataFrame(CANCER[0][:, :3], columns=["mean radius", "b", "c d"]), CANCER[1]
    trees = read(quick("lightgbm").fit(frame, y))
    assert trees.feature_names == ("mean_radius", "b", "c_d")
    written = frame.rename(columns={"mean radius": "mean_radius"})
    np.testing.assert_array_equal(trees.predict(frame), trees.predict(written))
    ambiguous = frame.set_axis(["mean radius", "mean_radius", "c d"], axis=1)
    with pytest.raises(ValueError, match="got 'mean_radius' twice"):
        trees.predict(ambiguous)
    with pytest.raises(ValueError, match="'mean_radius' twice"):
        trees.matched_costs(FeatureCosts({"mean radius": 1, "mean_radius": 2, "c d": 3}))
    with pytest.raises(ValueError, match=r"expected one price for 'mean.radius', got another for 'mean.radius'"):
        read_prices({"mean radius": 1, "mean_radius": 2, "b": 1, "c d": 3}).costs_for(trees.feature_names)


def test_a_forest_that_budget_prune_trains_keeps_names() -> None:
    frame, y = load_breast_cancer(return_X_y=True, as_frame=True)
    for costs in (None, FeatureCosts(dict.fromkeys(reversed([*frame]), 1))):
        model = BudgetPrune(RandomForestClassifier(5, random_state=0), feature_costs=costs, budget=5).fit(frame, y)
        assert model.forest_.feature_names == model.pruned_.feature_names == tuple(frame)
        with pytest.raises(ValueError, match="X: expected the columns in the order of training"):
            model.pruned_.predict(frame[frame.columns[::-1]])
        with pytest.raises(ValueError, match="X: expected the columns in the order of training"):
            model.forest_.cost(frame[frame.columns[::-1]], model.costs_)


def test_prices_by_name_do_not_go_by_position() -> None:
    X, y = CANCER
    prices = {f"feature {column}": column for column in range(30)}
    by_name = (
        FeatureCosts(prices),
        FeatureCosts(pd.Series(prices)),
        FeatureCosts([1] * 30, dict.fromkeys(prices, 0), [5]),
    )
    for costs in by_name:
        with pytest.raises(ValueError, match="the columns of X, which have no names"):
            BudgetPrune(RandomForestClassifier(3), feature_costs=costs, budget=5).fit(X, y)
    in_order = FeatureCosts([*prices.values()], feature_names=[*prices])
    assert BudgetPrune(RandomForestClassifier(3), feature_costs=in_order, budget=5).fit(X, y).cost(X).max() > 0


def test_arrow_tables_have_names() -> None:
    arrow = pytest.importorskip("pyarrow")
    X, y = CANCER
    trees = read(quick("sklearn").fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), y))
    with pytest.raises(ValueError, match="X: expected the columns in the order of training"):
        trees.predict(arrow.table({"b": X[:, 1], "a": X[:, 0]}))


class Median(BaseEstimator):  # type: ignore[misc]
    """A mixin that predicts medians."""

    def predict(self, X: Any) -> Any:
        return np.median([tree.predict(X) for tree in self.estimators_], axis=0)


class MedianForest(Median, RandomForestRegressor):  # type: ignore[misc]
    """It comes before the forest."""


class OwnInputs(ExtraTreesRegressor):  # type: ignore[misc]
    def _validate_X_predict(self, X: Any) -> Any:
        return super()._validate_X_predict(np.asarray(X) + 1)


class OwnMargins(GradientBoostingClassifier):  # type: ignore[misc]
    def _raw_predict(self, X: Any) -> Any:
        return -super()._raw_predict(X)


class OwnStump(DecisionTreeRegressor):  # type: ignore[misc]
    def predict(self, X: Any, check_input: bool = True) -> Any:
        return np.zeros(len(X))


class Harmless(RandomForestRegressor):  # type: ignore[misc]
    """Trains in another way and can do more, but predicts as its base does."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(X, np.sqrt(y), sample_weight)

    def predict_quantiles(self, X: Any) -> Any:
        return X


@pytest.mark.parametrize("model", [MedianForest(5), OwnInputs(5), BaggingRegressor(OwnStump(), 3)], ids=repr)
def test_predictions_of_ones_own_are_refused(model: Any) -> None:
    X, y = DIABETES
    told = r"expected one that predicts as sklearn does, got \w+ of \S*test_foreign_models, which has a .* of its own"
    with pytest.raises(TypeError, match=told):
        read(model.fit(X, y))
    with pytest.raises(TypeError, match="expected one that predicts as sklearn does"):
        Forest.from_sklearn(model)


def test_further_predictions_of_ones_own_are_refused() -> None:
    X, y = CANCER
    with pytest.raises(TypeError, match="_raw_predict of its own"):
        read(OwnMargins(n_estimators=2).fit(X, y))
    patched = RandomForestRegressor(3).fit(*DIABETES)
    patched.predict = lambda X: np.zeros(len(X))
    with pytest.raises(TypeError, match="a predict of its own"):
        read(patched)
    with pytest.raises(TypeError, match="a predict of its own"):
        BudgetPrune(MedianForest(3), budget=3).fit(*DIABETES)
    harmless = Harmless(5, random_state=0).fit(*DIABETES)
    np.testing.assert_allclose(read(harmless).predict(DIABETES[0]), harmless.predict(DIABETES[0]))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_predictions_of_ones_own_in_other_libraries(library: str) -> None:
    base = type(quick(library))

    class Cautious(base):  # type: ignore[misc, valid-type]
        def predict(self, X: Any, *others: Any, **more: Any) -> Any:
            return (self.predict_proba(X)[:, 1] > 0.9).astype(int)

    options = QUIET if library == "catboost" else {}
    with pytest.raises(TypeError, match=f"expected one that predicts as {library} does, got Cautious"):
        read(Cautious(n_estimators=3, **options).fit(*CANCER))


def test_trees_of_the_other_task_are_refused() -> None:
    X, y = CANCER
    for bagging, tree in (
        (BaggingClassifier(DecisionTreeRegressor(), 3), "DecisionTreeRegressor"),
        (BaggingRegressor(DecisionTreeClassifier(), 3), "DecisionTreeClassifier"),
    ):
        with pytest.raises(TypeError, match=f"expected Bagging.* of decision trees for .*, got one of {tree}"):
            read(bagging.fit(X, y))


OTHER_LOSSES = {
    "quantile": lambda: HistGradientBoostingRegressor(loss="quantile", quantile=0.9, max_iter=5),
    "absolute_error": lambda: HistGradientBoostingRegressor(loss="absolute_error", max_iter=5),
    "gamma": lambda: HistGradientBoostingRegressor(loss="gamma", max_iter=5),
    "huber": lambda: GradientBoostingRegressor(loss="huber", n_estimators=5),
}


@pytest.mark.parametrize("loss", OTHER_LOSSES)
def test_trees_of_another_loss_are_neither_refitted_nor_judged(loss: str) -> None:
    X, y = DIABETES
    model = OTHER_LOSSES[loss]().fit(X, y)
    trees = fill_inner_values(read(model), X)
    assert trees.loss == loss
    np.testing.assert_allclose(trees.predict(X), model.predict(X))
    for call in (
        lambda: refit_jointly(trees, X, y),
        lambda: refit_by_newton(trees, X, y),
        lambda: mean_loss(trees, X, y),
        lambda: PruningInstance.from_boosted(trees, X, FeatureCosts.uniform(10), (X, y)),
    ):
        with pytest.raises(ValueError, match=f"loss of their link .* got trees of the loss '{loss}'"):
            call()
    assert refit_jointly(dataclasses.replace(trees, loss=None), X, y).n_nodes == trees.n_nodes


@pytest.mark.parametrize("loss", ["quantile", "regression_l1", "huber", "gamma", "tweedie", "regression", "poisson"])
def test_losses_of_lightgbm(loss: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    trees = read(lightgbm.LGBMRegressor(n_estimators=2, objective=loss, verbose=-1, n_jobs=1).fit(*DIABETES))
    assert trees.loss == (None if loss in ("regression", "poisson") else loss)


@pytest.mark.parametrize("loss", ["reg:quantileerror", "reg:gamma", "reg:squarederror", "count:poisson"])
def test_losses_of_xgboost(loss: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    trees = read(
        xgboost.XGBRegressor(
            n_estimators=2, objective=loss, **({"quantile_alpha": 0.9} if "quantile" in loss else {})
        ).fit(*DIABETES)
    )
    assert trees.loss == (None if loss in ("reg:squarederror", "count:poisson") else loss)


def test_catboost_without_a_task_is_read_where_margins_are_targets() -> None:
    catboost = pytest.importorskip("catboost")
    X, y = DIABETES
    quiet = {"iterations": 4, **QUIET}
    for loss in ("RMSE", "MAE"):
        model = catboost.CatBoost({**quiet, "loss_function": loss}).fit(X, y)
        np.testing.assert_allclose(read(model).predict(X), model.predict(X))
    for loss, data in (("Poisson", DIABETES), ("Logloss", CANCER), ("MultiClass", load_iris(return_X_y=True))):
        with pytest.raises(TypeError, match=r"use catboost.to_classifier or catboost.to_regressor"):
            read(catboost.CatBoost({**quiet, "loss_function": loss}).fit(*data))
    poisson = catboost.to_regressor(catboost.CatBoost({**quiet, "loss_function": "Poisson"}).fit(X, y))
    np.testing.assert_allclose(read(poisson).predict(X), poisson.predict(X))


def test_catboost_of_another_task_than_its_loss_is_refused(tmp_path: Path) -> None:
    """As a file that another class was saved from; a regressor predicts margins of such, and was read as labels."""
    catboost = pytest.importorskip("catboost")
    file = str(tmp_path / "model.cbm")
    catboost.CatBoostClassifier(3, **QUIET).fit(*CANCER).save_model(file)
    with pytest.raises(TypeError, match="model: expected a CatBoostClassifier for the loss Logloss, got CatBoostRegr"):
        read(catboost.CatBoostRegressor().load_model(file))
    catboost.CatBoostRegressor(3, **QUIET).fit(*DIABETES).save_model(file)
    with pytest.raises(
        TypeError, match="model: expected a CatBoostRegressor for the loss RMSE, got CatBoostClassifier"
    ):
        read(catboost.CatBoostClassifier().load_model(file))


@pytest.mark.parametrize(
    ("package", "model", "options", "message"),
    [
        ("lightgbm", "LGBMClassifier", {"objective": "regression"}, "a loss of classes, got LGBMClassifier with"),
        ("xgboost", "XGBClassifier", {"objective": "reg:squarederror"}, "a loss of classes, got XGBClassifier with"),
        ("lightgbm", "LGBMRegressor", {"objective": "multiclass", "num_class": 3}, "one target, got .* with 3 classes"),
        ("xgboost", "XGBRegressor", {"objective": "multi:softprob", "num_class": 3}, "one target, got .* 3 classes"),
    ],
)
def test_a_loss_of_another_task_is_refused(package: str, model: str, options: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    kind = getattr(pytest.importorskip(package), model)
    labels = y if "num_class" in options else y > 0
    with pytest.raises(TypeError, match=f"^model: expected {message}"):
        read(kind(n_estimators=2, **options).fit(X, labels.astype(int)))


@pytest.mark.parametrize(
    ("model", "changed", "message"),
    [
        (HistGradientBoostingRegressor(max_iter=2), {"loss": "poisson"}, "link is identity, got loss='poisson'"),
        (GradientBoostingClassifier(n_estimators=2), {"loss": "exponential"}, "link is logit, got loss='exponential'"),
        (BaggingClassifier(n_estimators=4), {"n_estimators": 8}, "n_estimators, by which BaggingClassifier divides"),
        (BaggingRegressor(n_estimators=4), {"estimators_": []}, "BaggingRegressor with a tree at least, got none"),
        (RandomForestClassifier(4), {"estimators_": []}, "RandomForestClassifier with a tree at least, got none"),
    ],
)
def test_models_that_were_changed_after_training_are_refused(model: Any, changed: dict[str, Any], message: str) -> None:
    """Links and numbers of trees were taken from what had been set since, and no trees from nothing."""
    X, y = CANCER
    for name, value in changed.items():
        setattr(model.fit(X, y), name, value)
    with pytest.raises(ValueError, match=message):
        read(model)


def test_boosters_of_folds_are_refused() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    data = lightgbm.Dataset(*CANCER)
    found = lightgbm.cv({"objective": "binary", "verbose": -1}, data, 2, nfold=2, return_cvbooster=True)
    with pytest.raises(TypeError, match=r"model: expected LGBMClassifier, .*, got CVBooster; of a CVBooster give one"):
        read(found["cvbooster"])


def test_catboost_of_text_and_embeddings_is_refused() -> None:
    catboost = pytest.importorskip("catboost")
    words = pd.DataFrame({"t": ["a b", "b c", "c d", "a d"] * 20, "v": np.arange(80.0)})
    model = catboost.CatBoostClassifier(2, text_features=["t"], **QUIET).fit(words, np.arange(80) % 2)
    with pytest.raises(TypeError, match=r"model: expected tests of numbers, got columns of text: \[0\]"):
        read(model)
    vectors = pd.DataFrame({"e": [*np.random.default_rng(0).random((80, 3))], "v": np.arange(80.0)})
    model = catboost.CatBoostClassifier(2, embedding_features=["e"], **QUIET).fit(vectors, np.arange(80) % 2)
    with pytest.raises(TypeError, match=r"model: expected tests of numbers, got columns of embeddings: \[0\]"):
        read(model)


@pytest.mark.parametrize("labels", [["2", "9", "10"], ["10", "2", "9"], ["z", "-1", "a"]])
def test_labels_of_catboost_may_have_any_names(labels: list[str]) -> None:
    catboost = pytest.importorskip("catboost")
    X, numbers = load_iris(return_X_y=True)
    budget, words = 3, ["a", "b", "c"]
    model = catboost.CatBoostClassifier(10, **QUIET)

    def right(labels: list[str]) -> list[float]:
        y = np.array(labels)[numbers]
        adaptive = AdaptGbrt(
            model,
            n_estimators=3,
            search=BoostedSearch(shares=[0.3], lambdas=1, gate_shares=[0.5], n_folds=2),
            budget=budget,
            random_state=0,
        )
        several = BudgetedClassifier([model], budget=budget, random_state=0)
        cascade = NestedCascade(
            model, stages=NestedStages(order=[2, 3, 0, 1], sizes=[1, 2]), budget=budget, random_state=0
        )
        return [float((each.fit(X, y).predict(X) == y).mean()) for each in (adaptive, several, cascade)]

    assert min(right(labels)) > 0.9
    assert min(right(words)) > 0.9


@pytest.mark.parametrize("classes", [["10", "9"], ["9", "10"]])
def test_two_classes_in_another_order(classes: list[str]) -> None:
    X, y = CANCER
    trees = read(GradientBoostingClassifier(n_estimators=3).fit(X, np.array(["10", "9"])[y]))
    assert isinstance(trees, BoostedTrees)
    other = trees.with_classes(np.array(classes))
    np.testing.assert_array_equal(other.predict(X), trees.predict(X))
    columns = [trees.classes.tolist().index(label) for label in classes]  # type: ignore[union-attr]
    np.testing.assert_allclose(other.predict_proba(X), trees.predict_proba(X)[:, columns])


def test_several_classes_in_another_order() -> None:
    X, y = load_iris(return_X_y=True)
    for model in (GradientBoostingClassifier(n_estimators=3), quick("xgboost"), quick("catboost")):
        trees = read(model.fit(X, y))
        other = trees.with_classes(np.array([2, 0, 1]))
        np.testing.assert_array_equal(other.predict(X), trees.predict(X))
        np.testing.assert_allclose(other.predict_proba(X), trees.predict_proba(X)[:, [2, 0, 1]])
    with pytest.raises(ValueError, match="classes: expected those of the trees"):
        trees.with_classes(np.array([2, 0]))


def test_out_of_bag_errors_need_scikit_learns_own_draws() -> None:
    class Resampled(RandomForestClassifier):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return super().fit(X[::2], y[::2])

    for forest in (Resampled(4), _balanced_forest()):
        with pytest.raises(
            ValueError, match=r"errors: expected 'in-bag' or 'held-out' for .* whose fit draws examples"
        ):
            BudgetPrune(forest, pruning=PruningSettings(errors="out-of-bag"), budget=3).fit(*CANCER)
    check_own_samples(RandomForestClassifier())
    assert (
        BudgetPrune(RandomForestClassifier(4), pruning=PruningSettings(errors="out-of-bag"), budget=3)
        .fit(*CANCER)
        .score(*CANCER)
        > 0.5
    )


def _balanced_forest() -> Any:
    imblearn = pytest.importorskip("imblearn.ensemble")
    return imblearn.BalancedRandomForestClassifier(4, bootstrap=True, replacement=True, sampling_strategy="all")


def test_sparse_examples_are_refused_with_what_is_right_for_each_library() -> None:
    X, y = CANCER
    for model in (quick("sklearn"), quick("xgboost")):
        trees = read(model.fit(X, y))
        with pytest.raises(
            TypeError, match=r"call its toarray\(\) if what is not stored is 0.*XGBoost it is missing: NaN"
        ):
            trees.predict(csr_matrix(X))


def with_field(tree: Any, name: str, dtype: str, value: object) -> Any:
    """Give the nodes of a tree one more field, as a later version of scikit-learn may."""
    state = tree.__getstate__()
    nodes = np.zeros(len(state["nodes"]), dtype=[*KNOWN_FIELDS, (name, dtype)])
    for known in NODE_DTYPE.names:
        nodes[known] = state["nodes"][known]
    nodes[name] = value
    known = ("node_count", "threshold", "feature", "children_left", "children_right", "missing_go_to_left", "value")
    more = ("weighted_n_node_samples", "n_node_samples", "impurity")
    parts = {part: getattr(tree, part) for part in (*known, *more)}
    made = (type(tree), tree.__reduce__()[1])
    return SimpleNamespace(__getstate__=lambda: {**state, "nodes": nodes}, __reduce__=lambda: made, **parts)


@pytest.mark.parametrize(
    ("name", "dtype", "value"), [("is_categorical", "u1", 1), ("cat_split", "u8", 5), ("categories", "(8,)u4", 3)]
)
def test_fields_of_nodes_that_are_not_known_are_refused_if_they_are_used(name: str, dtype: str, value: object) -> None:
    X, y = CANCER
    for model in (
        DecisionTreeClassifier(max_depth=2),
        RandomForestClassifier(2),
        GradientBoostingClassifier(n_estimators=2),
    ):
        model.fit(X, y)
        members = [model] if hasattr(model, "tree_") else [*np.ravel(model.estimators_)]
        plain = read(model).predict(X)
        for unused in (True, False):
            trees = [(member, member.tree_) for member in members]
            for member, tree in trees:
                member.tree_ = with_field(tree, name, dtype, 0 if unused else value)
            if unused:
                np.testing.assert_array_equal(read(model).predict(X), plain)
            else:
                with pytest.raises(TypeError, match=f"expected trees as of scikit-learn .*, got '{name}' in them"):
                    read(model)
            for member, tree in trees:
                member.tree_ = tree


def test_parts_that_are_not_known_are_refused_if_they_are_used() -> None:
    known = {"nodes", "values"}
    require_known_parts({"nodes": 1, "bitsets": np.zeros(3)}, known)
    with pytest.raises(TypeError, match="got 'bitsets'"):
        require_known_parts({"nodes": 1, "bitsets": np.array([0, 0, 4])}, known)


class LaterTree:
    """A tree as scikit-learn 1.10 holds it: it knows the number of categories of each feature and each node's kind."""

    nodes = np.dtype([*KNOWN_FIELDS, ("left_cat_bitset", "u4", 8), ("split_kind", "i1")])

    def __init__(self, n_features: int, n_classes: Any, n_outputs: int, n_categories: Any) -> None:
        assert n_categories.tolist() == [-1] * n_features
        self.arguments = (n_features, n_classes, n_outputs, n_categories)
        self.inner = Tree(n_features, n_classes, n_outputs)

    def __setstate__(self, state: dict[str, Any]) -> None:
        assert state["nodes"].dtype == self.nodes
        assert state["nodes"]["split_kind"].tolist() == [-int(child < 0) for child in state["nodes"]["left_child"]]
        known = np.zeros(len(state["nodes"]), dtype=NODE_DTYPE)
        for name in NODE_DTYPE.names:
            known[name] = state["nodes"][name]
        self.inner.__setstate__({**state, "nodes": known})

    def __getstate__(self) -> dict[str, Any]:
        known = self.inner.__getstate__()
        nodes = np.zeros(len(known["nodes"]), dtype=self.nodes)
        for name in NODE_DTYPE.names:
            nodes[name] = known["nodes"][name]
        nodes["split_kind"] = -(nodes["left_child"] < 0).astype(np.int8)
        return {**known, "nodes": nodes}

    def __reduce__(self) -> tuple[Any, ...]:
        return LaterTree, self.arguments, self.__getstate__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class LaterClassifier(DecisionTreeClassifier):
    """Keeps, as scikit-learn 1.10 does, which columns are categories."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        own, self.is_categorical_ = self.tree_, None
        self.tree_ = LaterTree(*own.__reduce__()[1], np.full(self.n_features_in_, -1))
        self.tree_.inner = own
        return self


def test_trees_of_scikit_learn_1_10_that_compare_numbers_are_read_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = CANCER
    model = LaterClassifier(max_depth=3, random_state=0).fit(X, y)
    forest = Forest.from_sklearn(model)
    np.testing.assert_array_equal(forest.predict_proba(X), model.predict_proba(X))
    monkeypatch.setattr(sklearn_trees, "DecisionTreeClassifier", LaterClassifier)
    written = forest.to_sklearn()
    assert written.estimators_[0].is_categorical_ is None
    np.testing.assert_array_equal(written.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(Forest.from_sklearn(written).predict_proba(X), model.predict_proba(X))


class UnknownClassifier(DecisionTreeClassifier):
    """Fits trees whose tests hold what is not known."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.tree_ = with_field(self.tree_, "is_oblique", "u1", 1)
        return self


class WithCategories(LaterClassifier):
    """Takes columns for categories that are given as numbers."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y).tree_.arguments[-1][:] = 2
        return self


@pytest.mark.parametrize(
    ("kind", "got"), [(UnknownClassifier, r"\['is_oblique'\]"), (WithCategories, "other arguments")]
)
def test_trees_are_not_written_as_those_that_are_not_known(
    kind: type, got: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forest = Forest.from_sklearn(DecisionTreeClassifier(max_depth=2).fit(*CANCER))
    monkeypatch.setattr(sklearn_trees, "DecisionTreeClassifier", kind)
    with pytest.raises(RuntimeError, match=f"to_sklearn: expected trees as .*, got {got} in those of"):
        forest.to_sklearn()


@pytest.mark.parametrize("top", [1, 97_000, 2**31 - 8])
def test_sets_of_large_categories_take_what_they_list(top: int) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    codes = np.unique(rng.integers(0, top + 7, 200))
    code = codes[rng.integers(0, codes.size, 1500)]
    y = np.sin(code.astype(float)) + rng.normal(size=1500) / 10
    X = np.column_stack([code, rng.random(1500)]).astype(float)
    model = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, n_jobs=1, min_data_per_group=1, cat_smooth=1)
    if top > 10**6:
        X[:, 0] %= 10**6  # LightGBM itself needs a bit per category up to the largest
    trees = read(model.fit(X, y, categorical_feature=[0]))
    np.testing.assert_allclose(trees.predict(X), model.predict(X))
    unseen = np.column_stack([np.r_[-5, 10**6, 2.0**40, np.nan, codes + 1], np.zeros(4 + codes.size)])
    np.testing.assert_allclose(trees.predict(unseen), model.predict(unseen))
    assert trees.left_categories.nbytes < 2 * len(model.booster_.model_to_string())


def test_sets_of_categories() -> None:
    sets = CategorySets.of([([5, 2**31], False), ([], True), ([], False), ([7, 0], True)])
    assert (len(sets), sets.listed.tolist()) == (4, [5, 2**31, 0, 7])
    assert [sets.members(number).tolist() for number in range(4)] == [[5, 2**31], [], [], [0, 7]]
    both = sets.followed_by(CategorySets.from_rows([np.array([False, True])]))
    assert (both.offsets.tolist(), both.others.tolist()) == ([0, 2, 2, 2, 4, 5], [False, True, False, True, False])
    for offsets, listed, others in (([0, 2], [3, 1], [False]), ([0, 1], [-1], [False]), ([0, 2], [1], [False])):
        with pytest.raises(ValueError, match=r"listed|offsets"):
            CategorySets(np.array(offsets), np.array(listed), np.array(others))


@pytest.mark.parametrize("n_sets", [0, 3, 500])
def test_sets_of_categories_are_saved_in_few_bytes(n_sets: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sets = CategorySets.of((rng.permutation(200)[: number % 100], bool(number % 2)) for number in range(n_sets))
    file = tmp_path / "sets.skops"
    skops_io.dump(sets, file)
    loaded = skops_io.load(file, trusted=["ipforest.ensemble.category_sets.CategorySets"])
    as_it_was = CategorySets.__new__(CategorySets)
    as_it_was.__setstate__([sets.offsets, sets.listed, sets.others])
    for again in (pickle.loads(pickle.dumps(sets)), loaded, as_it_was):
        for name in ("offsets", "listed", "others"):
            values = getattr(again, name)
            np.testing.assert_array_equal(values, getattr(sets, name))
            assert values.dtype == getattr(sets, name).dtype
    assert len(pickle.dumps(sets)) < 400 + sets.nbytes / 6
    for state in ({"packed": np.arange(9, dtype=np.uint8)}, {}, [sets.offsets]):
        with pytest.raises(ValueError, match="left_categories: expected packed sets, got"):
            as_it_was.__setstate__(state)
