"""Tables with the class last, as KEEL and UCI distribute them."""

import numpy as np
import pytest

from ipforest import datasets
from ipforest.datasets.distributed import SOURCES, import_data


@pytest.fixture
def taken_in(tmp_path, monkeypatch):
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))

    def take(text, name="german"):
        file = tmp_path / f"{name}.dat"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        import_data(name, file, tmp_path)
        return datasets.load(name)

    return take


def test_numbers_words_and_what_is_missing(taken_in):
    data = taken_in("1, red, 2.5, yes\n-3, blue, ?, no \n4, <null>, 1e3, yes\n")
    assert data.feature_names == ("column1", "column2=blue", "column2=red", "column3")
    np.testing.assert_array_equal(data.X, [[1, 0, 1, 2.5], [-3, 1, 0, np.nan], [4, np.nan, np.nan, 1000]])
    assert [data.class_names[label] for label in data.y] == ["yes", "no", "yes"]


def test_the_columns_of_a_words_column_are_bought_together(taken_in):
    costs = taken_in("1,red,2,yes\n3,blue,4,no\n5,green,6,no\n").costs
    assert costs.cost_of(np.array([[0, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]])).tolist() == [1, 1, 3]


def test_lines_that_describe_the_columns_are_left_out(taken_in):
    data = taken_in("@relation x\n@attribute a real [0,1]\n  @data\n.5,one\r\n.25,two\r\n\r\n")
    assert data.X.tolist() == [[0.5], [0.25]]
    assert data.class_names == ("one", "two")


def test_a_byte_order_mark_is_no_part_of_the_first_line(taken_in):
    data = taken_in("\ufeff@relation x\n@data\n.5,one\n.25,two\n")
    assert data.X.tolist() == [[0.5], [0.25]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected lines of values parted by commas, as many in each, got: "),
        ("1,2,a\n1,2,3,b\n", "expected lines of values parted by commas, as many in each, got: "),
        ("a\nb\n", "expected values and a class in each line, got 1 values"),
        ("@data\n1,a\n2,?\n", "expected a class for each example, got none for number 2"),
        ("1,a\n2,a\n", "expected at least two classes, got 1"),
        (b"1,\xff\n2,b\n", "expected lines of values parted by commas, as many in each, got: "),
        (
            "".join(f"{row}x,{row % 2}\n" for row in range(101)),
            "expected numbers or at most 100 words in column1, got 101 words: could not convert string to float: '0x'",
        ),
        ("inf,a\n2,b\n", "expected finite values or missing ones, got inf in column1"),
    ],
)
def test_damaged_tables_are_refused(taken_in, text, message):
    with pytest.raises(ValueError, match=message):
        taken_in(text)


def test_every_such_table_says_where_it_is_to_be_had():
    assert all("KEEL" in SOURCES[name].origin for name in ("german", "ring", "page-blocks0"))
