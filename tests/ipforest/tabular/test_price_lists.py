"""Prices go by name, from whatever a user has them in."""

import json
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from ipforest import BudgetPrune, FeatureCosts
from ipforest._internal.delimited import CsvFormat
from ipforest.estimator import read_costs
from ipforest.tabular.price_lists import read_prices, write_prices

HEART = (
    "feature,cost,cost_in_group,group,delayed\nage,1,1,,0\nchol,7.27,5.17,A,1\nfbs,5.20,3.10,A,1\nthal,102.9,1,B,1\n"
)
FEATURES = ["thal", "fbs", "age", "chol"]


@pytest.fixture
def write(tmp_path):
    def write(text, name="prices.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_rows_go_by_name(write) -> None:
    costs = read_prices(write(HEART)).costs_for(FEATURES)
    assert costs.prices == (1, Fraction("3.1"), 1, Fraction("5.17"))
    assert costs.groups.tolist() == [1, 0, -1, 0]
    assert costs.group_fees == (Fraction("2.1"), Fraction("101.9"))
    assert costs.feature_names == tuple(FEATURES)


def test_byte_order_marks_and_fractions(write) -> None:
    path = write("\ufeffcost,feature\n1.10,a\n1/3,b\n")
    assert read_prices(str(path)).costs_for(["b", "a"]).prices == (Fraction(1, 3), Fraction("1.1"))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_every_form_says_the_same(write, order) -> None:
    frame = pd.read_csv(write(HEART)).iloc[order]
    records = json.loads(frame.to_json(orient="records"))
    by_name = {record.pop("feature"): dict(record) for record in json.loads(json.dumps(records))}
    forms = [
        read_prices(frame),
        read_prices(frame.set_index("feature")),
        read_prices(by_name),
        read_prices(write(json.dumps(records), "list.json")),
        read_prices(write(json.dumps(by_name), "dict.json")),
    ]
    for form in forms:
        assert form.costs_for(FEATURES) == read_prices(write(HEART)).costs_for(FEATURES)


@pytest.mark.parametrize(
    "prices",
    [
        {"b": 2, "a": "1/2", "c": 0.1},
        pd.Series([0.1, 2, 0.5], index=["c", "b", "a"]),
        {2: 0.1, 0: 0.5, 1: 2},
        dict(zip(np.array([2, 0, 1]), [0.1, 0.5, 2], strict=True)),
        pd.DataFrame({"cost": [0.5, 2, 0.1]}).sort_values("cost"),
        [0.5, 2, "0.1"],
        np.array([0.5, 2, 0.1]),
        pd.Series([0.5, 2, 0.1]),
    ],
)
def test_dicts_series_and_sequences(prices) -> None:
    names = ["a", "b", "c"]
    assert read_prices(prices).costs_for(names) == FeatureCosts(["0.5", 2, "0.1"], feature_names=names)


def test_names_with_blanks_around_them_are_found() -> None:
    costs = read_prices({" a": 1, "b": 2}).costs_for(["b", " a"])
    assert costs == FeatureCosts([2, 1], feature_names=["b", " a"])


def test_a_name_twice_in_a_series_is_refused() -> None:
    with pytest.raises(ValueError, match="Series of prices: expected each feature once, got 'a'"):
        read_prices(pd.Series([1, 2, 3], index=["a", "b", "a"]))
    levels = pd.MultiIndex.from_tuples([("blood", "ldl"), ("blood", "hdl")])
    with pytest.raises(ValueError, match=r"^Series of prices: expected an index of names .*, got one of 2 levels"):
        read_prices(pd.Series([1, 2], index=levels))


def test_prices_of_computed_columns_are_not_written(tmp_path) -> None:
    for sources in ([0, 0, 1], [1, 0]):
        with pytest.raises(ValueError, match=r"costs: expected prices of features, got .* \(for_columns\)"):
            write_prices(FeatureCosts([1, 2]).for_columns(sources), tmp_path / "prices.csv")
    assert not list(tmp_path.iterdir())


def test_without_names_rows_go_by_position(write) -> None:
    prices = read_prices(write("cost\n3\n1\n"))
    assert not prices.has_names
    assert prices.costs_for(["a", "b"]).prices == (3, 1)
    assert prices.costs_for(2).prices == (3, 1)
    with pytest.raises(ValueError, match="expected 3 prices, one per feature, got 2"):
        prices.costs_for(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEART + "Chol,2,2,,0\n", "line 6: expected one price for 'chol', got another for 'Chol'"),
        (
            HEART.replace("thal,102.9,1,B", "thal,5.2,3.1,a"),
            "line 5: expected one spelling of a group, 'A' as in .*'a'",
        ),
        (HEART.replace("chol,", "chool,"), "got none for 'chol'; the closest is 'chool'"),
        (HEART + "age,1,1,,0\n", r"expected each feature once, got 'age' in .* line 2 and .* line 6"),
        (HEART.replace("7.27", "cheap"), r"line 3, cost: expected a finite number .* got 'cheap'"),
        (HEART.replace("7.27", "-7"), r"line 3, cost: expected a number >= 0, got '-7'"),
        (HEART.replace("7.27", "7_27"), r"line 3, cost: expected a finite number .* got '7_27'"),
        (HEART.replace("7.27", "nan"), r"line 3, cost: expected a finite number .* got 'nan'"),
        (HEART.replace("5.20", "6.20"), r"line 4: .* discount of group 'A', 2.1 as in .*, line 3, got 3.1"),
        (HEART.replace("5.17,A", "9,A"), "line 3: expected cost_in_group of at most the cost 7.27, got 9"),
        (HEART.replace("5.17,A", ",A"), "line 3: expected cost_in_group with group 'A', .* got none"),
        (HEART.replace("1,1,,0", "2,1,,0"), "line 2: expected a group with cost_in_group 1 and cost 2, got none"),
        (HEART.replace("age,", ","), "line 2: expected the name of a feature as in the other rows, got none"),
        (HEART.replace("1,1,,0", "1,1,,0,9"), "line 2: expected 5 cells as in line 1, got 6"),
        (
            "feature,costs,days\na,1,2\n",
            "expected a column cost, or one column of numbers, got 'feature', 'costs', 'days'; the closest is 'costs'",
        ),
        ("feature,price,discount\na,3,1\n", "got 'feature', 'price', 'discount'; the closest is 'price'"),
        ("feature,cost,cost\na,1,1\n", "expected each column once, got 'cost' twice"),
        ("feature,cost\n", "expected the price of at least one feature, got none"),
        ("days,cost\n4,1\n", "names of the features in a column feature, .* got 'days' together with the prices"),
        ("test,note,price\na,b,1\n", "in a column feature, or no names, got 'test', 'note' together with the prices"),
        ("feature,Preis,Gruppe,mit\na,3,g,2\nb,3,,\n", "got 'feature', 'Preis', .*; the closest is 'Preis'"),
        ("a,b,c\n1,2,3\n", "got 'a', 'b', 'c'; name the columns feature and cost, and write a row for each feature"),
        ("test,price\na,3\nb,free\nc,2\n", "line 3, cost: expected a finite number .* got 'free'"),
        ("", "expected a column cost, or one column of numbers, got an empty file"),
        ('feature,cost\n"a,1\n' + "b,1\n" * 40_000, "line 32770: expected text in cells, got: field larger than"),
    ],
)
def test_what_does_not_match_is_refused_with_its_line(write, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_prices(write(text)).costs_for(FEATURES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "expected each key once, got 'a' 2 times"),
        ('{"a": 1', "expected a price list in JSON"),
        ("3", "expected an object of prices by name or a list of records, got int"),
        ('{"a": null}', "'a': expected a cost, in a row for each feature, got none"),
    ],
)
def test_json_that_is_no_price_list(write, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_prices(write(text, "prices.json"))


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="prices: expected a file, dict, Series, DataFrame or sequence, got int"):
        read_prices(3)
    with pytest.raises(ValueError, match=r"expected column numbers 0\.\.1 as keys, got \[0, 2\]"):
        read_prices({0: 1, 2: 1})


