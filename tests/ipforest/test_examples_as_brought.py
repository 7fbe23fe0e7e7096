"""Tables, labels and prices in the forms that users bring: taken as they are meant, or refused in one line."""

import inspect
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GroupShuffleSplit
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ipforest import (
    BudgetBoost,
    BudgetBoostRegressor,
    BudgetedClassifier,
    BudgetedPipeline,
    BudgetForest,
    BudgetPrune,
    EarlyExit,
    FeatureCosts,
    Forest,
    PruningSettings,
    cross_validated,
    report,
)
from ipforest.ensemble import read
from ipforest.ensemble.categories import Categories
from ipforest.ensemble.refitting import fill_inner_values, mean_loss
from ipforest.learners import BudgetRF, GreedyMiser, ReadableTree
from ipforest.losses import node_errors, stage_errors
from ipforest.plotting import TradeoffDisplay, plot_purchases
from ipforest.rules import read_rules
from ipforest.tabular.model_files import load_model, save_model
from ipforest.tabular.price_lists import read_prices
from ipforest.wrappers.calibration import CalibratedClassifier
from ipforest.wrappers.thresholds import ThresholdClassifier

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
nw = pytest.importorskip("narwhals")

NAMES = ["a", "b", "c"]
PRICES = [1, 2, 3]


