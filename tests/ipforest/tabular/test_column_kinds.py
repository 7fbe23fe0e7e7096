"""What the columns of a table are taken for, and how their cells are read."""

import bz2
import gzip
import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_linnerud, load_wine

from ipforest.tabular.column_kinds import Kind, stand_in, summary, typed_columns
from ipforest.tabular.tables import RECOGNISED, CsvFormat, numbers_of, read_cells, read_examples, select_columns


@pytest.fixture
def typed(tmp_path):
    def typed(text, encoding="utf-8", form=RECOGNISED, **more):
        (tmp_path / "table.csv").write_bytes(text.encode(encoding))
        table, columns = typed_columns(read_cells(tmp_path / "table.csv", form=form), "table.csv", form, **more)
        return table, {column.name: column for column in columns}

    return typed


AGES = [*range(20, 90)] * 2
STAND_IN = "if it stands for no value, leave these cells empty"


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([*AGES, *[-999] * 7], f"-999 in 7 rows, far from all others (20 to 89); {STAND_IN}"),
        ([*AGES, *["-999.0", "-999"] * 4, "NA"], f"-999 in 8 rows, far from all others (20 to 89); {STAND_IN}"),
        ([-9999, *[0.5, 1.5, 2.5, 3, 4] * 3] * 5, f"-9999 in 5 rows, far from all others (0.5 to 4); {STAND_IN}"),
        ([*[999] * 96, 1, 2, 3, 6, 27], f"999 in 96 rows, far from all others (1 to 27); {STAND_IN}"),
        ([*AGES, *[1e6] * 9], f"1000000 in 9 rows, far from all others (20 to 89); {STAND_IN}"),
        ([*AGES, *[-999] * 2], ""),
        ([*AGES, *[300] * 9], ""),
        ([*[0] * 50, *range(1000, 1100)], ""),
        ([0, 1, 99] * 20, ""),
        ([*range(60), *[10**9 - row for row in range(20)]], ""),
        (["NA", *AGES], ""),
    ],
)
def test_a_number_that_evidently_stands_for_no_value_is_told(typed, cells, told) -> None:
    table, columns = typed(column_of(*map(str, cells)))
    assert columns["x"].remark == told
    assert columns["x"].kind is Kind.NUMBERS
    assert table["x"].notna().sum() == len(cells) - cells.count("NA")


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes, load_digits, load_iris, load_linnerud, load_wine])
def test_no_number_of_a_common_table_is_taken_for_one_that_stands_for_no_value(load) -> None:
    assert not [told for column in load().data.T if (told := stand_in(column.astype(float)))]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([str(10**15 + row) for row in range(30)], "trees of scikit-learn tell 1 of 30 numbers apart; subtract a"),
        ([f"{row}e-60" for row in range(30)], "tell 1 of 30 numbers apart; subtract a constant, or change the unit"),
        ([f"{row}e-9" for row in range(30)], "tell 1 of 30 numbers apart"),
        ([f"{row}e-6" for row in range(30)], ""),
        ([str(1_700_000_000 + 3600 * row) for row in range(30)], ""),
        ([str(10**15)] * 30, ""),
    ],
)
def test_numbers_that_trees_do_not_tell_apart_are_told(typed, cells, told) -> None:
    _, columns = typed(column_of(*cells[::2], *cells[1::2]))
    remark = columns["x"].remark
    assert columns["x"].kind is Kind.NUMBERS
    assert told in remark
    assert bool(told) == bool(remark)


def column_of(*cells):
    return "y;x\n" + "".join(f"a;{cell}\n" for cell in cells)