def test_measured_prices_in_a_file_are_rounded(write) -> None:
    costs = read_prices(write("feature,cost\na,0.6369616873214543\nb,1/3\nc,0.25\n")).costs_for(["c", "a", "b"])
    assert costs.prices == (Fraction(1, 4), Fraction("0.6369617"), Fraction(1, 3))
    assert costs.resolution == Fraction(1, 10**7)


def test_an_index_of_strings_holds_the_names() -> None:
    frame = pd.DataFrame({"cost": [3, 1, 2]}, index=["c", "a", "b"])
    for named in (frame, frame.rename_axis("name"), frame.rename_axis("feature")):
        assert read_prices(named).costs_for(["a", "b", "c"]).prices == (1, 2, 3)
    assert read_prices(frame.assign(feature=["b", "a", "c"])).costs_for(["a", "b", "c"]).prices == (1, 3, 2)
    assert read_prices(frame.reset_index(drop=True)).costs_for(["a", "b", "c"]).prices == (3, 1, 2)


@pytest.mark.parametrize(
    "read", [lambda prices: prices, lambda prices: FeatureCosts(prices, groups=[0, 0, -1], group_fees=[1])]
)
def test_prices_by_name_need_columns_with_names(read) -> None:
    with pytest.raises(ValueError, match=r"^feature_costs: expected a sequence .* got prices of 'c' and others"):
        read_costs(read({"c": 3, "a": 1, "b": 2}), 3)
    assert read_costs(read({2: 3, 0: 1, 1: 2}), 3).prices == (1, 2, 3)


