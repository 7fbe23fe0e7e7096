"""Labels as programs write them: pandas makes 1.0 of a class 1 where a cell is missing, Excel makes TRUE of True."""

import pytest

from ipforest.tabular.name_matching import matched_labels


@pytest.mark.parametrize(
    ("texts", "labels", "expected"),
    [
        (["1", "2.0", "2"], [1.0, 2.0], {"1": 1.0, "2.0": 2.0, "2": 2.0}),
        (["1.0", "-3.00"], [1, -3], {"1.0": 1, "-3.00": -3}),
        (["TRUE", "false"], [False, True], {"TRUE": True, "false": False}),
        (["1.0", "1"], ["1", "1.0"], {"1": "1", "1.0": "1.0"}),
        (["1.00"], ["1", "1.0"], {}),
        (["7", "1E1", "yes"], ["007", "10", "Yes"], {}),
        (["None"], [None, 0], {"None": None}),
        (
            ["Private", "Bonn", "5"],
            [" Private", "Bonn", "Bonn ", " 5 "],
            {"Private": " Private", "Bonn": "Bonn", "5": " 5 "},
        ),
    ],
)
def test_a_text_is_the_only_label_that_says_the_same(texts, labels, expected) -> None:
    assert matched_labels(texts, labels) == expected
