"""XGBoost, CatBoost and HistGradientBoosting: the same predictions, missing values and categories too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator

from ipforest import BudgetedClassifier, BudgetPrune, EarlyExit, FeatureCosts, datasets
from ipforest.deployment import document_of
from ipforest.deployment.reader import Model
from ipforest.ensemble import read
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.xgboost import _stored_trees
from ipforest.frontiers import BudgetForest

pytestmark = pytest.mark.filterwarnings("ignore:.*`booster=(dart|gblinear)` is deprecated")  # by XGBoost 3.4


def with_gaps(X: Any, share: float) -> Any:
    gaps = X.astype(np.float64).copy()
    gaps[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return gaps


def xgboost(kind: str, **settings: Any) -> Any:
    library = pytest.importorskip("xgboost")
    return getattr(library, f"XGB{kind}")(n_estimators=8, n_jobs=1, **{"max_depth": 3, **settings})


def catboost(kind: str, **settings: Any) -> Any:
    library = pytest.importorskip("catboost")
    quiet = {"verbose": False, "thread_count": 1, "allow_writing_files": False}
    return getattr(library, f"CatBoost{kind}")(iterations=8, depth=3, **quiet, **settings)


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: xgboost("Classifier"),
    "dart": lambda: xgboost("Classifier", booster="dart", rate_drop=0.5),
    "catboost": lambda: catboost("Classifier"),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=8),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "xgboost": lambda: xgboost("Regressor"),
    "xgboost poisson": lambda: xgboost("Regressor", objective="count:poisson"),
    "catboost": lambda: catboost("Regressor"),
    "catboost poisson": lambda: catboost("Regressor", loss_function="Poisson"),
    "histogram": lambda: HistGradientBoostingRegressor(max_iter=8),
    "histogram gamma": lambda: HistGradientBoostingRegressor(loss="gamma", max_iter=8),
}


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_predict_the_same(name: str, load: Any, share: float) -> None:
    X, y = load(return_X_y=True)
    model = CLASSIFIERS[name]().fit(with_gaps(X, share), y)
    trees = read(model)
    for examples in (with_gaps(X, share), with_gaps(X, 0.5)):
        np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(examples), rtol=2e-6, atol=2e-7)
        np.testing.assert_array_equal(trees.predict(examples), model.predict(examples).ravel())


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_predict_the_same(name: str, share: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = REGRESSORS[name]().fit(with_gaps(X, share), y)
    for examples in (with_gaps(X, share), with_gaps(X, 0.5)):
        np.testing.assert_allclose(read(model).predict(examples), model.predict(examples), rtol=3e-6)


def test_inner_nodes_of_xgboost_add_nothing() -> None:
    """The library keeps thresholds and leaves in one array."""
    trees = read(xgboost("Classifier").fit(*load_breast_cancer(return_X_y=True)))
    assert not trees.value[~trees.is_leaf].any()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gaps_of_a_real_set(name: str) -> None:
    try:
        data = datasets.load("hepatitis")
    except FileNotFoundError:
        pytest.skip("needs the data folder")
    model = CLASSIFIERS[name]().fit(data.X, data.y)
    trees = read(model)
    np.testing.assert_allclose(trees.predict_proba(data.X), model.predict_proba(data.X), rtol=2e-6, atol=2e-7)
    assert trees.cost(data.X, data.costs).max() <= float(data.costs.cost_of(np.ones((1, data.X.shape[1])))[0])


def test_early_stopping_counts_to_the_best_round() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = xgboost("Classifier", early_stopping_rounds=1, learning_rate=2.0)
    model.fit(X[:300], y[:300], eval_set=[(X[300:], 1 - y[300:])], verbose=False)
    np.testing.assert_allclose(read(model).predict_proba(X), model.predict_proba(X), rtol=2e-6, atol=2e-7)


def test_early_stopping_counts_rounds_of_several_trees() -> None:
    X, y = load_iris(return_X_y=True)
    model = xgboost("Classifier", early_stopping_rounds=1, learning_rate=2.0, num_parallel_tree=3, subsample=0.5)
    model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False)
    trees = read(model)
    assert trees.n_trees == 9 * (model.best_iteration + 1) < 72
    np.testing.assert_allclose(trees.predict_proba(X), model.predict_proba(X), rtol=2e-6, atol=2e-7)


def test_a_booster_predicts_from_all_its_rounds() -> None:
    library = pytest.importorskip("xgboost")
    X, y = load_breast_cancer(return_X_y=True)
    model = xgboost("Classifier", early_stopping_rounds=1, learning_rate=2.0)
    model.fit(X[:300], y[:300], eval_set=[(X[300:], 1 - y[300:])], verbose=False)
    booster = model.get_booster()
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    found = read(booster).predict_proba(X)[:, 1]
    np.testing.assert_allclose(found, booster.predict(library.DMatrix(X)), rtol=3e-6, atol=2e-7)


@pytest.mark.parametrize("share", [0.0, 1e-9, 3e-6, 0.999, 1 - 1e-7, 1.0])
def test_base_scores_near_a_certain_class_are_those_of_xgboost(share: float) -> None:
    """It takes none nearer than 1e-6, and one class by itself has 0."""
    library = pytest.importorskip("xgboost")
    X, y = load_breast_cancer(return_X_y=True)
    model = xgboost("Classifier", base_score=share, max_depth=1).fit(X, y)
    expected = model.get_booster().predict(library.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(read(model).margins(X)[:, 0], expected, rtol=3e-6, atol=3e-6)


def test_a_regressor_of_probabilities_predicts_them() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = xgboost("Regressor", objective="reg:logistic").fit(X, y)
    np.testing.assert_allclose(read(model).predict(X), model.predict(X), rtol=3e-6)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_of_classes_as_probable_the_first_is_predicted(name: str) -> None:
    X, y = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 20, axis=0), np.arange(80) % 2
    model = CLASSIFIERS[name]().fit(X, y)
    np.testing.assert_array_equal(read(model).predict(X), model.predict(X))
    assert (model.predict(X) == 0).all()


@pytest.mark.parametrize("make", [CLASSIFIERS["xgboost"], CLASSIFIERS["catboost"]])
def test_columns_and_prices_go_by_name(make: Callable[[], Any]) -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    trees = read(make().fit(X, y))
    assert trees.feature_names == tuple(X.columns)
    prices = dict(zip(X.columns, range(30), strict=True))
    backwards = FeatureCosts(dict(reversed(prices.items())))
    np.testing.assert_array_equal(trees.cost(X, backwards), trees.cost(X, FeatureCosts(prices)))
    with pytest.raises(ValueError, match="X: expected the columns in the order of training"):
        trees.predict(X[X.columns[::-1]])
    assert read(make().fit(X.to_numpy(), y)).feature_names is None


def test_targets_of_several_columns_are_refused() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = xgboost("Regressor").fit(X, np.column_stack([y, -y]))
    with pytest.raises(TypeError, match="model: expected trees for one target, got 2 targets"):
        read(model)


def test_probability_thresholds_and_sums_of_catboost_are_refused() -> None:
    library = pytest.importorskip("catboost")
    model = catboost("Classifier").fit(*load_breast_cancer(return_X_y=True))
    with pytest.raises(TypeError, match="model: expected one that was trained, got a sum of models"):
        read(library.sum_models([model, model]))
    model.set_probability_threshold(0.9)
    with pytest.raises(TypeError, match=r"model: expected a probability threshold of 0\.5, got 0\.9"):
        read(model)


def test_lightgbm_that_stops_after_the_first_rounds_is_refused() -> None:
    library = pytest.importorskip("lightgbm")
    X, y = load_breast_cancer(return_X_y=True)
    model = library.LGBMClassifier(n_estimators=5, verbose=-1, pred_early_stop=True).fit(X, y)
    with pytest.raises(TypeError, match=r"model: expected predictions by all rounds, got pred_early_stop=True"):
        read(model)
    assert read(model.set_params(pred_early_stop=False)).n_trees == 5


def test_categories_of_catboost_are_refused() -> None:
    codes = np.random.default_rng(0).integers(3, size=(200, 1))
    model = catboost("Classifier", cat_features=[0], one_hot_max_size=5).fit(codes, codes[:, 0] == 1)
    with pytest.raises(TypeError, match=r"numbers, got one of categories or text \(OneHotFeature\)"):
        read(model)


def categorical_examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(400), rng.integers(2, 9, 400), rng.random(400)])
    y = (np.isin(X[:, 1], [3, 5]) * 2 + (X[:, 0] > 0.5)).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_categories_of_scikit_learn() -> None:
    X, y = categorical_examples()
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[1]).fit(X, y)
    trees = read(model)
    assert trees.tests_categories.any()
    strange = np.column_stack([np.full(30, 0.7), np.arange(-5, 25), np.full(30, 0.2)])
    for examples in (X, strange):
        np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(examples), rtol=1e-12)
    model.fit(np.column_stack([X[:, 0], X[:, 1] + 0.5, X[:, 2]]), y)
    with pytest.raises(TypeError, match="model: expected categories that are words or integers >= 0, got"):
        read(model)


@pytest.mark.parametrize("kind", ["intervals", "dates", "months"])
def test_categories_of_scikit_learn_may_be_intervals_or_dates(kind: str) -> None:
    """As `pandas.cut` makes them; they were refused, dates once a frame was predicted."""
    X, y = categorical_examples()
    place = np.random.default_rng(0).integers(0, 4, y.size)
    known = {
        "intervals": pd.interval_range(0, 4),
        "dates": pd.date_range("2026", periods=4),
        "months": pd.period_range("2026", periods=4, freq="M"),
    }[kind]
    column = pd.Categorical.from_codes(np.where(X[:, 0] < 0.1, -1, place), known)
    frame = pd.DataFrame({"a": X[:, 2], "c": column})
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(frame, place % 2)
    if kind == "months":
        with pytest.raises(TypeError, match="got NaT as a category of its own, as scikit-learn takes it"):
            read(model)
        frame = frame[frame["c"].notna()]
        model.fit(frame, place[frame.index] % 2)
    others = frame.assign(c=frame["c"].cat.reorder_categories(known[::-1]))
    trees = read(model)
    assert trees.tests_categories.any()
    for examples in (frame, others):
        np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(frame), rtol=1e-12)


def frame_of_words(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    words = pd.Categorical(rng.choice(["low", "middle", "high"], 300), categories=["middle", "low", "high"])
    numbers = pd.Categorical(rng.integers(1, 5, 300))
    frame = pd.DataFrame({"a": rng.random(300), "word": words, "number": numbers, "same": pd.Categorical(["x"] * 300)})
    frame.loc[::9, "word"] = np.nan
    return frame


@pytest.mark.parametrize("library", ["xgboost", "scikit-learn"])
def test_words_are_those_of_training_in_whatever_order_the_frame_has_them(library: str) -> None:
    frame, others = frame_of_words(0), frame_of_words(1)
    y = ((frame["word"] == "high") | (frame["number"].astype(int) == 3) & (frame["a"] > 0.5)).astype(int)
    named = HistGradientBoostingClassifier(max_iter=5)
    model = xgboost("Classifier", enable_categorical=True) if library == "xgboost" else named
    trees = read(model.fit(frame, y))
    assert trees.tests_categories.any()
    missing = others.copy()
    missing.loc[::5, "word"] = np.nan
    for examples in (frame, others, missing):
        np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(examples), rtol=2e-6, atol=2e-7)
    unseen = others.assign(word=others["word"].cat.add_categories("unseen"))
    unseen.loc[::5, "word"] = "unseen"
    np.testing.assert_array_equal(trees.predict_proba(unseen), trees.predict_proba(missing))
    if library == "scikit-learn":
        np.testing.assert_allclose(trees.predict_proba(unseen), model.predict_proba(unseen), rtol=1e-12)
    mixed = others.assign(word=others["word"].astype(object), number=others["number"].astype(float))
    np.testing.assert_array_equal(trees.predict_proba(mixed), trees.predict_proba(others))


def test_categories_of_xgboost() -> None:
    X, y = categorical_examples()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["b"] = pd.Categorical(frame["b"].fillna(2).astype(int) - 2, categories=range(7))
    model = xgboost("Classifier", enable_categorical=True).fit(frame, y)
    trees = read(model)
    assert trees.tests_categories.any()
    examples = frame.astype(float).to_numpy()
    np.testing.assert_allclose(trees.predict_proba(examples), model.predict_proba(frame), rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("values", [[10, 20, 30], ["30", "20", "10"]])
def test_categories_that_are_numbers_are_taken_from_frames_alone(values: list[Any]) -> None:
    codes = np.random.default_rng(0).integers(3, size=200)
    frame = pd.DataFrame({"a": pd.Categorical(np.array(values)[codes], categories=values)})
    model = xgboost("Classifier", enable_categorical=True).fit(frame, codes == 1)
    trees = read(model)
    np.testing.assert_array_equal(trees.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(trees.predict(frame.astype(int)), model.predict(frame))
    with pytest.raises(ValueError, match=f"X: expected a data frame as in training, .* such as '?{values[0]}"):
        trees.predict(codes[:, None])
    words = frame.assign(a=frame["a"].cat.rename_categories(["low", "middle", "high"]))
    trees = read(model.fit(words, codes == 1))
    np.testing.assert_array_equal(trees.predict(codes[:, None]), model.predict(words))


def test_words_that_xgboost_cuts_are_refused() -> None:
    """It counts letters of a frame of pandas where it keeps bytes: this ends as the word "Züric", which is no other."""
    frame = pd.DataFrame({"a": pd.Categorical(["Bern", "Zürich"] * 50)})
    model = xgboost("Classifier", enable_categorical=True).fit(frame, np.arange(100) % 2)
    with pytest.raises(ValueError, match=r"^model: expected categories in ASCII, .* got 'Züric'; rename them"):
        read(model)


@pytest.mark.parametrize("parts", [((0,), str), (("a",), {}), ((0,), {"a": ("x",)}), ((0,), {0: "xy"})])
def test_categories_of_another_form_are_refused(parts: Any) -> None:
    """As a file may hold them."""
    with pytest.raises(TypeError, match=r"^categories: expected "):
        Categories(*parts)


@pytest.mark.parametrize(
    "stored",
    [
        {"name": "dart", "gbtree": {"model": {"trees": [0, 1]}}, "weight_drop": [0.5, 0.75]},
        {"name": "gbtree", "model": {"trees": [0, 1], "weight_drop": [0.5, 0.75]}},  # XGBoost 3.4
    ],
)
def test_weights_of_dropped_trees_are_found_where_a_version_keeps_them(stored: dict[str, Any]) -> None:
    trees, weights = _stored_trees(stored)
    assert (trees["trees"], weights) == ([0, 1], [0.5, 0.75])


def test_categories_without_names_are_given_by_their_places() -> None:
    """As in files of XGBoost before 3.1; it takes the places in the frame that it predicts, whatever training had."""
    codes = np.random.default_rng(0).integers(3, size=200)
    examples = codes[:, None].astype(float)
    model = xgboost("Classifier", enable_categorical=True, feature_types=["c"]).fit(examples, codes == 1)
    trees = read(model)
    assert trees.tests_categories.any()
    assert not trees.categories.names
    frame = pd.DataFrame({0: pd.Categorical.from_codes(codes, [10, 20, 30])})
    with pytest.raises(ValueError, match=r"X: expected the places .* got the category 10; give X\[0\]\.cat\.codes"):
        trees.predict(frame)
    for same in (
        examples,
        frame[[0]].apply(lambda column: column.cat.codes),
        frame.apply(lambda column: column.cat.rename_categories([0, 1, 2])),
    ):
        np.testing.assert_array_equal(trees.predict(same), model.predict(examples))


def lightgbm_of_one_class() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=2, verbose=-1)


@pytest.mark.parametrize("make", [lightgbm_of_one_class, lambda: HistGradientBoostingClassifier(max_iter=2)])
def test_a_classifier_of_one_class_is_refused(make: Callable[[], Any]) -> None:
    """Its only class had the probability of the second one, 1e-15."""
    model = make().fit(np.arange(60.0)[:, None], np.zeros(60, dtype=int))
    with pytest.raises(ValueError, match=r"classes: expected two or more, got array\(\[0\]\)"):
        read(model)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: xgboost("Regressor", booster="gblinear", max_depth=None),
            "model: expected a booster of trees, got gblinear",
        ),
        (
            lambda: xgboost("Regressor", objective="binary:logitraw"),
            "model: expected an objective of .*, got binary:logitraw",
        ),
        (lambda: xgboost("Regressor", missing=-1.0), r"model: expected missing values to be NaN, got missing=-1\.0"),
        (
            lambda: xgboost("Classifier", objective="multi:softprob", num_class=2),
            "model: expected one margin for two classes, got one for each",
        ),
        (
            lambda: catboost("Classifier", loss_function="MultiClass"),
            "model: expected one margin for two classes, got one for each",
        ),
        (lambda: xgboost("Regressor", objective="binary:hinge"), "model: expected an objective of binary:logistic"),
        (lambda: catboost("Regressor", loss_function="Lq:q=3"), "model: expected a loss of Logloss, .*, got Lq"),
        (lambda: catboost("Regressor", grow_policy="Lossguide"), "model: expected symmetric trees, got other ones"),
    ],
)
def test_what_is_not_read(make: Callable[[], Any], text: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = make().fit(X, (y > 150).astype(int))
    with pytest.raises(TypeError, match=text):
        read(model)


@pytest.mark.parametrize(
    "around",
    [
        lambda model: EarlyExit(FrozenEstimator(model), random_state=0),
        lambda model: BudgetPrune(model),
        lambda model: BudgetedClassifier([FrozenEstimator(model)], random_state=0),
        lambda model: BudgetedClassifier([clone(model)], categorical_features=[0, 2], random_state=0),
        lambda model: BudgetedClassifier([clone(model), BudgetForest()], categorical_features=[0, 2], random_state=0),
    ],
)
def test_numbers_with_fractions_are_no_categories(around: Callable[[Any], Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (300, 3)).astype(float)
    y = (X[:, 0] == 2) | (X[:, 1] > 3)
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features=[0, 2]).fit(X, y)
    stopping = around(model).fit(X, y)
    odd = np.repeat(X[:13], 2, axis=0)
    odd[:, 0] = [1.9, 2.0, 2.7, 3.0, -0.5, -1, 5.9, 6.5, 300.5, np.nan, 255.3, 1e9, -1e9] * 2
    known = np.where((np.arange(3) == 0) & (odd % 1 != 0), np.nan, odd)
    for table in (odd, pd.DataFrame(odd, dtype="Float64"), odd.astype(object)):
        expected = model.predict_proba(odd)
        np.testing.assert_allclose(read(model).predict_proba(table), expected, rtol=1e-12)
        np.testing.assert_array_equal(stopping.predict_proba(table), stopping.predict_proba(known))
    assert not np.array_equal(model.predict(odd), model.predict(np.trunc(odd)))
    np.testing.assert_array_equal(stopping.predict(odd), model.predict(odd))
    np.testing.assert_array_equal(
        stopping.predict_on_demand(lambda unit, rows: odd[rows][:, unit.features], len(odd)).predictions,
        stopping.predict(odd),
    )
    assert Model(document_of(stopping)).predict(odd) == stopping.predict(odd).tolist()
    with pytest.raises(ValueError, match=r"^feature 0: expected a whole number, None for .*, got 2.7$"):
        stopping.session({0: 2.7})
    np.testing.assert_array_equal(odd[2], [2.7, *X[1, 1:]])