def test_rows_for_other_tables_are_told_and_left_alone(write) -> None:
    long = read_prices(write(HEART + "cholesterol,2,2,,0\nTotal,500,500,,0\n"))
    with pytest.warns(UserWarning, match=r"prices\.csv: prices of no feature here: 'cholesterol', 'Total'$"):
        assert long.costs_for(FEATURES) == read_prices(write(HEART)).costs_for(FEATURES)
    with pytest.raises(ValueError, match="got none for 'fbs'; the closest is 'fbs1'"):
        read_prices(write(HEART.replace("fbs,", "fbs1,"))).costs_for(FEATURES)


def test_groups_of_one_feature_are_known(write) -> None:
    assert read_prices(write(HEART)).lone_groups == ["B"]


def written(
    separator: str = ";", price="{}".format, decimal: str = ",", header: str = "feature cost cost_in_group group"
) -> str:
    """Write the prices of HEART in another way."""
    rows = [
        ["age", "1", "1", ""],
        ["chol", "7.27", "5.17", "A"],
        ["fbs", "5.20", "3.10", "A"],
        ["thal", "102.9", "1", "B"],
    ]
    cells = [[name, *(price(cost.replace(".", decimal)) for cost in costs), group] for name, *costs, group in rows]
    return "\n".join(separator.join(row) for row in [header.split(" "), *cells]) + "\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (written(), "utf-8"),
        (written(), "utf-8-sig"),
        (written(), "utf-16"),
        (written("\t"), "utf-16-le"),
        (written(decimal="."), "utf-16-be"),
        (written(), "utf-32"),
        ("sep=;\n" + written(), "utf-8"),
        (written().replace("\n", ";;\n"), "utf-8"),
        (written(header="Feature COST Cost_In_Group Group").replace("\n", "\r\n"), "utf-8"),
        (written(",", '"{}"'.format), "utf-8"),
        (written(",", "${}".format, "."), "utf-8"),
        (written(";", "{} €".format), "utf-8"),
    ],
)
def test_separators_marks_and_encodings_are_recognised(tmp_path, text, encoding) -> None:
    (tmp_path / "prices.csv").write_bytes(text.encode(encoding))
    expected = FeatureCosts([1, "3.1", 1, "5.17"], [1, 0, -1, 0], ["2.1", "101.9"], feature_names=FEATURES)
    assert read_prices(tmp_path / "prices.csv").costs_for(FEATURES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Untersuchung;Preis\nCRP;6,50\nLaktat;12\n",
        "feature,EUR,comment\nCRP,6.5,from the list\nLaktat,12,guessed\n",
        "price,test\n6.5,CRP\n12,Laktat\n",
        "Laktat;12,00 €\nCRP;6,50 €\n",
        "Laktat,12\nCRP,6.5\n",
    ],
)
def test_a_price_list_without_our_names_is_read_where_only_one_column_can_hold_the_prices(write, text: str) -> None:
    assert read_prices(write(text)).costs_for(["CRP", "Laktat"]).prices == (Fraction(13, 2), 12)