def examples() -> tuple[np.ndarray, np.ndarray]:
    """Draw 60 examples of three numbers; the first two decide."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


MAKE = {
    "BudgetPrune": lambda: BudgetPrune(
        RandomForestClassifier(4, random_state=0), feature_costs=PRICES, budget=4, random_state=0
    ),
    "BudgetForest": lambda: BudgetForest(2, feature_costs=PRICES, budget=4, random_state=0),
    "BudgetRF": lambda: BudgetRF(2, feature_costs=PRICES, budget=4, random_state=0),
    "GreedyMiser": lambda: GreedyMiser(3, lam="1/50", feature_costs=PRICES, random_state=0),
}
WORDS = np.where(np.arange(60) % 2, "p", "q")
each_estimator = pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)


def tables_of_words() -> dict[str, object]:
    frame = pd.DataFrame(examples()[0], columns=NAMES)
    polars = pl.from_pandas(frame)
    return {
        "str": frame.assign(c=WORDS),
        "string": frame.assign(c=pd.array(WORDS, dtype="string")),
        "Arrow string": frame.assign(c=pd.array(WORDS, dtype="string[pyarrow]")),
        "dates": frame.assign(c=pd.Timestamp("2026-11-25")),
        "dates with a zone": frame.assign(c=pd.Timestamp("2026-11-25", tz="UTC")),
        "durations": frame.assign(c=pd.Timedelta(1, "D")),
        "polars String": polars.with_columns(pl.Series("c", WORDS)),
        "polars Date": polars.with_columns(pl.lit("2026-11-25").str.to_date().alias("c")),
        "Arrow table": pa.Table.from_pandas(frame.assign(c=WORDS)),
    }


@each_estimator
@pytest.mark.parametrize("X", tables_of_words().values(), ids=tables_of_words())
def test_words_and_dates_are_refused_by_column(make, X):
    with pytest.raises(ValueError, match=r"^X: expected numbers, got .* in column 'c'; [^\n]*$"):
        make().fit(X, examples()[1])


def test_advice_on_words_is_followed_to_the_letter() -> None:
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES).assign(b=WORDS, c=WORDS)
    with pytest.raises(ValueError, match="in column 'b'; with categorical_features") as refused:
        BudgetForest(2).fit(frame, y)
    advice = str(refused.value).rpartition("as in ")[2]
    BudgetForest(2).fit(eval(advice, {"pandas": pd, "X": frame}), y)
    with pytest.raises(ValueError, match=r"X\.cast\(\{'b': polars\.Categorical, 'c': polars\.Categorical\}\)"):
        BudgetForest(2).fit(pl.from_pandas(frame), y)
    with pytest.raises(ValueError, match=r"\(\(OneHotEncoder\(\), \['b', 'c'\]\), remainder='passthrough'\)"):
        BudgetPrune(RandomForestClassifier(2)).fit(frame, y)


@each_estimator
def test_words_in_examples_to_predict_are_refused_by_column(make):
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    model = make().fit(frame, y)
    with pytest.raises(ValueError, match="X: expected numbers, got 'p' in column 'b'"):
        model.predict(frame.assign(b="p"))


def test_categories_in_another_order_are_refused_for_their_order() -> None:
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES).assign(b=pd.Series(WORDS, dtype="category"))
    model = BudgetForest(2, budget=3, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match=r"^groups: expected those of the examples, by which GroupShuffleSplit"):
        model.set_params(validation_fraction=GroupShuffleSplit()).fit(frame, y)


def tables_of_numbers() -> dict[str, object]:
    X = np.round(examples()[0], 2)
    frame = pd.DataFrame(X, columns=NAMES)
    decimals = pd.array([Decimal(f"{value:.2f}") for value in X[:, 2]], dtype=pd.ArrowDtype(pa.decimal128(10, 2)))
    return {
        "Float64": frame.astype("Float64"),
        "Arrow": frame.convert_dtypes(dtype_backend="pyarrow"),
        "Arrow decimals": frame.assign(c=decimals),
        "decimals": frame.assign(c=[Decimal(f"{value:.2f}") for value in X[:, 2]]),
        "texts of numbers": frame.assign(c=[f"{value:.2f}" for value in X[:, 2]]),
        "objects": frame.astype(object),
        "polars": pl.from_pandas(frame),
        "polars decimals": pl.from_pandas(frame).with_columns(pl.col("c").cast(pl.Decimal(10, 2))),
        "Arrow table": pa.Table.from_pandas(frame),
        "float128": X.astype(np.longdouble),
    }


@pytest.mark.slow
@each_estimator
@pytest.mark.parametrize("X", tables_of_numbers().values(), ids=tables_of_numbers())
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_numbers_of_any_dtype_are_those_of_the_array(make, X):
    plain, y = np.round(examples()[0], 2), examples()[1]
    expected, model = make().fit(plain, y), make().fit(X, y)
    assert_array_equal(model.predict(X), expected.predict(plain))
    assert_array_equal(model.cost(X), expected.cost(plain))


@pytest.mark.parametrize("make", [MAKE["BudgetForest"], MAKE["BudgetPrune"]], ids=["BudgetForest", "BudgetPrune"])
def test_missing_values_of_pandas_among_objects_are_nan(make):
    X, y = examples()
    X[::7, 2] = np.nan
    model = make().fit(X, y)
    objects = pd.DataFrame(X).astype(object)
    objects[2] = objects[2].where(objects[2].notna(), pd.NA)
    for table in (objects, objects.to_numpy()):
        assert_array_equal(make().fit(table, y).predict(table), model.predict(X))
        assert_array_equal(model.cost(table), model.cost(X))
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    assert_array_equal(Forest.from_sklearn(forest).predict(objects), forest.predict(X))
    assert objects.loc[0, 2] is pd.NA


def test_dates_among_objects_and_behind_an_encoder_are_refused_by_column() -> None:
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES).assign(c=pd.Timestamp("2026-11-27"), w=WORDS)
    encoder = make_column_transformer((OneHotEncoder(), ["w"]), remainder="passthrough")
    for make, table, column in (
        (MAKE["BudgetForest"](), frame[NAMES].to_numpy(), 2),
        (MAKE["BudgetForest"](), frame[NAMES].to_numpy().tolist(), 2),
        (BudgetedPipeline(encoder, MAKE["BudgetForest"]().set_params(feature_costs=None)), frame, 4),
    ):
        with pytest.raises(ValueError, match=rf"^X: .*, got Timestamp.* in column {column}; give dates and"):
            make.fit(table, y)


def test_lazy_values_are_refused():
    X, y = examples()
    lazy, model = pl.DataFrame({"y": y}).lazy(), MAKE["BudgetPrune"]().fit(X, y)
    for ask, name in (
        (lambda: MAKE["BudgetForest"]().fit(X, lazy), "y"),
        (lambda: MAKE["BudgetPrune"]().fit(X, y, sample_weight=lazy), "sample_weight"),
        (lambda: MAKE["BudgetForest"]().fit(X, y, X_val=X, y_val=lazy), "y_val"),
        (lambda: model.score(X, lazy), "y"),
        (lambda: model.summary(X, lazy), "y"),
    ):
        expected = f"{name}: expected a value for each row of X, got a LazyFrame that is still to be computed; use"
        with pytest.raises(ValueError, match=rf"{expected} {name}\.collect\(\)"):
            ask()


def test_lazy_tables_are_refused():
    X, y = examples()
    lazy, model = pl.DataFrame(X).lazy(), MAKE["BudgetPrune"]().fit(X, y)
    pipeline = BudgetedPipeline(StandardScaler(), clone(model).set_params(feature_costs=None))
    for use in (
        lambda: MAKE["BudgetForest"]().fit(lazy, y),
        lambda: model.mixture(2).predict(lazy),
        lambda: model.forest_.predict(lazy),
        lambda: pipeline.fit(lazy, y),
        lambda: pipeline.fit(X, y).predict(lazy),
    ):
        with pytest.raises(ValueError, match=r"^X: expected a table, got a LazyFrame .* use X.collect\(\)$"):
            use()


@each_estimator
def test_a_column_name_twice_is_refused(make):
    X, y = examples()
    with pytest.raises(ValueError, match="X: expected each column once, got 'a' 2 times"):
        make().fit(pd.DataFrame(X, columns=["a", "b", "a"]), y)


LABELS = {
    "numbers from 1": [1, 2, 3],
    "numbers with gaps": [0, 2, 5],
    "numpy numbers": np.array([7, 8, 9]),
    "two levels": pd.MultiIndex.from_tuples([("blood", "hb"), ("blood", "wbc"), ("scan", "mri")]),
    "dates": pd.date_range("2026-11-01", periods=3),
}


@pytest.mark.slow
@each_estimator
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_that_are_no_texts_keep_their_order(make, labels):
    X, y = examples()
    frame = pd.DataFrame(X, columns=labels)
    model = make().fit(frame, y)
    assert_array_equal(model.predict(frame), model.predict(X))
    with pytest.raises(
        ValueError, match=r"X: expected the columns of training in their order, got .* in place 0 where"
    ):
        model.predict(frame.iloc[:, ::-1])
    model.fit(X, y)
    assert_array_equal(model.predict(frame), model.predict(X))


@each_estimator
def test_columns_numbered_in_another_order_are_refused_in_training(make):
    X, y = examples()
    with pytest.raises(ValueError, match="got number 2 in place 0"):
        make().fit(pd.DataFrame(X, columns=[2, 1, 0]), y)


@pytest.mark.parametrize("labels", [["10", "9", 1], ["ill", True], [2.5, "well"]], ids=str)
@each_estimator
def test_labels_of_two_types_are_refused(make, labels):
    X, _ = examples()
    y = np.array([labels[row % len(labels)] for row in range(60)], dtype=object)
    with pytest.raises(ValueError, match=r"^y: expected labels of one type, got [^\n]*$"):
        make().fit(X, y)


@pytest.mark.parametrize("prices", [{1, 2, 3}, frozenset({1, 2, 3}), {"a": 1, "b": 2, "c": 3}.keys()], ids=str)
def test_prices_without_an_order_are_refused(prices):
    with pytest.raises(TypeError, match="prices: expected"):
        FeatureCosts(prices)
    with pytest.raises(TypeError, match="prices: expected"):
        read_prices(prices)


@each_estimator
@pytest.mark.parametrize("price", [1e-320, 5e-324, "1e-400", 1e308, "1e400"])
def test_prices_beyond_floats_are_refused_before_training(make, price):
    X, y = examples()
    model = make().set_params(feature_costs=[price, 1, 2])
    message = f"feature_costs: expected 0 or prices from 1e-100 to 1e+100, got {Decimal(str(price)):.3g}; give"
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X, y)


def test_prices_at_the_limits_are_paid():
    X, y = examples()
    for price in ("1e-100", "1e100"):
        model = BudgetForest(2, feature_costs=[price] * 3, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.cost(X), float(price) * model.acquired(X).sum(axis=1))


def test_prices_of_two_decimal_marks_are_told(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("feature;cost\nhb;0,5\nwbc;2.75\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"all prices with the same decimal mark and currency, got '0,5' and '2.75'"):
        read_prices(path)


@pytest.mark.slow
def test_saved_trees_with_sets_of_categories_predict_the_same(tmp_path):
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES).assign(c=pd.Categorical(WORDS))
    frame["a"] += 3 * (WORDS == "p")
    model = MAKE["BudgetForest"]().fit(frame, y)
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def other_tables() -> dict[str, tuple[object, str]]:
    X, _ = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    return {
        "dates": (np.full((60, 3), "2026-11-25", dtype="M8[D]"), "numbers, got dtype datetime64.*; give dates and dur"),
        "durations": (np.full((60, 3), 5, dtype="m8[s]"), "numbers, got dtype timedelta64.*; give dates and durations"),
        "texts of numpy": (X.astype(str).astype(np.dtypes.StringDType()), r"StringDType\(\); use X.astype\(float\)"),
        "records": (frame.to_records(index=False), r"got an array of records; use pandas.DataFrame\(X\)"),
        "mapping": ({name: frame[name] for name in NAMES}, r"got a dict of columns; use pandas.DataFrame\(X\)"),
        "sparse matrix": (csr_array(X), "got a sparse matrix; .* for XGBoost it is missing"),
        "sparse frame": (frame.astype(pd.SparseDtype(float, 0)), r"got sparse ones; X.sparse.to_dense\(\)"),
        "one sparse column": (frame.astype({"b": pd.SparseDtype(float, np.nan)}), "got sparse ones"),
        "one dimension": (X[:, 0], "2 dimensions .*, got 1. Reshape your data"),
        "one column": (frame["a"], "2 dimensions .*, got 1. Reshape your data"),
    }


@each_estimator
@pytest.mark.parametrize("kind", other_tables())
def test_what_is_no_table_of_numbers_is_refused_with_what_to_do(make, kind) -> None:
    X, message = other_tables()[kind]
    with pytest.raises((TypeError, ValueError), match=f"^X: expected [^\n]*{message}[^\n]*$"):
        make().fit(X, examples()[1])


@pytest.mark.parametrize("kind", other_tables())
def test_trees_that_are_read_refuse_it_as_well(kind) -> None:
    trees = Forest.from_sklearn(RandomForestClassifier(2, random_state=0).fit(*examples()))
    X, message = other_tables()[kind]
    with pytest.raises((TypeError, ValueError), match=f"^X: expected [^\n]*{message}[^\n]*$"):
        trees.predict(X)


@pytest.mark.parametrize("kind", ["dates", "dates with a zone", "durations", "polars Date"])
def test_dates_are_told_to_be_given_as_numbers(kind) -> None:
    with pytest.raises(
        ValueError, match="in column 'c'; give dates and durations as numbers, such as days since a day"
    ):
        MAKE["BudgetForest"]().fit(tables_of_words()[kind], examples()[1])


@each_estimator
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_labels_that_are_missing_are_refused_by_place(make, missing) -> None:
    X, y = examples()
    labels = np.where(y, "yes", "no").astype(object)
    labels[7] = missing
    with pytest.raises(ValueError, match=r"^y: expected a label for each example, got .* in place 7; leave out the"):
        make().fit(X, labels)
    with pytest.raises(ValueError, match=r"^y: expected a label for each example, got .* in place 7; leave out the"):
        make().fit(X, pd.Series(labels))
    with pytest.raises(ValueError, match=r"^y: expected a label for each example, got nan in place 7; leave out the"):
        make().fit(X, np.where(np.arange(len(y)) == 7, np.nan, y))


def test_targets_that_are_missing_are_refused_by_place() -> None:
    X, y = examples()
    with pytest.raises(ValueError, match=r"^y: expected a target for each example, got nan in place 7; leave out the"):
        BudgetBoostRegressor(2).fit(X, np.where(np.arange(len(y)) == 7, np.nan, y))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@each_estimator
def test_infinite_numbers_are_refused_by_column(make) -> None:
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    model = make().fit(frame, y)
    infinite = frame.assign(b=np.where(y == 1, -np.inf, 1e9))
    place = r"^Input X contains infinity or .* The largest is in column 'b'; NaN stands for a missing value\.$"
    for use in (lambda table: make().fit(table, y), model.predict):
        with pytest.raises(ValueError, match=place):
            use(infinite)
    with pytest.raises(ValueError, match=r"too large .* in column 'b'"):
        make().fit(frame.assign(b=np.where(y == 1, 1e39, 1)), y)


@pytest.mark.parametrize("y", [np.arange(60), pd.Series(pd.date_range("2026-11-29", periods=60))])
def test_numbers_and_dates_that_are_all_different_are_no_classes(y) -> None:
    message = r"got n_samples = 60, each of another class; take a regressor for numbers, give fit held-out examples, or"
    with (
        pytest.warns(UserWarning, match="greater than 50% of the number of samples"),
        pytest.raises(ValueError, match=message),
    ):
        BudgetForest(2).fit(np.random.default_rng(0).random((60, 3)), y)


@each_estimator
def test_rows_in_another_order_than_their_labels_are_refused(make) -> None:
    X, y = examples()
    frame, labels = pd.DataFrame(X, columns=NAMES), pd.Series(y)
    shuffled = frame.sample(frac=1, random_state=0)
    with pytest.raises(
        ValueError, match=r"^y: expected the rows of X .* got 0 in place 0 where .* use y.loc\[X.index\]"
    ):
        make().fit(shuffled, labels)


def test_rows_in_one_order_or_with_other_labels_go_by_position() -> None:
    X, y = examples()
    frame, labels, make = pd.DataFrame(X, columns=NAMES), pd.Series(y), MAKE["BudgetPrune"]
    shuffled = frame.sample(frac=1, random_state=0)
    expected = make().fit(shuffled, labels.loc[shuffled.index]).predict(X_new := frame[::2])
    assert_array_equal(make().fit(shuffled, labels.loc[shuffled.index].to_numpy()).predict(X_new), expected)
    renumbered = shuffled.reset_index(drop=True).set_index(np.arange(60) + 1000)
    assert_array_equal(make().fit(renumbered, labels.loc[shuffled.index]).predict(X_new), expected)


@each_estimator
def test_weights_in_another_order_are_refused(make) -> None:
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    if "sample_weight" not in inspect.signature(make().fit).parameters:
        with pytest.raises(TypeError, match="sample_weight"):
            make().fit(frame, y, sample_weight=np.ones(60))
        return
    with pytest.raises(
        ValueError, match=r"^sample_weight: expected the rows of X in their order, got 59 in place 0 where"
    ):
        make().fit(frame, y, sample_weight=pd.Series(1.0, index=np.arange(60)[::-1]))


def test_targets_of_a_fitted_forest_in_another_order_are_refused() -> None:
    X, y = examples()
    frame, labels = pd.DataFrame(X, columns=NAMES), pd.Series(y)
    forest = RandomForestClassifier(2, random_state=0).fit(frame, labels)
    with pytest.raises(ValueError, match=r"^y: expected the rows of X in their order,"):
        BudgetPrune(forest, pruning=PruningSettings(errors="held-out"), budget=2).fit(frame, labels[::-1])


@each_estimator
@pytest.mark.parametrize("kind", [bool, int, Decimal])
def test_labels_that_are_objects_are_refused_with_how_to_write_them(make, kind) -> None:
    X, y = examples()
    with pytest.raises(ValueError, match=rf"^y: .* objects of type {kind.__name__} \(.*; use y.astype"):
        make().fit(X, pd.Series([kind(int(label)) for label in y], dtype=object))


@each_estimator
def test_labels_that_are_texts_of_numpy_are_refused_with_how_to_write_them(make) -> None:
    X, y = examples()
    with pytest.raises(ValueError, match=r"^y: .* got dtype StringDType\(\); use y.astype\(object\)$"):
        make().fit(X, y.astype(str).astype(np.dtypes.StringDType()))


def test_held_out_rows_in_another_order_are_refused() -> None:
    X, y = examples()
    frame, labels = pd.DataFrame(X, columns=NAMES), pd.Series(y)
    with pytest.raises(ValueError, match="expected the rows of X in their order"):
        MAKE["BudgetForest"]().fit(frame[:40], labels[:40], frame[:39:-1], labels[40:])


def test_labels_to_measure_on_are_those_of_the_rows() -> None:
    """`score` counted labels of other rows, and one label was a cost of mistakes for all."""
    X, y = examples()
    frame, labels = pd.DataFrame(X, columns=NAMES), pd.Series(y)
    model = MAKE["BudgetPrune"]().set_params(class_costs=[[0, 1], [2, 0]]).fit(frame, labels)
    for measure in (model.score, model.total_cost, model.misclassification_cost, model.measured):
        measure(frame, labels)
        with pytest.raises(ValueError, match="expected the rows of X in their order"):
            measure(frame, labels[::-1])
        with pytest.raises(ValueError, match=r"one per example|inconsistent numbers of samples"):
            measure(frame, y[:1])


def of_rows() -> dict[str, object]:
    """Give what measures a model, or learns from examples, without its `fit`: called with a frame and targets."""
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    model = BudgetForest(2, feature_costs=PRICES, random_state=0).fit(frame, y)
    pipeline = BudgetedPipeline(StandardScaler(), BudgetForest(2, random_state=0)).fit(frame, y)
    forest = read(RandomForestClassifier(2, random_state=0).fit(X, y))
    boosted = read(GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y))
    return {
        "score": model.score,
        "score of a pipeline": pipeline.score,
        "score of a mixture": model.mixture(100).score,
        "report": lambda X, y: report(model, X, y, n_resamples=0),
        "report of a pipeline": lambda X, y: report(pipeline, X, y, n_resamples=0),
        "cross-validation": lambda X, y: cross_validated(BudgetForest(2, random_state=0), X, y, cv=2),
        "errors at nodes": lambda X, y: node_errors(forest, "misclassification", (X, y), None),
        "errors of steps": lambda X, y: stage_errors(fill_inner_values(boosted, X), "stage", (X, y)),
        "loss": lambda X, y: mean_loss(boosted, X, y),
        "refit": forest.refit,
        "purchases": lambda X, y: plot_purchases(model, X, y),
        "rules": lambda X, y: read_rules(model, X, y),
        "fidelity": ReadableTree(model, max_questions=2, random_state=0).fit(frame, y).fidelity,
        "trade-off": lambda X, y: TradeoffDisplay.from_estimator(model, X, y),
    }


@pytest.mark.parametrize("name", of_rows())
def test_what_takes_targets_takes_those_of_the_rows(name) -> None:
    X, y = examples()
    frame, use = pd.DataFrame(X, columns=NAMES), of_rows()[name]
    use(frame, pd.Series(y))
    with pytest.raises(ValueError, match="y: expected the rows of X in their order"):
        use(frame, pd.Series(y)[::-1])


@pytest.mark.parametrize("name", ["sample_weight", "groups"])
def test_what_a_pipeline_is_told_of_rows_is_in_their_order(name) -> None:
    X, y = examples()
    given = {name: pd.Series(np.arange(60) // 2 + 1)[::-1]}
    with pytest.raises(ValueError, match=f"{name}: expected the rows of X in their order"):
        BudgetedPipeline(StandardScaler(), BudgetForest(2)).fit(pd.DataFrame(X), y, **given)


def test_targets_in_a_column_are_not_compared_with_each_other() -> None:
    X, y = examples()
    model = BudgetForest(2, feature_costs=PRICES, random_state=0).fit(X, y)
    with pytest.warns(DataConversionWarning):
        in_a_column = TradeoffDisplay.from_estimator(model, X, y[:, None])
    plain = TradeoffDisplay.from_estimator(model, X, y)
    tree = ReadableTree(model, max_questions=2, random_state=0).fit(X, y)
    with pytest.warns(DataConversionWarning):
        assert tree.fidelity(X, y[:, None]) == tree.fidelity(X, y)
    for found, expected in zip(in_a_column.curves, plain.curves, strict=True):
        assert_array_equal(found.errors, expected.errors)


def numbers_in_other_forms() -> dict[str, object]:
    X, _ = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    holes = frame.where(frame > -2)
    swapped = X.astype(">f8")
    return {
        "nullable": holes.astype("Float64"),
        "Arrow doubles": holes.astype("double[pyarrow]"),
        "polars nulls": pl.from_pandas(holes.astype("Float64")),
        "Arrow table": pa.Table.from_pandas(holes),
        "objects": holes.astype(object),
        "decimals": holes.map(lambda number: Decimal(repr(number)) if number == number else None),
        "texts": holes.map(lambda number: repr(number) if number == number else None).astype(object),
        "big-endian": np.where(frame > -2, swapped, np.nan).astype(">f8"),
        "Fortran order": np.asfortranarray(holes),
        "strided": np.repeat(holes.to_numpy(), 2, axis=0)[::2],
        "long doubles": holes.to_numpy().astype(np.longdouble),
        "MultiIndex": holes.set_axis(pd.MultiIndex.from_product([["g"], NAMES]), axis=1),
        "names of a price list": holes.set_axis(["feature", "cost", "group"], axis=1),
        "negative zero": holes.to_numpy() + -0.0,
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", numbers_in_other_forms())
@pytest.mark.parametrize("name", ["BudgetPrune", pytest.param("BudgetForest", marks=pytest.mark.slow)])
def test_numbers_in_other_forms_are_the_same_numbers(name, kind) -> None:
    X, y = examples()
    holes = np.where(X > -2, X, np.nan)
    assert np.isnan(holes).any()
    table = numbers_in_other_forms()[kind]
    model, plain = MAKE[name]().fit(table, y), MAKE[name]().fit(holes, y)
    assert_array_equal(model.predict_proba(table), plain.predict_proba(holes))
    assert_array_equal(model.cost(table), plain.cost(holes))
    assert_array_equal(model.cost(table), model.acquired(table) @ np.array(PRICES))


@pytest.mark.parametrize(
    "model",
    [
        EarlyExit(RandomForestClassifier(4, random_state=0), budget=2, random_state=0),
        CalibratedClassifier(BudgetPrune(RandomForestClassifier(4, random_state=0), random_state=0), random_state=0),
        BudgetedPipeline(StandardScaler(), BudgetPrune(RandomForestClassifier(4, random_state=0), random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_frames_in_the_byte_order_of_another_machine_are_parted(model) -> None:
    """pandas takes no rows of such columns, as files of astronomy have them."""
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES)
    swapped = pd.DataFrame(X.astype(">f8"), columns=NAMES)
    plain = clone(model).fit(frame, y)
    assert_array_equal(clone(model).fit(swapped, y).predict_proba(swapped), plain.predict_proba(frame))
    assert swapped.dtypes.to_list() == [np.dtype(">f8")] * 3


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", pd.ArrowDtype(pa.string())])
def test_missing_words_of_nullable_texts_are_encoded(dtype) -> None:
    """As `DataFrame.convert_dtypes` gives them; scikit-learn's encoders do not know NA."""
    X, y = examples()
    table = pd.DataFrame(X, columns=NAMES).assign(word=np.where(X[:, 2] > 1, None, WORDS))
    encoder = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = BudgetedPipeline(encoder, BudgetPrune(RandomForestClassifier(4, random_state=0), random_state=0))
    nullable, plain = table.astype({"word": dtype}), clone(model).fit(table, y)
    assert nullable["word"].isna().any()
    for fitted, others in ((plain, nullable), (clone(model).fit(nullable, y), table)):
        assert_array_equal(fitted.predict_proba(others), plain.predict_proba(table))


