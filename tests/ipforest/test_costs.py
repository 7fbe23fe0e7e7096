"""Prices, groups and their fees, against sums done by hand."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipforest import FeatureCosts

HEART = ["age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak", "slope", "ca", "thal"]
HEART_ALONE = [1, 1, 1, 1, 7.27, 5.20, 15.50, 102.90, 87.30, 87.30, 87.30, 100.90, 102.90]
HEART_IN_GROUP = [1, 1, 1, 1, 5.17, 3.10, 15.50, 1, 1, 1, 1, 100.90, 1]
HEART_GROUPS = [-1, -1, -1, -1, 0, 0, -1, 1, 2, 2, 2, -1, 1]


def usage(*names: str) -> np.ndarray:
    return np.array([[name in names for name in HEART]])


@pytest.mark.parametrize(
    ("tests", "dollars"),
    [
        ((), "0"),
        (("age",), "1.00"),
        (("chol",), "7.27"),
        (("fbs",), "5.20"),
        (("chol", "fbs"), "10.37"),  # 7.27 + 3.10
        (("thalach", "thal"), "103.90"),
        (("exang", "slope", "oldpeak"), "89.30"),
        (("age", "chol", "fbs", "ca", "thal"), "215.17"),  # 1 + 10.37 + 100.90 + 102.90
        (tuple(HEART), "323.97"),  # 4 + 10.37 + 15.50 + 103.90 + 89.30 + 100.90
    ],
)
def test_heart_disease_tests_cost_what_turney_printed(tests: tuple[str, ...], dollars: str) -> None:
    costs = FeatureCosts.from_discounts(HEART_ALONE, HEART_IN_GROUP, HEART_GROUPS)
    np.testing.assert_allclose(costs.cost_of(usage(*tests)), [float(dollars)], rtol=1e-14, atol=0)
    assert exact_cost(costs, usage(*tests)[0]) == Fraction(dollars)


def exact_cost(costs: FeatureCosts, used: np.ndarray) -> Fraction:
    """Sum of the units that the used features need."""
    units = set()
    for feature in np.flatnonzero(used):
        units.update(costs.unit_indices[costs.unit_indptr[feature] : costs.unit_indptr[feature + 1]].tolist())
    return sum((costs.unit_costs[unit] for unit in units), Fraction(0))


def test_heart_units() -> None:
    costs = FeatureCosts.from_discounts(HEART_ALONE, HEART_IN_GROUP, HEART_GROUPS)
    assert costs.n_units == 13 + 3
    assert costs.group_fees == (Fraction("2.10"), Fraction("101.90"), Fraction("86.30"))
    assert costs.prices[4] == Fraction("5.17")
    assert costs.denominator == 100
    assert repr(costs) == "FeatureCosts(13 features, 3 groups, 16 units)"


def test_units_of_a_sensor() -> None:
    """Features that come free with their sensor need the sensor only; a free feature alone is a unit of cost 0."""
    costs = FeatureCosts([0, 0, 0, 5], groups=[0, 0, -1, 0], group_fees=[3])
    assert costs.unit_costs == (0, 5, 3)
    assert [units.tolist() for units in np.split(costs.unit_indices, costs.unit_indptr[1:-1])] == [
        [2],
        [2],
        [0],
        [1, 2],
    ]
    paid = costs.cost_of([[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [4, 0, 0, 2]])
    np.testing.assert_array_equal(paid, [3, 0, 8, 8])


def test_fees_go_by_the_numbers_of_their_groups() -> None:
    """A dict gave its keys as fees, and a Series its values in whatever order they stood."""
    expected = FeatureCosts([1, 2], groups=[0, 1], group_fees=[5, 7])
    for fees in ({1: 7, 0: 5}, pd.Series({1: 7, 0: 5}), pd.Series([5, 7]), pd.Series({"x": 5, "y": 7})):
        assert FeatureCosts([1, 2], groups=[0, 1], group_fees=fees) == expected


def test_uniform_prices_count_features() -> None:
    costs = FeatureCosts.uniform(4)
    np.testing.assert_array_equal(costs.cost_of([[0, 3, 1, 0], [1, 1, 1, 1]]), [2, 4])
    assert costs.denominator == 1


def test_everything_free() -> None:
    costs = FeatureCosts([0, 0])
    assert costs.n_units == 2
    np.testing.assert_array_equal(costs.cost_of([[1, 1]]), [0])


def test_prices_are_exact_however_they_are_written() -> None:
    written = [0.1, "0.1", Decimal("0.1"), Fraction(1, 10), "1/10", np.float32(0.1)]
    assert set(FeatureCosts(written).prices) == {Fraction(1, 10)}
    assert FeatureCosts(np.array([0.1, 7.27])).prices == (Fraction(1, 10), Fraction(727, 100))
    assert FeatureCosts([Fraction(1, 3), "1/4"]).denominator == 12


def test_equality_and_hash() -> None:
    one = FeatureCosts([1, 2], groups=[0, -1], group_fees=[3])
    same = FeatureCosts(["1", 2.0], groups=np.array([0, -1]), group_fees=(3,))
    assert one == same
    assert hash(one) == hash(same)
    others = [FeatureCosts([1, 2]), FeatureCosts([1, 2], [0, -1], [4]), FeatureCosts([1, 2], [-1, 0], [3])]
    assert all(one != other for other in others)
    assert one != "prices"


def test_prices_cannot_be_changed() -> None:
    costs = FeatureCosts([1, 2])
    with pytest.raises(ValueError, match="read-only"):
        costs.groups[0] = 1
    with pytest.raises(AttributeError):
        costs.prices = ()


prices = st.fractions(min_value=0, max_value=20, max_denominator=50)


@pytest.mark.slow
@given(st.data())
def test_cost_of_usage_is_the_sum_of_units(data) -> None:
    n = data.draw(st.integers(1, 6))
    n_groups = data.draw(st.integers(0, 3))
    costs = FeatureCosts(
        data.draw(st.lists(prices, min_size=n, max_size=n)),
        data.draw(st.lists(st.integers(-1, n_groups - 1), min_size=n, max_size=n)),
        data.draw(st.lists(prices, min_size=n_groups, max_size=n_groups)),
    )
    used = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    np.testing.assert_allclose(costs.cost_of(used[None]), float(exact_cost(costs, used)), rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (([1, float("nan")],), ValueError, r"prices\[1\]: expected a finite number .*, got nan"),
        (([1, -0.5],), ValueError, r"prices\[1\]: expected a number >= 0, got -0.5"),
        (([np.inf],), ValueError, r"prices\[0\]: expected a finite number .*, got inf"),
        ((["cheap"],), ValueError, r"prices\[0\]: expected a finite number .*, got 'cheap'"),
        (([None],), TypeError, r"prices\[0\]: expected a finite number .*, got None"),
        (([],), ValueError, "prices: expected at least one price, got none"),
        ((3.5,), TypeError, "prices: expected a sequence of numbers, got 3.5"),
        (("12",), TypeError, "prices: expected a sequence of numbers, got '12'"),
        (([[1, 2]],), TypeError, r"prices\[0\]: expected a finite number"),
        (([1, 2], [0]), ValueError, r"groups: expected one group per feature, shape \(2,\), got shape \(1,\)"),
        (([1, 2], [0.0, 1.0], [1, 1]), TypeError, "groups: expected integers, -1 for no group, got dtype float64"),
        (([1, 2], [0, -2], [1]), ValueError, "groups: expected -1 or a group index >= 0, got -2"),
        (([1, 2], [0, 1], [1]), ValueError, r"group_fees: expected a fee for each of the groups 0..1, got 1"),
        (([1, 2], None, [1]), ValueError, "groups: expected the group of each feature with group_fees, got none"),
        (([1, 2], [0, 1]), ValueError, r"group_fees: expected a fee for each of the groups 0..1, got 0"),
        (([1, 2], [0, 0], [-1]), ValueError, r"group_fees\[0\]: expected a number >= 0, got -1"),
        (([1, 2], [0, 2**40], [1]), ValueError, "groups: expected values that fit int32"),
        (([1], [True], [1]), TypeError, "groups: expected integers"),
        (
            ([1], [0], {"blood": 2}),
            ValueError,
            r"group_fees: expected the numbers of the groups 0..0 as keys, got \['blood'\]",
        ),
    ],
)
def test_bad_price_lists_are_refused(arguments, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        FeatureCosts(*arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("prices", "kept"),
    [
        ([1e9, 0.1234567891, 5], ["1000000000", "0.1234568", "5"]),
        ([10**9, "0.123456789012", Fraction(1, 3)], ["1000000000", "0.123456800", "1/3"]),
        ([0.3487261940, 1e9], ["0.348726194", "1000000000"]),
        ([1234.56789012, 0.0123456789012], ["1234.56789012", "0.01234568"]),
        ([0.99999999999], ["1"]),
    ],
)
def test_rounding_changes_no_price_by_more_than_a_millionth_of_itself(prices, kept) -> None:
    """Measured prices beside large ones were rounded to multiples of the seventh digit of these: 0.12 to 1,000."""
    assert FeatureCosts(prices).prices == tuple(Fraction(text) for text in kept)


@pytest.mark.slow
@given(st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=6), st.lists(st.floats(1e-4, 1e4), max_size=3))
def test_measured_prices_and_fees_stay_what_they_are(prices, fees) -> None:
    costs = FeatureCosts(prices, None if not fees else [0] * len(prices), fees)
    for typed, price in zip([*prices, *fees], [*costs.prices, *costs.group_fees], strict=True):
        assert abs(price - Fraction(repr(typed))) <= Fraction(repr(typed)) / 10**6
        assert len(repr(typed)) > 10 or price == Fraction(repr(typed))


@pytest.mark.parametrize(
    ("prices", "text"),
    [
        (
            [10**12, 0.123456789012, 0.2],
            "got 1000000000000.0 and the measured 0.123456789012, which differ by a factor of 8e.12;",
        ),
        (
            [1.0, 1e-13 / 3],
            "the measured 3.3333333333333334e-14, which differ .* round the small price .* or make it 0",
        ),
    ],
)
def test_measured_prices_that_no_scale_holds_are_refused(prices, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        FeatureCosts(prices)
    assert FeatureCosts([prices[0], Fraction(repr(prices[1])), *prices[2:]]).prices[1] == Fraction(repr(prices[1]))


def test_discounts_of_measured_prices_are_measured() -> None:
    costs = FeatureCosts.from_discounts([5.12345678901, 6.12345678901], [3.1, 4.1], [0, 0])
    assert costs.group_fees == (Fraction("2.023457"),)
    assert costs.prices == (Fraction("3.1"), Fraction("4.1"))


@pytest.mark.parametrize(
    ("alone", "in_group", "groups", "text"),
    [
        ([5, 6], [3, 3], [0, 0], "in_group: expected a discount of 2 for feature 1 of group 0, got 3"),
        ([5, 6], [5, 5], [0, -1], "in_group: expected a discount of 0 for feature 1 without a group, got 1"),
        ([5, 6], [7, 6], [0, -1], "in_group: expected at most the price alone for feature 0, got 2 more"),
        ([5, 6], [5], [0, 0], "in_group: expected 2 prices as in alone, got 1"),
    ],
)
def test_bad_discounts_are_refused(alone, in_group, groups, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        FeatureCosts.from_discounts(alone, in_group, groups)


def test_names_come_with_dicts_and_series_and_set_the_order() -> None:
    for prices in ({"b": 2, "a": 1}, pd.Series([2, 1], index=["b", "a"])):
        assert FeatureCosts(prices).feature_names == ("b", "a")
        costs = FeatureCosts(prices, {"b": 0, "a": -1}, [5], feature_names=["a", "b"])
        assert (costs.prices, costs.groups.tolist()) == ((1, 2), [-1, 0])
        assert costs.matched_to(2, ["b", "a"]) == FeatureCosts([2, 1], [0, -1], [5], ["b", "a"])


def test_integer_keys_are_column_numbers() -> None:
    for prices in ({1: 5, 0: 3}, pd.Series([5, 3], index=[1, 0])):
        assert FeatureCosts(prices) == FeatureCosts([3, 5])
    with pytest.raises(ValueError, match=r"prices: expected column numbers 0\.\.1 as keys, got \[0, 7\]"):
        FeatureCosts({0: 3, 7: 5})
    with pytest.raises(ValueError, match=r"groups: expected column numbers 0\.\.1 as keys, got \[0, 7\]"):
        FeatureCosts([3, 5], {0: 0, 7: 0}, [1])


def test_names_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown 'agee' .closest: 'age'. and no 'age'"):
        FeatureCosts({"agee": 1, "dose": 2}, feature_names=["age", "dose"])
    with pytest.raises(ValueError, match="expected a price for each feature, got no 'c'"):
        FeatureCosts([1, 2], feature_names=["a", "b"]).matched_to(3, ["a", "b", "c"])


def test_measured_prices_are_rounded_and_say_so() -> None:
    prices = [*(0.1 + np.random.default_rng(0).random(30)).tolist()]
    costs = FeatureCosts(prices)
    assert costs.resolution == Fraction(2, 10**7)
    assert "rounded to multiples of 1/5000000" in repr(costs)
    assert all(price % costs.resolution == 0 and price > 0 for price in costs.prices)
    np.testing.assert_allclose([float(price) for price in costs.prices], prices, rtol=1e-6, atol=0)
    exact = FeatureCosts([0.25, 1e-9, Fraction(12345678901234, 10**14), Fraction(1, 3), "1/3", 1])
    assert exact.resolution is None
    assert exact.prices[2] == Fraction(12345678901234, 10**14)
    mixed = FeatureCosts([0.1234567890123, "0.12345678901234", Fraction(12345678901111, 10**14)])
    assert mixed.prices == (Fraction("0.1234568"), Fraction("0.1234568"), Fraction(12345678901111, 10**14))


def test_columns_of_one_feature_are_one_purchase() -> None:
    raw = FeatureCosts([1, 3, 0], [-1, 0, 0], [5], ["age", "thal", "slope"])
    costs = raw.for_columns([1, 1, 0, 2, 1], ["thal=3", "thal=6", "age", "slope", "thal=7"])
    usage = np.array([[1, 0, 0, 0, 1], [0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 1, 0], [0] * 5])
    assert costs.cost_of(usage).tolist() == [8, 1, 8, 5, 0]
    assert costs.bought(usage)[0].tolist() == [False, True, False]
    assert costs.n_units == raw.n_units
    again = costs.for_columns([2, 0])
    assert again.cost_of([[1, 0], [1, 1]]).tolist() == [1, 9]
    with pytest.raises(ValueError, match=r"sources: expected features 0\.\.2, got \[3\]"):
        raw.for_columns([3])


@pytest.mark.parametrize("n_features", [3, 8, 20, 200])
def test_what_an_example_pays_does_not_depend_on_others(n_features: int) -> None:
    """A matrix product rounds otherwise in blocks of rows than in the last ones."""
    rng = np.random.default_rng(0)
    costs, usage = FeatureCosts(rng.random(n_features)), rng.random((60, n_features)) < 0.5
    paid = costs.cost_of(usage)
    order = rng.permutation(60)
    assert costs.cost_of(usage[order]).tolist() == paid[order].tolist()
    assert [costs.cost_of(row[None])[0] for row in usage] == paid.tolist()
    assert costs.cost_of(np.asfortranarray(usage)).tolist() == paid.tolist()


@pytest.mark.parametrize("sources", [[0, 1, 2], [2, 0, 1], [1, 1, 2], [0, 0, 0], [2, 1], [2, 0, 1, 1]])
def test_what_is_paid_is_the_price_of_the_units(sources: list[int]) -> None:
    """As many computed columns as prices may still be other columns, or the same in another order."""
    names = ["p", "q", "r", "s"][: len(sources)]
    raw = FeatureCosts([1, 30, 0], [-1, 0, 0], [500], ["age", "thal", "slope"])
    costs = raw.for_columns(sources, names)
    backwards = costs.matched_to(len(sources), names[::-1])
    for usage in product([0, 1], repeat=len(sources)):
        units = {unit for feature in np.flatnonzero(usage) for unit in costs.units_of(feature).tolist()}
        paid = sum(float(costs.unit_costs[unit]) for unit in units)
        assert costs.cost_of([usage]).tolist() == [paid]
        assert backwards.cost_of([usage[::-1]]).tolist() == [paid]
        bought = {sources[feature] for feature in np.flatnonzero(usage)}
        assert set(np.flatnonzero(costs.bought([usage])[0]).tolist()) == bought
    assert costs.is_plain == (sources == [0, 1, 2])
    assert costs.feature_prices.tolist() == [[1, 30, 0][source] for source in sources]


@pytest.mark.parametrize("shape", [(2,), (3, 4)])
def test_usage_of_another_shape_is_refused(shape) -> None:
    with pytest.raises(ValueError, match=r"usage: expected shape \(n_samples, 2\), got"):
        FeatureCosts([1, 2]).cost_of(np.ones(shape))


def test_tests_cost_what_they_are_counted() -> None:
    costs = FeatureCosts([1, 2])
    np.testing.assert_array_equal(costs.cost_of([[3, 0], [1, 4]], split_cost="0.5"), [2.5, 5.5])
    with pytest.raises(ValueError, match="split_cost: expected a number >= 0, got -1"):
        costs.cost_of([[1, 1]], split_cost=-1)


def test_names_come_with_prices() -> None:
    named = FeatureCosts([3, 1], feature_names=["a", "b"])
    assert FeatureCosts({"a": 3, "b": 1}) == named
    assert FeatureCosts(pd.Series([3, 1], index=["a", "b"])) == named
    assert FeatureCosts({"b": 1, "a": 3}, feature_names=["a", "b"]) == named
    assert named.feature_names == ("a", "b")
    assert FeatureCosts(pd.Series([3, 1])).feature_names is None
    assert named != FeatureCosts([3, 1])
    assert hash(named) != hash(FeatureCosts([3, 1]))


def test_groups_are_matched_with_prices_by_name() -> None:
    expected = FeatureCosts([1, 2, 3], [0, -1, 0], [5], ["a", "b", "c"])
    assert FeatureCosts({"a": 1, "b": 2, "c": 3}, {"c": 0, "b": -1, "a": 0}, [5]) == expected
    assert FeatureCosts([1, 2, 3], pd.Series([0, -1, 0], index=["a", "b", "c"]), [5]) == expected
    with pytest.raises(ValueError, match=r"groups: expected the features, got unknown 'd' and no 'c'"):
        FeatureCosts({"a": 1, "b": 2, "c": 3}, {"a": 0, "b": 0, "d": 0}, [5])
    with pytest.raises(ValueError, match="feature_names: expected 2 names, one per feature, got 3"):
        FeatureCosts([1, 2], feature_names=["a", "b", "c"])


def test_discounts_by_name() -> None:
    alone = dict(zip(HEART, HEART_ALONE, strict=True))
    in_group = pd.Series(HEART_IN_GROUP, index=HEART)[::-1]
    costs = FeatureCosts.from_discounts(alone, in_group, HEART_GROUPS)
    assert costs == FeatureCosts.from_discounts(HEART_ALONE, HEART_IN_GROUP, HEART_GROUPS, feature_names=HEART)


def test_prices_are_brought_into_the_order_of_the_features() -> None:
    costs = FeatureCosts({"a": 1, "b": 2, "c": 0}, [-1, 0, 0], [7])
    moved = costs.matched_to(3, ("c", "a", "b"))
    assert moved == FeatureCosts({"c": 0, "a": 1, "b": 2}, [0, -1, 0], [7])
    assert costs.matched_to(3, ("a", "b", "c")) == costs
    ordered = FeatureCosts([1, 2, 0], [-1, 0, 0], [7], feature_names=["a", "b", "c"])
    assert ordered.matched_to(3, ("a", "b", "c")) is ordered
    assert ordered.matched_to(3) is ordered
    assert costs.matched_to(3, ("a", "b", "c")).matched_to(3) == costs
    nameless = FeatureCosts([1, 2, 0])
    assert nameless.matched_to(3, ("c", "a", "b")) is nameless


def test_prices_of_other_features_are_refused() -> None:
    costs = FeatureCosts({"age": 1, "sex": 2, "colour": 3})
    with pytest.raises(
        ValueError,
        match=r"costs: expected a price for each feature, got unknown 'colour' \(closest: 'color'\) and no 'color'$",
    ):
        costs.matched_to(3, ("age", "sex", "color"))
    with pytest.raises(ValueError, match="costs: expected 2 prices, one per feature, got 3"):
        costs.matched_to(2)


def test_what_is_replaced_keeps_everything_else() -> None:
    by_name = FeatureCosts({"b": 1.123456789012, "a": 2}, delayed=["a"])
    assert replace(by_name) == by_name
    assert replace(by_name).resolution == by_name.resolution
    changed = replace(by_name, prices={"a": 3, "b": 1})
    assert changed.prices == (1, 3)
    assert changed.matched_to(2, ["a", "b"]).delayed.tolist() == [True, False]
    with pytest.raises(ValueError, match="features have no names"):
        changed.matched_to(2)  # as the prices of a dict are in no order of columns
    computed = FeatureCosts([1, 2, 3], [0, 0, -1], [4], ["a", "b", "c"], ["c"]).for_columns(
        [0, 2, 0], ["a1", "c1", "a2"]
    )
    assert replace(computed) == computed
    assert replace(computed, delayed=None, prices=[5, 6, 7]).unit_costs == (5, 6, 7, 4)