@pytest.mark.parametrize(
    ("cells", "expected", "remark"),
    [
        (["1,5", "2", "", "-3,25"], [1.5, 2, np.nan, -3.25], "with a decimal comma"),
        (["1.5", "2", "?"], [1.5, 2, np.nan], ""),
        (["8001", "01067", "", "01067"], [8001, 1067, np.nan, 1067], "'01067' taken as 1067; give codes to --words"),
        (["0", "00", "0.5", "007.0", "-01"], [0, 0, 0.5, 7, -1], ""),
        (["$1.50", "$2", "-$3"], [1.5, 2, -3], "with $, which is left out"),
        (["1,5 €", "2,5 €"], [1.5, 2.5], "with a decimal comma and €, which is left out"),
        (["5%", "7 %", "NA"], [5, 7, np.nan], "with %, which is left out"),
        (["1.234,5", "2"], [1234.5, 2], "with a decimal comma"),
        (["1,234.5", "2"], [1234.5, 2], ""),
        (["1 234", "2\u00a0345", "7"], [1234, 2345, 7], ""),
        (["1'234.5", "12’345"], [1234.5, 12345], ""),
        (["1,234,567", "2"], [1234567, 2], ""),
        (["1,5e3", "\N{MINUS SIGN}2,5"], [1500, -2.5], "with a decimal comma"),
        (["0,311", "0,5"], [0.311, 0.5], "with a decimal comma"),
    ],
)
def test_numbers_in_other_notations_are_numbers(typed, cells, expected, remark) -> None:
    table, columns = typed(column_of(*cells))
    np.testing.assert_array_equal(table["x"], expected)
    assert (columns["x"].kind, columns["x"].remark) == (Kind.NUMBERS, remark)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1,234", "5,678"], r"column x, line 2: expected one number, got '1,234', which can be 1234 and 1\.234; give"),
        (
            ["1.234", "7.500"],
            r"column x, line 2: expected one number, got '1\.234', which can be 1\.234 and 1234; give",
        ),
        (["1.5", "2,5", "3.5"], "column x, line 3: expected a finite number or a missing value .* got '2,5'"),
        (
            ["$1", "$2", "."],
            r"column x, line 4: .* number with \$, which is left out, or .* got '\.'; leave a cell .* empty$",
        ),
        (["1.5", "2.5", "old"], "column x, line 4: expected a finite number .* got 'old'; leave a cell"),
        ([*"12345", "#DIV/0!"], r"got '#DIV/0!'; leave a cell without a value empty, or .* words \(--words 'x'\)$"),
        (["$1", "$2", "3"], "column x, line 4: expected a finite number with .* got '3'"),
        (["$1", "$2", "3 €"], "column x, line 4: expected a finite number with .* got '3 €'"),
        (["$1", "2 €", "$1", "2 €"], "column x, line 3: expected a finite number with .* got '2 €'"),
        (["1,5", "2,5", "1.5", "2.5"], "column x, line 2: expected a finite number .* got '1,5'"),
        (["1", "2", "1e400"], "column x, line 4: expected a finite number .* got '1e400'"),
        (["1", "2", "1_000"], "column x, line 4: expected a finite number .* got '1_000'"),
        ([f"{dose} mg" for dose in range(12)], "column x, line 2: expected numbers or words, got 12 .* such as '0 mg'"),
        ([f"USD {dose}.5" for dose in range(12)], "column x, line 2: expected numbers or words, got 12 .* 'USD 0.5'"),
        ([f"({dose},5)" for dose in range(12)], r"column x, line 2: expected numbers or words, got 12 .* '\(0,5\)'"),
    ],
)
def test_numbers_in_doubt_are_refused_and_never_words(typed, cells, message) -> None:
    with pytest.raises(ValueError, match=message):
        typed(column_of(*cells))


@pytest.mark.parametrize(("mark", "expected"), [(",", [1.234, 5.678]), (".", [1234, 5678])])
def test_the_decimal_mark_can_be_given_or_follows_from_other_columns(typed, mark, expected) -> None:
    table, _ = typed(column_of("1,234", "5,678"), form=CsvFormat(decimal=mark))
    assert table["x"].tolist() == expected
    table, _ = typed(f"x;z\n1,234;0{mark}5\n5,678;7\n")
    assert table["x"].tolist() == expected


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        (["A", "B", "AB", "0"], "'0' taken as words, too"),
        (["0", "0", "0", "0", "A", "B"], "'0' taken as words, too"),
        (["T1", "T2", "T1"], ""),
        (["10-20", "20-30", "10-20"], ""),
        (["1st", "2nd", "3rd"], ""),
        (["ja", "nein", ""], ""),
        (["male", "Male", "female"], "'male' and 'Male' count as two"),
        (["m", "M", "0"], "'0' taken as words, too; 'm' and 'M' count as two"),
        (["2026-01-31", "2026-02-01", ""], "dates as words, so that another date says nothing; as numbers, .*"),
        (["31.1.2026 10:00", "1.2.26"], "dates as words, .*"),
        (["1-Jan-2026", "12. März 2026", ""], "dates as words, .*"),
        (["7:05", "23:59:59", "9:30 PM"], "times as words, .*"),
        (["A-1-2", "1-2/3"], ""),
        ([f"town {number % 256}" for number in range(512)], "the 255 most frequent are told apart, all others are one"),
        ([f"town {number % 255}" for number in range(512)], ""),
    ],
)
def test_words_with_few_that_look_like_numbers_are_words(typed, cells, remark) -> None:
    table, columns = typed(column_of(*cells))
    assert table["x"].tolist() == cells
    assert columns["x"].kind == Kind.WORDS
    assert re.fullmatch(remark, columns["x"].remark)
    assert columns["x"].n_words == len(set(cells) - {""})