def tables_with_gaps_among_words() -> dict[str, object]:
    """Give tables whose missing words are None, or NaN, or what Arrow and Polars have for them."""
    X, _ = examples()
    words = np.where(X[:, 2] > 1, None, WORDS)
    table = pd.DataFrame(X, columns=NAMES).assign(word=pd.Series(words, dtype=object))
    gaps = table["word"].isna()
    assert {*table["word"][gaps]} == {None}
    return {
        "None": table,
        "NaN": table.assign(word=table["word"].mask(gaps, np.nan)),
        "str": table.astype({"word": "str"}),
        "string": table.astype({"word": "string"}),
        "category": table.astype({"word": "category"}),
        "Arrow": pa.Table.from_pandas(table),
        "polars": pl.from_pandas(table),
    }


@pytest.mark.parametrize("trained", tables_with_gaps_among_words())
def test_missing_words_are_the_same_in_every_form(trained) -> None:
    """An encoder that was trained on None took NaN for a word that it does not know, or NaN for None."""
    y, tables = examples()[1], tables_with_gaps_among_words()
    y = np.where(tables["None"]["word"].isna(), 1 - y, y)
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["word"]), remainder="passthrough")
    model = BudgetedPipeline(encoder, BudgetPrune(RandomForestClassifier(4, random_state=0), random_state=0))
    model.fit(tables[trained], y)
    expected = model.predict_proba(tables[trained])
    empty = tables["None"].assign(word=tables["None"]["word"].fillna(""))
    as_in_a_file = clone(model).fit(empty, y)
    for table in tables.values():
        assert_array_equal(as_in_a_file.predict_proba(table), as_in_a_file.predict_proba(empty))
        assert_array_equal(model.predict_proba(table), expected)
        assert_array_equal(model.predict_proba(table[:1]), expected[:1])
    cells = [[*row] for row in tables["None"].to_numpy()]
    for row in np.flatnonzero(tables["None"]["word"].isna())[:3]:
        session = model.session()
        while (unit := session.next_unit) is not None:
            session.tell(np.nan if unit.name == "word" else cells[row][[*NAMES, "word"].index(unit.name)])
        assert session.answer == model.predict(tables["NaN"])[row]


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_missing_numbers_of_nullable_dtypes_pass_an_encoder(backend) -> None:
    """As `read_csv` gives them on demand; ColumnTransformer lets no NA through."""
    X, y = examples()
    gaps = np.arange(60) % 7 == 0
    table = pd.DataFrame(np.round(X, 2), columns=NAMES).assign(b=(10 * X[:, 1]).round(), word=WORDS)
    table.loc[gaps, ["a", "b"]] = np.nan
    nullable = table.convert_dtypes(dtype_backend=backend)
    nullable["seen"], table["seen"] = nullable["b"] > 0, table["b"].gt(0).where(~gaps).astype(float)
    encoder = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = BudgetedPipeline(encoder, BudgetPrune(RandomForestClassifier(4, random_state=0), random_state=0))
    plain = clone(model).fit(table, y)
    for fitted, others in ((plain, nullable), (clone(model).fit(nullable, y), table)):
        assert_array_equal(fitted.predict_proba(others), plain.predict_proba(table))
        session = fitted.session()
        while session.next_unit is not None:
            session.tell(nullable.iloc[0][session.next_unit.name])
        assert session.answer == plain.predict(table)[0]