def test_records_and_frames_without_our_names_are_read_by_name(write) -> None:
    records = [{"name": "Laktat", "price": 12}, {"name": "CRP", "price": 6.5}]
    frame = pd.DataFrame(records)
    for source in (
        write(json.dumps(records), "prices.json"),
        frame,
        frame.rename(columns={"price": "cost"}),
        frame.set_axis([7, 3]),
        frame.set_axis([0, 1], axis=1),
        frame.set_index("name"),
        {"Laktat": {"EUR": 12}, "CRP": {"EUR": 6.5}},
    ):
        assert read_prices(source).costs_for(["CRP", "Laktat"]).prices == (Fraction(13, 2), 12)
    with pytest.raises(
        ValueError, match="in a column feature, or no names, got 'name', 'unit' together with the prices"
    ):
        read_prices(frame.assign(unit="mg"))


def test_a_quoted_cell_may_follow_a_blank(write) -> None:
    assert read_prices(write('cost, feature\n5, "a, b"\n')).costs_for(["a, b"]).prices == (5,)


@pytest.mark.parametrize(
    ("text", "decimal", "price"),
    [
        ("feature;cost\nchol;1.234\n", ",", 1234),
        ("feature;cost\nchol;1.234\n", ".", Fraction("1.234")),
        ("feature,cost\nchol,1.234\n", None, Fraction("1.234")),
        ('feature,cost\nchol,"1,234"\n', ".", 1234),
        ('feature,cost\nchol,"1,234"\n', ",", Fraction("1.234")),
    ],
)
def test_a_decimal_mark_that_is_given_decides_what_points_in_threes_mean(write, text, decimal, price) -> None:
    assert read_prices(write(text), CsvFormat(decimal=decimal)).costs_for(["chol"]).prices == (price,)


def test_what_has_no_price_is_listed(write) -> None:
    with pytest.raises(ValueError, match="got none for 'fbs', 'age'; a feature that is free costs 0"):
        read_prices(write("feature,cost\nchol,1\nthal,2\n")).costs_for(FEATURES)


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        ("feature;cost\na;1,250\nb;3,500\n", "utf-8", "expected one price, got '1,250', which can be 1250 and 1.250"),
        ("feature;cost\na;459.386\n", "utf-8", "expected one price, got '459.386', which can be 459.386 and 459386"),
        ("feature;cost\na;5%\n", "utf-8", "line 2, cost: expected a finite number .* got '5%'"),
        ("feature;cost\na;$5\nb;5 €\n", "utf-8", r"the same decimal mark and currency, got '\$5' and '5 €'"),
        ("feature;cost\na;$5\nb;5\n", "utf-8", r"the same decimal mark and currency, got '\$5' and '5'"),
        ("feature;costs;in days\na;5;3\n", "utf-8", "a column cost, .*, 'costs', 'in days'; the closest is 'costs'"),
        ("feature,cost\na,1,5\n", "utf-8", "line 2: expected 2 cells as in line 1, got 3; cells are separated by ','"),
        (
            "feature,cost\nfièvre,5\n",
            "cp1252",
            r"line 2: expected text in UTF-8, got the byte 0xe8; .*--encoding cp1252",
        ),
        ('feature,cost\n"a,5\n', "utf-8", "line 2: expected text in cells, got: unexpected end of data"),
    ],
)
def test_prices_in_doubt_are_refused_with_what_to_give(tmp_path, text, encoding, message) -> None:
    (tmp_path / "prices.csv").write_bytes(text.encode(encoding))
    with pytest.raises(ValueError, match=message):
        read_prices(tmp_path / "prices.csv")


