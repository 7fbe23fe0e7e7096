"""Dataclasses as plain records and back."""

import csv
import json
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipforest import Pruning
from ipforest._internal.delimited import unescaped
from ipforest._internal.records import (
    csv_lines,
    from_record,
    json_object,
    records_to_csv,
    records_to_markdown,
    records_to_text,
    to_record,
)


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: Fraction
    weight: float = 1.0


@dataclass(frozen=True)
class Everything:
    count: int
    color: Color
    points: tuple[Point, ...]
    pair: tuple[Fraction, Pruning]
    lam: Fraction | None
    note: str = ""


everything = st.builds(
    Everything,
    count=st.integers(),
    color=st.just(Color.RED),
    points=st.lists(st.builds(Point, st.fractions(), st.floats(allow_nan=False)), max_size=3).map(tuple),
    pair=st.tuples(st.fractions(), st.lists(st.booleans(), max_size=5).map(lambda kept: Pruning(kept or [False]))),
    lam=st.none() | st.fractions(),
    note=st.text(max_size=5),
)


@pytest.mark.slow
@given(everything)
def test_records_of_json_types_come_back(item):
    assert from_record(Everything, json_object(json.dumps(to_record(item)))) == item


def test_fields_can_be_chosen_and_given():
    assert to_record(Point(Fraction(1, 3)), ["x"]) == {"x": "1/3"}
    assert from_record(Point, {"weight": 2, "other": 0}, x=Fraction(1)) == Point(Fraction(1), 2.0)
    assert from_record(Point, {"x": 1}) == Point(Fraction(1))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "x: expected a value in the record of a Point, got none"),
        ({"x": "a third"}, "x: expected Fraction, got 'a third'"),
        ({"x": "1/0"}, "x: expected Fraction, got '1/0'"),
        ({"x": 1, "weight": []}, r"weight: expected float, got \[\]"),
    ],
)
def test_what_is_missing_or_unreadable_is_named(record, message):
    with pytest.raises(ValueError, match=message):
        from_record(Point, record)


def test_another_json_value_is_refused():
    with pytest.raises(ValueError, match="text: expected a JSON object, got list"):
        json_object("[]")


FORMULAS = ["=HYPERLINK(1)", "+a", "-log x", "@SUM(1)", "\ta", "\ra", "＝1+x", "-", "'=x", "''+x", "=1", "--1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_texts_that_a_spreadsheet_computes_are_escaped_and_come_back(text):
    rows = [*csv.reader(StringIO(records_to_csv([{"name": text, text: 1.5}]), newline=""))]
    assert rows == [["name", f"'{text}"], [f"'{text}", "1.5"]]
    assert unescaped(rows[1][0]) == text


@pytest.mark.parametrize(
    "cell", ["-1.5", "+3", "-1/3", "-1e-05", "a=b", "'quoted'", "x-y", "", "-inf", -2, -0.5, None, True]
)
def test_numbers_and_other_texts_are_written_as_they_are(cell):
    rows = [*csv.reader(StringIO(records_to_csv([{"a": cell, "b": 1}])))]
    assert rows[1][0] == ("" if cell is None else str(cell))
    assert unescaped(rows[1][0]) == rows[1][0]


def test_cells_stand_below_their_names_whatever_order_a_record_has():
    records = [{"cost": 1, "error": 2}, {"error": 4, "cost": 3}]
    assert records_to_csv(records) == "cost,error\n1,2\n3,4\n"
    assert records_to_text(records).split() == ["cost", "error", "1", "2", "3", "4"]
    assert records_to_markdown(records).splitlines()[2:] == ["| 1 | 2 |", "| 3 | 4 |"]
    assert records_to_markdown([]) == ""
    assert records_to_csv([{"cost": 1}, *records]) == "cost,error\n1,\n1,2\n3,4\n"


def test_columns_of_numbers_stand_to_the_right_in_markdown():
    records = [
        {
            "data": "heart",
            "area": "-2.33 ± 0.51",
            "won": "11 of 12",
            "both": "0.93 / 0.91",
            "day": "2 or 3",
            "none": "",
        },
        {"data": "7", "area": 1.5, "won": "", "both": "1e-05", "day": "1", "none": ""},
    ]
    assert records_to_markdown(records).splitlines()[1] == "| --- | ---: | ---: | ---: | --- | ---: |"


def test_cells_stand_below_their_key_in_whatever_order_a_record_has_them():
    assert [*csv_lines([{"a": 1, "b": 2}, {"b": 4, "a": 3}])] == ["a,b\n", "1,2\n", "3,4\n"]


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 2}])
def test_records_of_other_keys_are_no_lines_of_one_table(other):
    with pytest.raises(ValueError, match=r"^records: expected the keys a, b in each, got a"):
        list(csv_lines([{"a": 1, "b": 2}, other]))