def labels_in_other_forms(y: np.ndarray) -> dict[str, object]:
    words = np.where(y, "yes", "no")
    return {
        "frame": (pd.DataFrame({"y": y}), y),
        "column": (y[:, None], y),
        "polars": (pl.Series(y), y),
        "chunked": (pa.chunked_array([y]), y),
        "unused category": (pd.Series(y).astype(pd.CategoricalDtype([0, 1, 2])), y),
        "floats": (y + 1.0, y + 1.0),
        "nullable bool": (pd.array(y > 0, dtype="boolean"), y > 0),
        "Arrow words": (pd.Series(words).astype("string[pyarrow]"), words),
        "numbers as texts": (np.where(y, "1", "0"), np.where(y, "1", "0")),
    }


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("kind", labels_in_other_forms(np.zeros(2)))
def test_labels_in_other_forms_come_back(kind) -> None:
    X, y = examples()
    given, expected = labels_in_other_forms(y)[kind]
    model, plain = MAKE["BudgetPrune"]().fit(X, given), MAKE["BudgetPrune"]().fit(X, y)
    assert_array_equal(model.classes_, np.unique(expected))
    assert_array_equal(model.predict(X), np.unique(expected)[plain.predict(X)])


@each_estimator
def test_any_frame_may_lack_columns_that_are_never_wanted(make) -> None:
    X, y = examples()
    frame = pd.DataFrame(X, columns=NAMES).assign(b=1.0)
    model = make().fit(frame, y)
    assert "b" not in {NAMES[feature] for feature in model.policy().features.tolist()}
    for part in (frame[["a", "c"]], pl.from_pandas(frame[["a", "c"]]), pa.Table.from_pandas(frame[["a", "c"]])):
        assert_array_equal(model.predict(part), model.predict(frame))
        assert_array_equal(model.cost(part), model.cost(frame))
    for part in (frame[["c", "a"]], pl.from_pandas(frame[["c", "a"]])):
        with pytest.raises(ValueError, match="must be in the same order"):
            model.predict(part)


