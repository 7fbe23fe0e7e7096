"""Stopping and nested cascades: parts of the data, choices within budgets, gains over the right reference."""

import numpy as np
import pytest

from ipforest import datasets
from ipforest.experiments.options import Option, choose
from ipforest.experiments.own import early_exit

needs_data = pytest.mark.skipif("letter" not in datasets.names(), reason="no data folder")


def test_the_choice_is_made_on_validation_within_the_budget() -> None:
    options = [Option(0, 0.5, 0, 0.5), Option(2, 0.3, 2.1, 0.1), Option(2, 0.2, 1.9, 0.4), Option(3, 0.1, 3, 0.1)]
    assert [choose(options, budget) for budget in (1, 2, 3)] == [options[0], options[2], options[3]]


@needs_data
def test_the_whole_of_letters_is_parted() -> None:
    parts = early_exit.load("letters_whole", 0)
    sizes = [part.size for part in (parts.y_train, parts.y_validation, parts.y_test)]
    assert tuple(sizes) == early_exit.SIZES["letters_whole"] == (12000, 4000, 4000)
    assert set(np.unique(parts.y_train)) == {0, 1}


def test_the_whole_of_letters_gets_more_boosted_trees() -> None:
    trees = {(cell["data"], cell["input"]): cell["trees"] for cell in early_exit.cells(False, 0)}
    assert trees.pop(("letters_whole", "CEGB")) == early_exit.N_TREES_LARGE
    assert set(trees.values()) == {early_exit.N_TREES}


def test_gains_are_over_the_same_model_or_the_best_of_todays() -> None:
    errors = {"CEGB, plain": 0.3, "CEGB, threshold": 0.25, "k best features, forest": 0.2, "nested, forest": 0.1}
    place = {"data": "letters", "budget": 2, "seed": 0, "validation_cost": 1.0, "cost": 1.0}
    records = [
        {**place, "method": method, "error": error, "validation_error": error} for method, error in errors.items()
    ]
    rows = [row for row in early_exit.summarise(records) if row["budget"] == 2]
    gains = {row["method"]: row["gain"] for row in rows}
    assert gains["CEGB, threshold"] == pytest.approx(0.05)
    assert gains["nested, forest"] == pytest.approx(0.1)
    assert {row["method"]: row["error"] for row in rows}["best of today's"] == 0.2