def test_numbers_that_are_names_can_be_asked_for_as_words(typed) -> None:
    table, columns = typed("zip,x\n01067,1\n80331,2\n01067,3\n", words=["zip"])
    assert table["zip"].tolist() == ["01067", "80331", "01067"]
    assert columns["zip"].kind == Kind.WORDS


ROWS = range(30)
KEPT = "a line of its own in the price list keeps it"


@pytest.mark.parametrize(
    ("name", "cell", "reason"),
    [
        ("", lambda row: row, "no name"),
        ("", lambda row: row * row % 7, "no name"),
        ("Unnamed: 0", lambda row: row, "no name"),
        ("case", lambda row: row + 1000, f"counts the rows; {KEPT}"),
        ("id", lambda row: row * 7 % 31, f"identifies the rows; {KEPT}"),
        ("patient_id", lambda row: row * 7 % 31, f"identifies the rows; {KEPT}"),
        ("PatientID", lambda row: row // 2 * 13 + row % 2, f"identifies the rows; {KEPT}"),
        ("patient_id", lambda row: f"p{row:03}", "30 different words in 30 cells"),
        ("note", lambda row: f"text {row * row % 17}x{row}", "30 different words in 30 cells"),
        ("empty", lambda row: "", "no value"),
    ],
)
def test_what_is_no_feature_is_left_out_and_told(typed, name, cell, reason) -> None:
    table, columns = typed(f"{name},x\n" + "".join(f"{cell(row)},{row % 5}\n" for row in ROWS))
    assert list(table) == ["x"]
    assert (columns[name].kind, columns[name].remark) == (Kind.LEFT_OUT, reason)
    assert summary([columns[name]]) == [f"left out, 1 column: {name!r}: {reason}"]


def test_dates_that_are_left_out_are_told(typed) -> None:
    _, columns = typed("seen,x\n" + "".join(f"2026-01-{row + 1:02},{row % 5}\n" for row in ROWS))
    assert columns["seen"].remark.startswith("30 different words in 30 cells; dates as words, so that another")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("device_id", lambda row: row % 5),
        ("age", lambda row: row * 7 % 31),
        ("width", lambda row: row + row % 2),
        ("fluid", lambda row: row * 7 % 31),
        ("id", lambda row: row * 1.5),
    ],
)
def test_features_that_look_a_little_like_identifiers_stay(typed, name, cell) -> None:
    table, _ = typed(f"{name},x\n" + "".join(f"{cell(row)},{row % 5}\n" for row in ROWS))
    assert list(table) == [name, "x"]


def test_a_price_of_its_own_keeps_a_column(typed) -> None:
    text = "id,x\n" + "".join(f"{row},{row % 5}\n" for row in ROWS)
    assert list(typed(text, priced=["id"])[0]) == ["id", "x"]
    assert list(typed(text)[0]) == ["x"]