@pytest.mark.parametrize("kind", ["polars", "arrow", "pandas", "array", "lists"])
def test_the_advice_for_words_fits_the_table(kind: str) -> None:
    frame = pd.DataFrame({"a": np.arange(6.0), "w": list("xyzxyz")})
    objects = frame.to_numpy(dtype=object)
    tables = {"polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame), "pandas": frame}
    X = {**tables, "array": objects, "lists": objects.tolist()}[kind]
    with pytest.raises(ValueError, match="as in ") as refused:
        BudgetForest(2).fit(X, [0, 1] * 3)
    advised = eval(str(refused.value).split("as in ")[1], {"X": X, "pandas": pd, "polars": pl})
    assert [*Categories.of(advised, "from_dtype").names.values()] == [("x", "y", "z")]


@pytest.mark.parametrize("scale", [2.0**-12, 2.0**12])
@pytest.mark.parametrize("make", [BudgetBoost, BudgetBoostRegressor, BudgetForest])
def test_only_ratios_of_weights_count(make, scale: float) -> None:
    """Weights that sum to 1, as of `AdaBoostClassifier`, left `BudgetBoost` without a split."""
    X, y = examples()
    weight = np.where(X[:, 2] > 0, 2.0, 1.0)
    first, second = (
        make(3, feature_costs=PRICES, budget=4, random_state=0).fit(X, y, sample_weight=each)
        for each in (weight, scale * weight)
    )
    assert_array_equal(first.predict(X), second.predict(X))
    assert first.cost(X).mean() == second.cost(X).mean() > 0


def test_equal_weights_are_none_for_any_model() -> None:
    """A forest draws other examples with weights than without, even if all are 1."""
    X, y = examples()
    members = [RandomForestClassifier(3, max_depth=3, random_state=0)]
    plain = BudgetedClassifier(members, feature_costs=PRICES, random_state=0).fit(X, y)
    for weight in (1.0, 2.0, 0.25):
        model = clone(plain).fit(X, y, sample_weight=np.full(60, weight))
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("weight", [1e300, 1e-300])
def test_weights_without_products_are_refused(weight: float) -> None:
    X, y = examples()
    with pytest.raises(
        ValueError, match=r"sample_weight: expected 0 or numbers between 1e-100 and .* only their ratios count"
    ):
        MAKE["BudgetForest"]().fit(X, y, sample_weight=np.full(60, weight))


def test_rows_as_mappings_are_refused() -> None:
    X, y = examples()
    model = MAKE["BudgetPrune"]().fit(X, y)
    with pytest.raises(TypeError, match=r"got a list of dicts, a row each; use pandas.DataFrame\(X\)"):
        model.predict([dict(zip(NAMES, row, strict=True)) for row in X.tolist()])


def test_only_ratios_of_weights_count_in_refits() -> None:
    X, y = examples()
    boosted = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X, y)
    weight = np.where(X[:, 2] > 0, 2.0, 1.0)
    first, second = (
        BudgetPrune(boosted, feature_costs=PRICES, budget=4, pruning=PruningSettings(refit=True), random_state=0)
        .fit(X, y, sample_weight=each)
        .predict_proba(X)
        for each in (weight, weight / 1024)
    )
    assert_array_equal(first, second)


