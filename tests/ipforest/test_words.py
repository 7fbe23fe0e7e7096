"""Numbers and lists of words as users read them."""

import pytest

from ipforest._internal.words import counted, plain, some_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.031254, "0.03125"), (3.14159, "3.142"), (9999.6, "10000"), (36603.4, "36603"), (-1.5e6, "-1500000"),
        (0, "0"), (2e-7, "2e-07"), (1e300, "1e+300"), (float("inf"), "inf"), (float("nan"), "nan"),
    ],
)  # fmt: skip
def test_numbers_are_written_without_powers_of_ten(value, text):
    assert plain(value) == text


def test_fewer_digits_round_what_follows_the_point_only():
    assert plain(1797.3, 3) == "1797"
    assert plain(0.12345, 3) == "0.123"


def test_one_thing_is_counted_as_one():
    assert [counted(number, "tree") for number in range(3)] == ["0 trees", "1 tree", "2 trees"]


def test_a_list_ends_between_words():
    assert some_of(["Donard", "", "Mourne"]) == "Donard, Mourne"
    runs = ["Annalong Horseshoe", "BARF Turkey Trot", "Binevenagh", "Donard & Commedagh"]
    assert some_of(runs) == "Annalong Horseshoe, BARF Turkey Trot, Binevenagh, ..."
    assert some_of(["x " * 40, "y"]).endswith("x ..., ...")
