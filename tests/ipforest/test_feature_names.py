"""Matching by name: what is found, and what is said of names that do not match."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ipforest import BudgetPrune, EarlyExit
from ipforest._internal.feature_names import (
    as_in_training,
    checked_names,
    column_names,
    column_numbers,
    positions_by_name,
    require_columns_of_training,
    require_names_of,
    require_same_columns,
    values_and_names,
)
from ipforest.adaptive import AdaptGbrt

NAMES = ("age", "sex", "chol", "fbs")


def test_names_come_from_frames_with_string_columns_only() -> None:
    assert column_names(pd.DataFrame(np.ones((2, 2)), columns=["b", "a"])) == ("b", "a")
    assert column_names(pd.DataFrame(np.ones((2, 2)))) is None
    assert column_names(pd.DataFrame(np.ones((2, 2)), columns=["a", 1])) is None
    assert column_names(np.ones((2, 2))) is None
    assert column_names([[1.0]]) is None


def test_values_keep_their_names() -> None:
    assert values_and_names({"b": 2, "a": 1}, "prices") == ([2, 1], ("b", "a"))
    assert values_and_names(pd.Series([2, 1], index=["b", "a"]), "prices")[1] == ("b", "a")
    assert values_and_names(pd.Series([2, 1]), "prices")[1] is None
    for plain in ([2, 1], (2, 1), np.array([2, 1])):
        values, names = values_and_names(plain, "prices")
        assert values is plain
        assert names is None


def test_positions_by_name() -> None:
    assert positions_by_name(["chol", "fbs", "age", "sex"], NAMES, "prices: expected the features") == [2, 3, 0, 1]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["age", "sex", "chol"], "^what, got no 'fbs'$"),
        (["age", "sex", "cholest", "fbs"], r"^what, got unknown 'cholest' \(closest: 'chol'\) and no 'chol'$"),
        (["age", "sex", "chol", "fbs", "zzz"], "^what, got unknown 'zzz'$"),
        (["age", "sex", "chol", "fbs", "age"], "^what, each once, got 'age' twice$"),
        (["q"], "^what, got unknown 'q' and no 'age', 'sex', 'chol' and 1 more$"),
    ],
)
def test_names_that_do_not_match_are_told(names: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        positions_by_name(names, NAMES, "what")


def test_columns_must_be_those_of_training_in_their_order() -> None:
    require_same_columns(NAMES, NAMES, "X")
    with pytest.raises(
        ValueError,
        match=r"X: expected the columns in the order of training, got 'fbs' in place 0 where 'age' was; "
        r"reorder them by X\[list\(forest\.feature_names\)\]",
    ):
        require_same_columns(NAMES[::-1], NAMES, "X")
    with pytest.raises(ValueError, match=r"got 'b c' in place 0 where 'a' was; reorder them$"):
        require_same_columns(["b c", "a"], ["a", "b_c"], "X")  # LightGBM's spelling does not select the column
    with pytest.raises(ValueError, match=r"X_cost: expected the columns of training, got unknown 'agee' \(closest"):
        require_same_columns(("agee", *NAMES[1:]), NAMES, "X_cost")


def test_checked_names() -> None:
    assert checked_names(None, 3) is None
    assert checked_names(np.array(NAMES, dtype=object), 4) == NAMES
    with pytest.raises(ValueError, match="feature_names: expected 3 names, one per feature, got 4"):
        checked_names(NAMES, 3)
    with pytest.raises(TypeError, match="feature_names: expected strings, got 1"):
        checked_names(["a", 1], 2)


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([0, 1, 2], [0, 1, 2]),
        (["0", "1", "10", *map(str, range(2, 10))], [0, 1, 10, *range(2, 10)]),
        (pd.RangeIndex(3)[::-1], [2, 1, 0]),
        (np.array([1, 0]), [1, 0]),
        (["1", 0], [1, 0]),
        (["1", "2"], None),
        (["0", "0"], None),
        (["a", "0"], None),
        (["0", "-1"], None),
        (["0", "\u0661"], None),
        ([True, False], None),
        ([], None),
        (None, None),
    ],
)
def test_column_numbers(labels: Any, numbers: list[int] | None) -> None:
    assert column_numbers(labels) == numbers


@pytest.mark.parametrize(
    ("columns", "expected", "is_right"),
    [
        ([0, 1, 2], None, True),
        ([2, 1, 0], None, False),
        (["2", "1", "0"], None, False),
        (["2", "1", "0"], ("2", "1", "0"), True),
        ([2, 1, 0], ("2", "1", "0"), True),
        ([0, 1, 2], ("2", "1", "0"), False),
        ([2, 1, 0], ("a", "b", "c"), True),  # as in scikit-learn, numbers are no names
        (["a b", "c", "d"], ("a_b", "c", "d"), True),
        (["c", "a b", "d"], ("a_b", "c", "d"), False),
        (["a b", "a_b", "d"], ("a_b", "c", "d"), False),
        (["a_b", "c", "d"], ("a b", "c", "d"), False),
        ([5, 7, 9], None, True),
        (["x", "y", "z"], None, True),
    ],
)
def test_columns_of_training(columns: list[Any], expected: tuple[str, ...] | None, is_right: bool) -> None:
    frame = pd.DataFrame(np.ones((1, 3)), columns=columns)
    if is_right:
        require_columns_of_training(frame, expected, "X")
    else:
        with pytest.raises(ValueError, match=r"^X: expected"):
            require_columns_of_training(frame, expected, "X")


def test_names_as_in_training() -> None:
    assert as_in_training(["a b", "a_b", "c d", "e"], ["a_b", "c d", "e"]) == ["a_b", "a_b", "c d", "e"]


@pytest.mark.parametrize(
    ("attribute", "numbered"),
    [("feature_names_in_", []), ("feature_names_", ["0", "1"]), ("feature_name_", ["Column_0", "Column_1"])],
)
def test_each_library_keeps_names_in_an_attribute_of_its_own(attribute: str, numbered: list[str]) -> None:
    model = SimpleNamespace(**{attribute: ["a", "b_c"]})
    require_names_of(model, ["a", "b c"])
    require_names_of(model, None)
    with pytest.raises(ValueError, match=rf"in the order of training, got 'b_c' in place 0 .*estimator.{attribute}"):
        require_names_of(model, ["b_c", "a"])
    without_names = SimpleNamespace(**{attribute: numbered})
    require_names_of(without_names, ["a", "b"] if numbered else None)
    if numbered:
        with pytest.raises(ValueError, match="expected the columns in the order of training"):
            require_names_of(without_names, numbered[::-1])
    require_names_of(SimpleNamespace(), ["a", "b"])


def test_names_that_lightgbm_gave_to_an_array_are_none() -> None:
    """LightGBM 4.5 and 4.6 tell them as those of training."""
    numbered = ["Column_0", "Column_1"]
    require_names_of(SimpleNamespace(feature_name_=numbered, feature_names_in_=np.array(numbered)), ["a", "b"])


@pytest.mark.parametrize("around", [EarlyExit, BudgetPrune, AdaptGbrt])
def test_a_fitted_model_of_catboost_knows_its_columns(around: Any) -> None:
    catboost = pytest.importorskip("catboost")
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    model = catboost.CatBoostClassifier(iterations=2, depth=2, verbose=0, thread_count=1, allow_writing_files=False)
    model.fit(frame, frame["a"] > 0)
    with pytest.raises(ValueError, match="X: expected the columns in the order of training, got 'c' in place 0"):
        around(model, random_state=0).fit(frame.iloc[:, ::-1], frame["a"] > 0)


def test_the_closest_are_sought_for_the_names_that_are_told_alone() -> None:
    names = [f"gene {number}" for number in range(5_000)]
    with pytest.raises(ValueError, match=r"unknown 'gene 0_' \(closest: 'gene 0'\), .* and 4997 more and no 'gene 0'"):
        positions_by_name([f"{name}_" for name in names], names, "X: expected the columns of training")


def test_names_that_are_taken_away_are_forgotten() -> None:
    """SHAP sets them to None, to give arrays."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    model = BudgetPrune(RandomForestClassifier(3, max_depth=2, random_state=0), random_state=0).fit(table, table.a > 0)
    expected = model.predict_proba(table)
    model.feature_names_in_ = None
    np.testing.assert_array_equal(model.predict_proba(table.to_numpy()), expected)
    assert model.session().next_unit.name.startswith("feature ")