def test_rows_of_no_weight_are_left_out_of_refits() -> None:
    """They made the penalty of large leaves smaller."""
    X, y = examples()
    boosted = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(X, y)
    model = BudgetPrune(boosted, feature_costs=PRICES, budget=4, pruning=PruningSettings(refit=True), random_state=0)
    weight = np.arange(60) % 3
    counted = weight > 0
    among_others = model.fit(X, y, X_cost=X, sample_weight=weight).predict_proba(X)
    alone = model.fit(X[counted], y[counted], X_cost=X, sample_weight=weight[counted]).predict_proba(X)
    np.testing.assert_allclose(among_others, alone, rtol=1e-9)


FRAMES_OF_LIBRARIES = {
    "narwhals": lambda frame: nw.from_native(pl.from_pandas(frame)),
    "narwhals of pandas": nw.from_native,
    "Arrow batch": lambda frame: pa.RecordBatch.from_pandas(frame),
    "Dask": lambda frame: pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2),
}


@each_estimator
@pytest.mark.parametrize("kind", FRAMES_OF_LIBRARIES)
def test_columns_of_frames_of_libraries_are_known_by_name(make, kind) -> None:
    X, y = examples()
    frame, brought = pd.DataFrame(X, columns=NAMES), FRAMES_OF_LIBRARIES[kind]
    prices = dict(zip(NAMES, PRICES, strict=True))
    model = make().set_params(feature_costs=prices).fit(brought(frame), y)
    expected = make().fit(X, y).predict(X)
    assert_array_equal(model.predict(brought(frame)), expected)
    assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match="order"):
        model.predict(brought(frame[NAMES[::-1]]))


