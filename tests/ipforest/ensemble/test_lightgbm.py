import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from ipforest import BoostGrowth, BoostSearch, BudgetBoost
from ipforest.deployment.reader import Model
from ipforest.ensemble import read, write
from ipforest.stopping import EarlyExit

lightgbm = pytest.importorskip("lightgbm")

SMALL = {"n_estimators": 12, "num_leaves": 7, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, "random_state": 0}


def with_gaps(X: Any, share: float = 0.2) -> Any:
    gaps = X.astype(np.float64).copy()
    gaps[np.random.default_rng(0).random(X.shape) < share] = np.nan
    return gaps


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_digits])
def test_classifiers_predict_the_same(load: Any, missing: bool) -> None:
    X, y = load(return_X_y=True)
    training = with_gaps(X) if missing else X.astype(np.float64)
    model = lightgbm.LGBMClassifier(**SMALL).fit(training, y)
    trees = read(model)
    np.testing.assert_allclose(trees.predict_proba(training), model.predict_proba(training), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(trees.predict(training), model.predict(training))
    np.testing.assert_allclose(
        trees.predict_proba(with_gaps(X, 0.5)), model.predict_proba(with_gaps(X, 0.5)), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("missing", [False, True])
def test_regressors_predict_the_same(missing: bool) -> None:
    X, y = load_diabetes(return_X_y=True)
    training = with_gaps(X) if missing else X
    model = lightgbm.LGBMRegressor(**SMALL).fit(training, y)
    np.testing.assert_allclose(read(model).predict(training), model.predict(training), rtol=1e-10)


def test_boosters_cost_penalties_and_names() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = lightgbm.LGBMClassifier(**SMALL, cegb_tradeoff=0.1, cegb_penalty_feature_lazy=[1.0] * 30).fit(X, y == 1)
    trees = read(model)
    assert trees.classes is not None
    assert trees.classes.tolist() == [False, True]
    np.testing.assert_array_equal(trees.predict(X), model.predict(X))
    np.testing.assert_allclose(read(model.booster_).predict_proba(X)[:, 1], model.booster_.predict(X), rtol=1e-10)


def test_columns_go_by_name_where_training_had_names() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    underscored = tuple(name.replace(" ", "_") for name in X)
    assert read(lightgbm.LGBMClassifier(**SMALL).fit(X, y)).feature_names == underscored
    assert read(lightgbm.LGBMClassifier(**SMALL).fit(X.to_numpy(), y)).feature_names is None
    plain = X.rename(columns=lambda name: name.replace(" ", "-"))
    trees = read(lightgbm.LGBMClassifier(**SMALL).fit(plain, y))
    with pytest.raises(ValueError, match="X: expected the columns in the order of training"):
        trees.predict(plain[plain.columns[::-1]])


def test_names_with_backslashes_and_tabs() -> None:
    """LightGBM's dump has names without backslashes, and is no JSON with tabs."""
    X, y = load_iris(as_frame=True, return_X_y=True)
    X.columns = ["a\\b", "new\\name", "c", "d"]
    model = lightgbm.LGBMClassifier(**SMALL).fit(X, y)
    assert read(model).feature_names == tuple(X.columns)
    np.testing.assert_array_equal(read(model).predict(X), model.predict(X))
    X.columns = ["a\tb", "b", "c", "d"]
    with pytest.raises(TypeError, match=r"model: expected names of columns without tabs .*, got 'a\\tb'; rename"):
        read(lightgbm.LGBMClassifier(**SMALL).fit(X, y))


def test_of_classes_as_probable_the_first_is_predicted() -> None:
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.arange(40) % 2
    model = lightgbm.LGBMClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(read(model).predict(X), model.predict(X))


@pytest.mark.parametrize("objective", ["cross_entropy", "binary"])
def test_a_regressor_of_probabilities_predicts_them(objective: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = lightgbm.LGBMRegressor(**SMALL, objective=objective).fit(X, y)
    trees = read(model)
    np.testing.assert_allclose(trees.predict(X), model.predict(X), rtol=1e-10)
    np.testing.assert_allclose(write(trees, "lightgbm").predict(X), model.predict(X), rtol=1e-10)


def test_categories_that_are_numbers_are_taken_from_frames_alone() -> None:
    codes = np.random.default_rng(0).integers(3, size=200)
    frame = pd.DataFrame({"a": pd.Categorical(np.array([10, 20, 30])[codes])})
    model = lightgbm.LGBMClassifier(**SMALL).fit(frame, codes == 1)
    trees = read(model)
    unseen = pd.DataFrame({"a": pd.Categorical([30, 20, 40, None, 10])})
    for examples in (frame, unseen):
        np.testing.assert_array_equal(trees.predict_proba(examples), model.predict_proba(examples))
    with pytest.raises(ValueError, match=r"X: expected a data frame as in training, .* column 0 .* such as 10, got"):
        trees.predict(codes[:, None])


def test_words_are_those_of_training_in_whatever_order_the_frame_has_them() -> None:
    codes = np.random.default_rng(0).integers(3, size=200)
    words = pd.Categorical.from_codes(codes, ["middle", "high", "low"])
    frame = pd.DataFrame({"a b": codes % 2, "c": words, "same": pd.Categorical(["x"] * 200)})
    model = lightgbm.LGBMClassifier(**SMALL).fit(frame, codes == 1)
    trees = read(lightgbm.Booster(model_str=model.booster_.model_to_string()))
    others = frame.assign(c=pd.Categorical([*words[:198], "unseen", None]))
    for examples in (frame, others, others.assign(c=others["c"].astype(object))):
        np.testing.assert_array_equal(trees.predict_proba(examples), read(model).predict_proba(examples))
    np.testing.assert_array_equal(trees.predict_proba(others), model.predict_proba(others))
    numbers = frame.assign(c=frame["c"].cat.codes)
    np.testing.assert_array_equal(trees.predict_proba(numbers), model.predict_proba(frame))
    with pytest.raises(TypeError, match=r"^X: expected numbers, got Timestamp.* in column 'a b'"):
        trees.predict(frame.assign(**{"a b": pd.Timestamp("2026-01-01")}).astype({"a b": object}))


@pytest.mark.parametrize("names", [["low", "middle", "high"], [10, 20, 30]])
def test_words_of_an_estimator_are_those_of_the_booster_in_whatever_order(names: list[Any]) -> None:
    codes = np.random.default_rng(0).integers(3, size=400)
    frame = pd.DataFrame({"n": codes % 2 + 0.0, "c": pd.Categorical.from_codes(codes, names)})
    growth, search = BoostGrowth(max_leaf_nodes=4), BoostSearch(n_lambdas=1, n_prunings=1)
    model = BudgetBoost(5, growth=growth, search=search, random_state=0).fit(frame, codes == 1)
    assert not model.decides_by
    booster = write(model, "lightgbm")
    for order in (names, names[::-1]):
        examples = frame.assign(c=frame["c"].cat.set_categories(order))
        np.testing.assert_allclose(booster.predict(examples), model.predict_proba(frame)[:, 1], rtol=1e-12)
        np.testing.assert_allclose(read(booster).predict_proba(examples), model.predict_proba(frame), rtol=1e-12)


@pytest.mark.parametrize("names", [["low", "middle", "high"], [10, 20, 30]])
def test_categories_with_an_order_are_compared_by_their_places(names: list[Any]) -> None:
    rng = np.random.default_rng(0)
    places, others = rng.integers(3, size=(2, 300))
    column = pd.Series(pd.Categorical.from_codes(places, names, ordered=True))
    frame = pd.DataFrame({"a b": others, "c": column, "d": pd.Categorical(np.array(["x", "y", "z"])[others[::-1]])})
    y = (places >= others) ^ (others[::-1] == 2)
    unseen = frame.assign(c=pd.Categorical([*column[:297], None, 7, names[0]], ordered=True))
    for declared in ("auto", ["a b"]):  # LightGBM keeps as many names as columns of categories, but not of this one
        model = lightgbm.LGBMClassifier(**SMALL).fit(frame, y, categorical_feature=declared)
        trees = read(model)
        for examples in (frame, unseen):
            np.testing.assert_array_equal(trees.predict_proba(examples), model.predict_proba(examples))
    exits = EarlyExit(FrozenEstimator(model), feature_costs=[1, 1, 1], budget=3, random_state=0).fit(frame, y)
    document = Model(json.loads(write(exits, "json")))
    for row in range(5):
        session, cells = exits.session(), frame.iloc[row].tolist()
        while session.next_unit is not None:
            session.tell(cells[session.next_unit.features[0]])
        assert session.answer == exits.predict(frame.iloc[[row]])[0] == document.predict([cells])[0]


def test_places_of_categories_with_an_order_are_numbers() -> None:
    places = np.random.default_rng(0).integers(3, size=200)
    column = pd.Series(pd.Categorical.from_codes(places, ["low", "middle", "high"], ordered=True))
    frame = pd.DataFrame({"a b": places % 2, "c": column})
    model = lightgbm.LGBMClassifier(**SMALL).fit(frame, places == 1)
    trees = read(model)
    np.testing.assert_array_equal(trees.predict_proba(frame.assign(c=places)), model.predict_proba(frame))
    with pytest.raises(TypeError, match=r"^X: expected numbers, got .* in column"):
        trees.predict(frame.astype({"c": object}))
    for names in ([10, 20, 30], [1, 0, 2]):
        frame["c"] = column.cat.rename_categories(names)
        trees = read(lightgbm.LGBMClassifier(**SMALL).fit(frame, places == 1))
        with pytest.raises(ValueError, match=r"X: expected a data frame as in training, with 1 columns of dtype categ"):
            trees.predict(frame.astype({"c": int}))


def test_categories_of_a_model_that_was_trained_on_a_saved_data_set(tmp_path: Path) -> None:
    """It has no names of them: LightGBM takes the places in the frame that it predicts, whatever training had."""
    places = np.random.default_rng(0).integers(3, size=200)
    frame = pd.DataFrame({"c": pd.Categorical.from_codes(places, [10, 20, 30])})
    file = str(tmp_path / "data.bin")
    lightgbm.Dataset(frame, places == 1, params={"verbose": -1}).save_binary(file)
    options = {"objective": "binary", "verbose": -1, "min_data_per_group": 1, "cat_smooth": 1}
    booster = lightgbm.train(options, lightgbm.Dataset(file, params={"verbose": -1}), 3)
    trees = read(booster)
    assert trees.tests_categories.any()
    with pytest.raises(ValueError, match=r"X: expected the places .* got the category 10; give X\['c'\]\.cat\.codes"):
        trees.predict(frame)
    same = frame.apply(lambda column: column.cat.codes)
    np.testing.assert_array_equal(trees.predict_proba(same)[:, 1], booster.predict(frame))


STRANGE = (-0.5, -0.999, -1.0, -1.5, -0.0, 0.3, 2.7, 7.0, 8.0, np.nan, 1e10, -1e10, 2.0**31, 2.0**32, 2.0**32 + 2)
"""Numbers in a column of categories; LightGBM truncates them."""


def truncated() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 8, 300), rng.random(300)]).astype(float)
    y = np.isin(X[:, 0], [0, 2, 5]) ^ (X[:, 1] > 0.8)
    model = lightgbm.LGBMClassifier(**SMALL, min_data_per_group=2, cat_smooth=1, max_cat_to_onehot=1)
    return model.fit(X, y.astype(int), categorical_feature=[0]), np.column_stack([STRANGE, np.full(len(STRANGE), 0.5)])


