"""The comparison of branching and nested cascades: gains are seed by seed, generated sets are drawn anew."""

import numpy as np
import pytest

from ipforest.experiments import catalogue
from ipforest.experiments.own import branching

EXPERIMENT = catalogue.find("own/branching")
ERRORS = {0: {"nested": 0.3, "always branching": 0.2}, 1: {"nested": 0.4, "always branching": 0.4}}


def test_gains_are_over_the_nested_cascade_seed_by_seed() -> None:
    records = [
        {"data": "cube", "seed": seed, "method": method, "budget": 3, "error": error, "cost": 2.5, "stages": 9}
        for seed, errors in ERRORS.items()
        for method, error in errors.items()
    ]
    nested, always = EXPERIMENT.steps.summarise(records)
    assert (nested["gain"], nested["gain_se"], nested["runs"]) == (0, 0, 2)
    assert always["gain"] == pytest.approx(0.05)
    assert always["gain_se"] == pytest.approx(0.05)
    assert [axes.get_title() for axes in EXPERIMENT.steps.draw(records, [nested, always]).axes] == ["cube"]


def test_every_seed_draws_other_examples() -> None:
    first, second = (branching.load("cube", seed) for seed in (1, 2))
    assert [len(part) for part in (first.y_train, first.y_validation, first.y_test)] == [2000, 1000, 4000]
    assert not np.isin(first.X_train[:, 0], second.X_train[:, 0]).any()