@pytest.mark.parametrize("kind", FRAMES_OF_LIBRARIES)
def test_trees_and_pipelines_know_columns_of_frames_of_libraries_by_name(kind) -> None:
    X, y = examples()
    frame, brought = pd.DataFrame(X, columns=NAMES), FRAMES_OF_LIBRARIES[kind]
    ensemble = read(RandomForestClassifier(3, random_state=0).fit(frame, y))
    assert_array_equal(ensemble.predict(brought(frame)), ensemble.predict(frame))
    with pytest.raises(ValueError, match="order of training"):
        ensemble.predict(brought(frame[NAMES[::-1]]))
    pipeline = BudgetedPipeline(StandardScaler(), MAKE["BudgetForest"]().set_params(feature_costs=None))
    pipeline.fit(brought(frame), y)
    assert_array_equal(pipeline.predict(brought(frame[NAMES[::-1]])), pipeline.predict(frame))


@pytest.mark.parametrize("kind", FRAMES_OF_LIBRARIES)
def test_rows_of_frames_of_libraries_are_parted_and_columns_absent(kind) -> None:
    X, y = examples()
    frame, brought = pd.DataFrame(X, columns=NAMES).assign(b=1.0), FRAMES_OF_LIBRARIES[kind]
    forest = MAKE["BudgetForest"]()
    found, expected = (cross_validated(forest, table, y, cv=2).means for table in (brought(frame), frame))
    pd.testing.assert_frame_equal(found, expected)
    model = ThresholdClassifier(forest, threshold=0.4, random_state=0).fit(brought(frame), y)
    assert_array_equal(model.predict(brought(frame)), model.predict(frame))
    mixed = forest.fit(frame, y).mixture(100)
    assert_array_equal(mixed.predict(brought(frame[["a", "c"]])), mixed.predict(frame))


@pytest.mark.parametrize(
    ("y", "advice"),
    [
        (np.arange("2020-01-01", "2020-03-01", dtype="M8[D]"), "as numbers"),
        (np.arange(60).astype("m8[D]"), "as numbers"),
        ([pd.NA, *range(59)], "leave out"),
        (np.array(["a"] * 60, dtype=np.dtypes.StringDType()), "take a classifier"),
        (csr_array(np.ones((60, 2))), "toarray"),
        ({"a": 1}, "1d array"),
        (np.eye(60)[:, :2], r"one target per example, .* \(60, 2\); train a model of each by .* MultiOutputRegressor"),
    ],
    ids=["dates", "durations", "NA", "texts of numpy", "sparse", "mapping", "two"],
)
def test_targets_that_are_no_numbers_are_refused_with_what_to_do(y, advice) -> None:
    with pytest.raises((TypeError, ValueError), match=advice):
        BudgetBoostRegressor().fit(examples()[0], y)


@each_estimator
def test_a_table_without_columns_is_refused(make) -> None:
    with pytest.raises(ValueError, match="a column at least"):
        make().fit(pd.DataFrame(index=range(60)), examples()[1])