def test_numbers_of_categories_are_truncated() -> None:
    model, strange = truncated()
    trees = read(model)
    np.testing.assert_array_equal(trees.predict_proba(strange), model.predict_proba(strange))
    below, at_minus_one, zero = trees.predict_proba(strange)[[0, 2, 4], 1]
    assert below == zero != at_minus_one
    np.testing.assert_array_equal(write(trees, "lightgbm").predict(strange), model.predict_proba(strange)[:, 1])
    with pytest.raises(ValueError, match="X: expected finite float64 values or NaN"):
        trees.predict([[np.inf, 0.5]])


def categorical_examples() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 45, 600), rng.random(600), rng.integers(0, 3, 600)]).astype(float)
    y = np.isin(X[:, 0], [1, 4, 40]) * 5.0 + X[:, 1] + (X[:, 2] == 1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def test_categories_known_and_unknown_go_the_same_way() -> None:
    X, y = categorical_examples()
    model = lightgbm.LGBMRegressor(**SMALL, min_data_per_group=2, cat_smooth=1)
    trees = read(model.fit(X, y, categorical_feature=[0, 2]))
    assert trees.tests_categories.any()
    assert not trees.tests_categories.all()
    strange = np.column_stack([np.arange(-3, 60), np.full(63, 0.3), np.arange(63) % 5]).astype(float)
    for examples in (X, strange):
        np.testing.assert_allclose(trees.predict(examples), model.predict(examples), rtol=1e-12)
    first = trees.first(2)
    np.testing.assert_array_equal(first.apply(X), trees.apply(X)[:, :2])


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_written_models_predict_the_same(load: Any, missing: bool) -> None:
    X, y = load(return_X_y=True)
    training = with_gaps(X) if missing else X.astype(np.float64)
    trees = read(GradientBoostingClassifier(n_estimators=4).fit(X, y))
    trees = trees if not missing else read(HistGradientBoostingClassifier(max_iter=4).fit(training, y))
    booster = write(trees, "lightgbm")
    np.testing.assert_allclose(booster.predict(training), probabilities(trees, training), rtol=1e-12, atol=1e-15)
    again = read(lightgbm.Booster(model_str=booster.model_to_string()))
    np.testing.assert_array_equal(again.margins(training), trees.margins(training))


def test_written_categories_and_targets() -> None:
    X, y = categorical_examples()
    model = lightgbm.LGBMRegressor(**SMALL, min_data_per_group=2).fit(X, y, categorical_feature=[0, 2])
    np.testing.assert_allclose(write(read(model), "lightgbm").predict(X), model.predict(X), rtol=1e-12)
    stump = read(lightgbm.LGBMRegressor(**SMALL).fit(X[:30, 1:2], np.ones(30)))
    np.testing.assert_allclose(write(stump, "lightgbm").predict(X[:, 1:2]), 1.0)


def test_what_lightgbm_has_not_is_refused() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = read(GradientBoostingClassifier(loss="exponential", n_estimators=2).fit(X, y))
    with pytest.raises(ValueError, match=r"trees: expected a link of logit, .*, got 'half logit'"):
        write(model, "lightgbm")
    three = read(GradientBoostingClassifier(n_estimators=2).fit(*load_iris(return_X_y=True)))
    with pytest.raises(ValueError, match="trees: expected rounds of 3 trees, one per margin in order"):
        write(three.reordered([1, 0, 2, 3, 4, 5]), "lightgbm")


@pytest.mark.parametrize("names", [["a b", "a_b"], ["", "b"], ["a", "b:c"]])
def test_names_that_lightgbm_has_not_are_refused(names: list[str]) -> None:
    X = np.random.default_rng(0).random((40, 2))
    trees = read(GradientBoostingClassifier(n_estimators=2).fit(X, X[:, 0] > 0.5))
    with pytest.raises(ValueError, match="trees: expected feature names that differ when blanks are underscores"):
        write(replace(trees, feature_names=tuple(names)), "lightgbm")


@pytest.mark.parametrize("kind", [lightgbm.LGBMClassifier, lightgbm.LGBMRegressor])
def test_models_that_are_not_fitted_say_so(kind: type) -> None:
    with pytest.raises(NotFittedError, match="fit"):
        read(kind())


def test_frozen_models_are_read() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = lightgbm.LGBMClassifier(**SMALL).fit(X, y)
    np.testing.assert_array_equal(read(FrozenEstimator(model)).predict(X), model.predict(X))


def probabilities(trees: Any, X: Any) -> Any:
    found = trees.predict_proba(X)
    return found[:, 1] if found.shape[1] == 2 else found


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "cross_entropy_lambda"}, r"expected an objective of binary, .*, got cross_entropy_lambda"),
        ({"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1}, r"expected boosted trees, got averaged ones"),
        ({"zero_as_missing": True}, r"expected missing values to be NaN, got zero_as_missing"),
        ({"linear_tree": True}, r"expected leaves with one value, got linear trees"),
        (
            {"objective": lambda y, margins: (margins - y, np.ones_like(y))},
            "expected an objective of binary, .*, got a function of your own",
        ),
    ],
)
def test_what_is_not_read(settings: dict[str, Any], message: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    sparse = np.where(X > 0, X, 0)
    model = lightgbm.LGBMRegressor(**{**SMALL, **settings}).fit(sparse, y / y.max())
    with pytest.raises(TypeError, match=message):
        read(model)


def test_logarithmic_link() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = lightgbm.LGBMRegressor(**SMALL, objective="poisson").fit(X, y)
    np.testing.assert_allclose(read(model).predict(X), model.predict(X), rtol=1e-10)


def test_tiny_values_are_0_and_huge_ones_are_not_missing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[rng.random(X.shape) < 0.3] = np.nan
    y = 2 * np.isnan(X[:, 0]) + (X[:, 1] > 0)
    model = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1).fit(X, y)
    thresholds = read(model).threshold
    assert thresholds.max() == np.inf
    assert 0 < np.abs(thresholds[thresholds != 0]).min() < 1.1e-35
    values = np.float32(1e-35) * np.array([1.0, -1.0, 0.5, -0.5, 1.1, -1.1])
    values = np.concatenate([values, [-1e300, 1e300, 1.7e308, -1.7e308, 0.0, -0.0, np.nan]])
    grid = np.stack(np.meshgrid(values, values), axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(read(model).predict_proba(grid), model.predict_proba(grid), rtol=1e-12)
