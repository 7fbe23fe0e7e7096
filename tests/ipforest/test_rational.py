"""Exact numbers: what users type is what the program computes with."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipforest._internal.rational import as_fraction, exact_sum, nonnegative_fraction, time_limit_seconds
from ipforest.choosing.class_costs import read_class_costs


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7.27, Fraction(727, 100)),
        (0.1, Fraction(1, 10)),
        (1e-3, Fraction(1, 1000)),
        (1e22, Fraction(10**22)),
        (0.0, Fraction(0)),
        (3, Fraction(3)),
        ("3/1000", Fraction(3, 1000)),
        ("0.003", Fraction(3, 1000)),
        (" 2e-4 ", Fraction(1, 5000)),
        (Decimal("1.10"), Fraction(11, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.int16(-4), Fraction(-4)),
        (np.float64(7.27), Fraction(727, 100)),
        (np.float32(7.27), Fraction(727, 100)),
        (np.float16(0.1), Fraction(1, 10)),
    ],
)
def test_numbers_are_read_as_written(value, expected: Fraction) -> None:
    assert as_fraction(value, "price") == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_a_decimal_that_rounds_back_to_it(value: float) -> None:
    exact = as_fraction(value, "price")
    assert float(exact) == value
    assert as_fraction(repr(value), "price") == exact


@pytest.mark.parametrize("value", ["1e1000000000", "1E-9999", "1e١٠٠٠٠٠٠٠", "9" * 1001, Decimal("1e1000000000")])
def test_numbers_that_would_take_forever_to_write_out_are_refused(value) -> None:
    with pytest.raises(ValueError, match="lam: expected a number of at most 1000 digits, got"):
        as_fraction(value, "lam")


def test_fractions_of_numpy_integers_become_python_integers() -> None:
    """NumPy's integers wrap around in products."""
    number = as_fraction(Fraction(np.int64(2**62), np.int64(3)), "lam")
    assert number * 4 == Fraction(2**64, 3)
    assert type(number.numerator) is int


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -np.inf,
        "nan",
        "dear",
        "",
        "1/0",
        "1_000",
        "1e1_0",
        Decimal("NaN"),
        Decimal("Infinity"),
    ],
)
def test_what_is_no_finite_number_is_refused(value) -> None:
    with pytest.raises(
        ValueError, match=r"lam: expected a finite number \(int, float, Fraction, Decimal or str\), got"
    ):
        as_fraction(value, "lam")


@pytest.mark.parametrize("value", [True, np.bool_(False), None, [1], 1j, b"3", np.zeros((2, 2))])
def test_what_is_no_number_is_refused_in_one_line(value) -> None:
    with pytest.raises(TypeError, match=r"^lam: expected a finite number .*, got .*$"):
        as_fraction(value, "lam")


@pytest.mark.parametrize("value", [-1, -0.5, "-1/3", np.float32(-2)])
def test_negative_numbers_are_refused_where_they_make_no_sense(value) -> None:
    with pytest.raises(ValueError, match=r"budget: expected a number >= 0, got"):
        nonnegative_fraction(value, "budget")


def test_zero_is_allowed() -> None:
    assert nonnegative_fraction(-0.0, "budget") == 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_sums_do_not_overflow(values: list[int]) -> None:
    assert exact_sum(np.array(values, dtype=np.int64)) == sum(values)


def test_time_limits():
    assert time_limit_seconds(None) is None
    assert time_limit_seconds(2) == 2.0
    for bad in (-1, float("nan"), "soon"):
        with pytest.raises(ValueError, match="time_limit: expected seconds >= 0 or None"):
            time_limit_seconds(bad)


@pytest.mark.parametrize("value", ["1e400", Decimal("1e309"), 10**400, Fraction(10**400, 3)])
def test_what_no_float_holds_is_refused_as_a_price_or_budget(value) -> None:
    with pytest.raises(ValueError, match=r"budget: expected a number up to 1.8e\+308, got "):
        nonnegative_fraction(value, "budget")
    assert nonnegative_fraction("1e308", "budget") == 10**308
    assert nonnegative_fraction(5e-324, "budget") == Fraction("5e-324")


def test_a_cost_of_mistakes_that_no_float_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="class_costs: expected a matrix of numbers"):
        read_class_costs([[0, 10**400], [1, 0]], np.array([0, 1]))
