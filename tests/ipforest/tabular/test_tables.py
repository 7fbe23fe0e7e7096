"""Tables of examples: numbers are read strictly, columns go by name."""

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from ipforest.tabular.column_kinds import typed_columns
from ipforest.tabular.price_lists import read_prices
from ipforest.tabular.tables import has_names, numbers_of, read_cells, read_examples, select_columns


@pytest.fixture
def write(tmp_path):
    def write(text, name="table.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_columns_go_by_name(write) -> None:
    table = read_examples(write("b, a ,c\n1,2,3\n4,,6\n"))
    assert table.columns.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(select_columns(table, ["a", "b"], "table"), [[2, 1], [np.nan, 4]])
    assert select_columns(table, None, "table") is table


def test_columns_of_no_feature_may_hold_anything(write) -> None:
    table = read_examples(write("name,b,a\nx,1,2\ny,3,4\n"), ["a", "b"])
    np.testing.assert_array_equal(table, [[2, 1], [4, 3]])


def test_rows_without_a_value_at_the_end_are_left_out(write) -> None:
    """A spreadsheet writes blank lines as separators alone; between others such a row is an example."""
    with pytest.warns(UserWarning, match=r"table.csv: 2 rows at the end without a value left out$"):
        table = read_examples(write("a,b\n1,2\n,\n3,4\n,\n ,\n"))
    np.testing.assert_array_equal(table, [[1, 2], [np.nan, np.nan], [3, 4]])
    costs = read_prices(write("feature,cost\na,1\nb,2\n,\n,\n", "prices.csv")).costs_for(["b", "a"])
    assert costs.prices == (2, 1)


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "nan", "?", "N/A", "#N/A", "null", "<NA>"])
def test_missing_values(write, cell: str) -> None:
    assert np.isnan(read_examples(write(f"a,b\n1,{cell}\n")).iloc[0, 1])


def test_a_file_without_header(write) -> None:
    table = read_examples(write("1,2\n3,4\n"), header=False)
    assert not has_names(table)
    np.testing.assert_array_equal(select_columns(table, ["x", "y"], "table"), [[1, 2], [3, 4]])


def test_arrays_with_and_without_names(tmp_path) -> None:
    X = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "X.npy", X)
    np.savez(tmp_path / "X.npz", X=X, feature_names=np.array(["a", "b", "c"]))
    np.testing.assert_array_equal(read_examples(tmp_path / "X.npy"), X)
    named = read_examples(tmp_path / "X.npz")
    np.testing.assert_array_equal(select_columns(named, ["c", "a"], "X.npz"), X[:, [2, 0]])


@pytest.mark.parametrize(
    ("X", "names", "message"),
    [
        (np.eye(3), ["a", "b", "a"], "expected each column once, got 'a' 2 times"),
        (np.eye(3), ["a", "b"], r"expected feature_names of shape \(3,\), one per column of X, got \(2,\)"),
        (np.array([["1", "2"]]), ["a", "b"], "expected numbers, got dtype <U1"),
    ],
)
def test_arrays_that_are_no_examples_are_refused(tmp_path, X, names, message: str) -> None:
    np.savez(tmp_path / "X.npz", X=X, feature_names=np.array(names))
    with pytest.raises(ValueError, match=message):
        read_examples(tmp_path / "X.npz")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,dose\n1,2\n3,old\n", r"column dose, line 3: expected a finite number or a missing value .* got 'old'"),
        ("age,dose\n1,inf\n", "column dose, line 2: expected a finite number .* got 'inf'"),
        ("age,dose\n1,1_000\n", "column dose, line 2: expected a finite number .* got '1_000'"),
        ("1,2\n3,4\n", r"line 1: expected the names of the columns, got only numbers \(1, 2\.\.\.\)"),
        ("age,age\n1,2\n", "line 1: expected each column once, got 'age' 2 times"),
        ("age,dose\n1,2\n3\n", "line 3: expected 2 cells as in line 1, got 1"),
        ("", "expected a table, got an empty file"),
    ],
)
def test_what_is_in_doubt_is_refused(write, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_examples(write(text))


def test_an_absent_column_is_refused_with_the_closest_name(write) -> None:
    table = read_examples(write("age,cholesterol\n1,2\n"))
    with pytest.raises(ValueError, match="got none for 'cholestrol'; the closest is 'cholesterol'"):
        select_columns(table, ["age", "cholestrol"], "table")


def test_a_file_whose_separator_is_unknown_is_refused_with_what_to_give(write) -> None:
    table = read_cells(write("age|ill\n1|no\n"))
    with pytest.raises(ValueError, match=r"got none for 'age'; its lines have one cell each: say what .* \(--sep\)"):
        select_columns(table, ["age", "ill"], "table")


def test_tables_take_little_more_memory_than_their_cells(tmp_path) -> None:
    """The bound on a command is ten times the file and 200 MB; of the reader, numbers, cells and rows are in it."""
    n_rows, n_columns = 4_000, 25
    row = ",".join(str(place % 10) for place in range(n_columns)) + "\n"
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"c{place}" for place in range(n_columns)) + "\n" + n_rows * row)
    tracemalloc.start()
    try:
        table = read_examples(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.shape == (n_rows, n_columns)
    np.testing.assert_array_equal(table.iloc[-1], np.arange(n_columns) % 10)
    assert peak < 15 * path.stat().st_size


@pytest.mark.parametrize("cell", ["1e39", "-3.5e38", "1" + 40 * "0"])
def test_features_that_single_precision_does_not_hold_are_refused_by_line(write, cell) -> None:
    cells = pd.DataFrame({"a": ["1", "2"], "b": ["3", cell]}, index=[2, 3])
    got = re.escape(cell)
    expected = rf"x\.csv, column b, line 3: expected a number of at most 3\.4e\+38 in size, .*, got '{got}'"
    with pytest.raises(ValueError, match=expected):
        numbers_of(cells, "x.csv", of_features=True)
    with pytest.raises(ValueError, match=expected):
        typed_columns(cells, "x.csv")
    assert numbers_of(cells, "x.csv")["b"][3] == float(cell)
    with pytest.raises(ValueError, match=expected):
        read_examples(write(f"a,b\n1,3\n2,{cell}\n", "x.csv"))


def test_whole_numbers_that_floats_do_not_hold_apart_are_told() -> None:
    cells = pd.DataFrame({"a": ["9007199254740992", "9007199254740993", "1e16", "1.0e16", "", "3"]})
    told = r"^x\.csv, column a: 2 whole numbers beyond 2\^53, of which float64 holds 1 apart; subtract a constant"
    for read in (numbers_of, typed_columns):
        with pytest.warns(UserWarning, match=told):
            read(cells, "x.csv")
        read(cells.drop(index=1), "x.csv")