@pytest.mark.parametrize("column", ["sex_f", "onehotencoder__sex_f", "remainder__sex"])
def test_columns_that_are_computed_from_priced_ones_are_told_of_for_columns(column: str) -> None:
    with pytest.raises(ValueError, match=f"got none for '{column}'; .* from 'sex', FeatureCosts.for_columns gives its"):
        read_prices({"age": 1, "se": 2, "sex": 3}).costs_for(["age", column])


def test_polars_frames_are_read_by_name_and_by_position() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {"feature": ["b", "a"], "cost": [2.0, 1.5], "group": ["g", None], "cost_in_group": [1.0, None]}
    )
    assert read_prices(frame).costs_for(["a", "b"]) == FeatureCosts(["1.5", 1], [-1, 0], [1], feature_names=["a", "b"])
    assert read_prices(frame.select("cost")).costs_for(2) == FeatureCosts([2, "1.5"])
    assert read_prices(frame["cost"]).costs_for(2) == FeatureCosts([2, "1.5"])
    for name in ("Cost", "price"):
        renamed = frame.select("feature", polars.col("cost").alias(name))
        assert read_prices(renamed).costs_for(["a", "b"]).prices == (Fraction(3, 2), 2)


def test_arrow_tables_and_arrays_are_price_lists() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"feature": ["b", "a"], "cost": [2.0, 1.5]})
    expected = FeatureCosts(["1.5", 2], feature_names=["a", "b"])
    assert read_prices(table).costs_for(["a", "b"]) == read_costs(table, 2, ["a", "b"]) == expected
    for column in (table["cost"], table["cost"].combine_chunks()):
        assert read_costs(column, 2) == read_prices(column).costs_for(2) == FeatureCosts([2, "1.5"])


@pytest.mark.parametrize(
    "names", [["=cmd()", "+a", "-log(x)", "@b"], ["'=x", "''-y", "'quoted'", "-5"], ["a\tb", " c", "\te", "f"]]
)
def test_names_that_a_spreadsheet_computes_come_back(tmp_path, names) -> None:
    costs = FeatureCosts([1, 2, 3, 4], feature_names=[name.strip() for name in names])
    text = write_prices(costs, tmp_path / "prices.csv").read_text()
    assert not re.search(r"^[=+@\t]|^-[^0-9]", text, re.MULTILINE)
    assert read_prices(tmp_path / "prices.csv").costs_for(costs.feature_names) == costs


def test_numbers_of_columns_as_text_are_numbers(write, tmp_path) -> None:
    price = {str(column): 10 * column for column in range(12)}
    as_text = {key: price[key] for key in sorted(price)}
    (tmp_path / "prices.json").write_text(json.dumps(as_text))
    lines = "".join(f"{key},{cost}\n" for key, cost in as_text.items())
    frame = pd.DataFrame({"feature": [*as_text], "cost": [*as_text.values()]})
    by_index = pd.DataFrame({"cost": [*as_text.values()]}, index=[*as_text])
    numbers = pd.DataFrame({"feature": [*map(int, as_text)], "cost": [*as_text.values()]})
    for source in (as_text, tmp_path / "prices.json", write("feature,cost\n" + lines), frame, by_index, numbers):
        for features in (12, [f"x{column}" for column in range(12)]):
            assert read_prices(source).costs_for(features).prices == tuple(price.values())
        backwards = [str(column) for column in reversed(range(12))]
        assert read_prices(source).costs_for(backwards).prices == tuple(reversed(price.values()))
    for names in ({"1": 1, "2": 2}, {"0": 1, "2": 2}, {"a": 1, "0": 2}):
        with pytest.raises(
            ValueError, match=r"expected prices, by column number 0\.\.1 .* as the features have no names"
        ):
            read_prices(names).costs_for(2)


