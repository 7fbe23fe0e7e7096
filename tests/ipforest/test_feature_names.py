"""Matching by name: what is found, and what is said of names that do not match."""

import numpy as np
import pandas as pd
import pytest

from ipforest.feature_names import (
    checked_names,
    column_names,
    positions_by_name,
    require_same_columns,
    values_and_names,
)

NAMES = ("age", "sex", "chol", "fbs")


def test_names_come_from_frames_with_string_columns_only() -> None:
    assert column_names(pd.DataFrame(np.ones((2, 2)), columns=["b", "a"])) == ("b", "a")
    assert column_names(pd.DataFrame(np.ones((2, 2)))) is None
    assert column_names(pd.DataFrame(np.ones((2, 2)), columns=["a", 1])) is None
    assert column_names(np.ones((2, 2))) is None
    assert column_names([[1.0]]) is None


def test_values_keep_their_names() -> None:
    assert values_and_names({"b": 2, "a": 1}) == ([2, 1], ("b", "a"))
    assert values_and_names(pd.Series([2, 1], index=["b", "a"]))[1] == ("b", "a")
    assert values_and_names(pd.Series([2, 1]))[1] is None
    for plain in ([2, 1], (2, 1), np.array([2, 1])):
        values, names = values_and_names(plain)
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
    with pytest.raises(ValueError, match=r"X_cost: expected the columns of training, got unknown 'agee' \(closest"):
        require_same_columns(("agee", *NAMES[1:]), NAMES, "X_cost")


def test_checked_names() -> None:
    assert checked_names(None, 3) is None
    assert checked_names(np.array(NAMES, dtype=object), 4) == NAMES
    with pytest.raises(ValueError, match="feature_names: expected 3 names, one per feature, got 4"):
        checked_names(NAMES, 3)
    with pytest.raises(TypeError, match="feature_names: expected strings, got 1"):
        checked_names(["a", 1], 2)