def test_columns_that_only_separators_make_are_none(typed) -> None:
    table, columns = typed("a;b;;\n1;2;;\n3;x;;\n5;y;;\n")
    assert list(columns) == ["a", "b"]
    assert table["b"].tolist() == ["2", "x", "y"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separators_and_encodings_are_recognised(typed, separator, encoding) -> None:
    text = "größe,fièvre, €\n1,é,2\n3,e,4\n5,é,6\n".replace(",", separator)
    table, _ = typed(text, encoding)
    assert table.to_dict("list") == {"größe": [1, 3, 5], "fièvre": ["é", "e", "é"], "€": [2, 4, 6]}


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        ("fièvre,x\n1,2\n", "cp1252", "line 1: expected text in UTF-8, got the byte 0xe8; .*--encoding cp1252"),
        ("a,b;c\n1,2;3\n", "utf-8", r"expected one separator, got rows that fit ',' \(2 columns\) and ';'"),
        ("a;b\n1;2\n3\n", "utf-8", "line 3: expected 2 cells as in line 1, got 1; cells are separated by ';'"),
        ("x\n1,5\n", "utf-8", "line 2: expected 1 cells as in line 1, got 2; cells are separated by ','"),
        (
            'a,b\n1,"2\n3,4\n',
            "utf-8",
            "line 3: expected text in cells, got: unexpected end .* begins in line 2; a double",
        ),
        (
            "Export of 3 May\na,b\n1,2\n",
            "utf-8",
            "line 2: expected 1 cells as in line 1, got 2; .*; remove a title above the names",
        ),
        (
            "Export of 3 May,,\na,b,c\n1,2,3\n",
            "utf-8",
            "line 1: expected .* got 2 of 3 without one; remove a title above",
        ),
        ("a,b\n1,2\nSource: WHO\n", "utf-8", "line 3: expected 2 cells .*; remove a remark between or below"),
        ("a,b\n1,2\0\n", "utf-8", "line 2: expected a text file, got zero bytes"),
        ("a,b\n1,2\n" * 20 + "1,2\0\n" * 2, "utf-8", "line 41: expected a text file, got zero bytes"),
    ],
)
def test_files_in_doubt_are_refused_with_what_to_give(typed, text, encoding, message) -> None:
    with pytest.raises(ValueError, match=message):
        typed(text, encoding)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "got a file packed by gzip; unpack it first"),
        (bz2.compress(b"a,b\n1,2\n" * 99), "got a file packed by bzip2; unpack it first"),
        (
            b"PK\x03\x04\x14\0\0\0",
            "got a zip file, as spreadsheets are; unpack it, or save the spreadsheet as CSV UTF-8",
        ),
        (b"PAR1\x15\0\x15", r"got a Parquet file; write it as CSV, as by pandas.read_parquet\(...\).to_csv"),
        (b"ARROW1\0\0", "got a Feather file; write it as CSV"),
        (pickle.dumps([1]), "got a pickle; write it as CSV first"),
        (
            b'{"a":{"0":1},"b":{"0":2}}',
            "expected a row below the names of the columns, got none; JSON is written as CSV",
        ),
    ],
)
def test_files_of_other_kinds_are_refused_with_what_makes_a_table(tmp_path, data, message) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_cells(tmp_path / "t.csv")


def test_a_column_may_be_called_as_a_kind_of_file_begins(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("PAR1,ARROW1\n1,2\n")
    assert list(read_cells(tmp_path / "t.csv")) == ["PAR1", "ARROW1"]


def test_what_is_in_doubt_can_be_given(typed) -> None:
    table, _ = typed("fièvre|x\n1|2,5\n3|4\n", "cp1252", CsvFormat("|", ",", "cp1252"))
    assert table.to_dict("list") == {"fièvre": [1, 3], "x": [2.5, 4]}
    assert list(typed("a,b;c\n1,2;3\n", form=CsvFormat(";"))[1]) == ["a,b", "c"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"separator": "::"}, "separator: expected one character"),
        ({"decimal": "'"}, "decimal: expected"),
        ({"encoding": "latin-99"}, "encoding: expected the name of an encoding"),
        ({"encoding": "hex"}, "encoding: expected the name of an encoding"),
    ],
)
def test_formats_that_are_none_are_refused(given, message) -> None:
    with pytest.raises(ValueError, match=message):
        CsvFormat(**given)


def test_names_are_matched_without_case_where_that_leaves_no_doubt(tmp_path) -> None:
    (tmp_path / "t.csv").write_text(" AGE ,Dose,dose\n1,2,3\n")
    table = read_examples(tmp_path / "t.csv", ["dose", "age"])
    assert list(table) == ["dose", "age"]
    assert table.iloc[0].tolist() == [3, 1]
    with pytest.raises(ValueError, match="got none for 'DOSE'; the closest is"):
        select_columns(read_examples(tmp_path / "t.csv"), ["DOSE"], "t.csv")


def test_numbers_against_the_decimal_mark_that_was_given_are_no_words(typed) -> None:
    for mark, cells in ((".", ["1,5", "2,5"]), (",", ["1.5", "2.5"])):
        with pytest.raises(ValueError, match=f"column x, line 2: expected a finite number .* got {cells[0]!r}"):
            typed(column_of(*cells), form=CsvFormat(decimal=mark))


def test_another_notation_is_told_once_for_all_its_columns(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a;b;c\n1,5;2,5;3\n")
    cells = read_cells(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match=r"^t\.csv: a, b read as numbers with a decimal comma$"):
        assert numbers_of(cells, "t.csv").iloc[0].tolist() == [1.5, 2.5, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numbers_of(cells[["c"]], "t.csv")