@pytest.mark.parametrize("names", [["0", "1", "2"], ["2", "0", "1"]])
def test_columns_whose_names_are_numbers_have_prices_by_name(names) -> None:
    """Fits failed where names are an array, as scikit-learn keeps them."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=names)
    prices = {"0": 1, "1": 2, "2": 3}
    model = BudgetPrune(DecisionTreeClassifier(), feature_costs=prices, random_state=0).fit(X, X["0"] > 0)
    assert model.costs_.prices == tuple(prices[name] for name in names)


def test_prices_and_groups_by_name_follow_the_columns_of_a_data_frame() -> None:
    costs = FeatureCosts({"c": 3, "a": 1, "b": 2}, groups={"b": 0, "c": 0, "a": -1}, group_fees=[5])
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 4, (60, 3)), columns=["a", "b", "c"])
    labels = (table.b + table.c > 3).to_numpy()
    for columns in (["a", "b", "c"], ["c", "b", "a"], ["b", "a", "c"]):
        model = BudgetPrune(DecisionTreeClassifier(), feature_costs=costs).fit(table[columns], labels)
        priced = {name: (model.costs_.prices[place], model.costs_.groups[place]) for place, name in enumerate(columns)}
        assert priced == {"a": (1, -1), "b": (2, 0), "c": (3, 0)}
        assert model.costs_.group_fees == (5,)
    with pytest.raises(ValueError, match=r"^costs: expected a price for each feature.*'d'"):
        BudgetPrune(DecisionTreeClassifier(), feature_costs=costs).fit(table.rename(columns={"c": "d"}), labels)


def test_a_missing_value_of_pandas_is_no_price() -> None:
    with pytest.raises(
        ValueError, match=r"^Series of prices, 'a': expected a cost, in a row for each feature, got none$"
    ):
        read_prices(pd.Series({"a": pd.NA, "b": 2}, dtype=object))


@pytest.mark.parametrize("names", ["family,cost_in_group", "Panel,cost_in_panel", "test,price_in_Test"])
def test_groups_under_another_name_are_found_by_the_prices_in_them(write, names: str) -> None:
    text = f"feature,cost,{names}\nage,1,,\nchol,7.27,A,5.17\nfbs,5.20,A,3.10\nthal,102.9,B,1\n"
    costs = read_prices(write(text)).costs_for(FEATURES)
    assert costs.groups.tolist() == [1, 0, -1, 0]
    assert costs.group_fees == (Fraction("2.1"), Fraction("101.9"))
    assert read_prices(pd.read_csv(write(text))).costs_for(FEATURES) == costs


def test_columns_that_may_be_groups_are_not_passed_over_without_a_word(write) -> None:
    text = "feature,cost,{},currency,note\nage,1,,EUR,\nchol,7.27,A,EUR,serum\nfbs,5.20,A,EUR,\n"
    with pytest.warns(UserWarning, match="passed over 'panel'; features that share a fee have the same group"):
        assert read_prices(write(text.format("panel"))).rows[1].group is None
    with pytest.raises(ValueError, match="expected cost_in_group with group 'A'"):
        read_prices(write(text.format("group")))


def test_discounts_that_differ_in_late_digits(write) -> None:
    prices = write("feature,cost,cost_in_group,group\na,0.30000000000000004,0.1,A\nb,1.2,1,A\n")
    message = "'A', 0.2 as in .*, got 0.2 (they differ by 4e-17: round the prices)"
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        read_prices(prices)
