"""The comparison of guards: every guard is measured, gains are over the default rule on the same seeds."""

import pytest

from ipforest.experiments import catalogue
from ipforest.experiments.own import stopping_guards

EXPERIMENT = catalogue.find("own/stopping_guards")
ERRORS = {0: {"optimal stopping": 0.2, "no guard": 0.25}, 1: {"optimal stopping": 0.3, "no guard": 0.31}}
PLACE = {"data": "letters", "input": "nested", "held out": 250}


def test_gains_are_over_the_default_rule_seed_by_seed() -> None:
    records = [
        {**PLACE, "seed": seed, "guard": guard, "error": error, "overspent": 0.5}
        for seed, errors in ERRORS.items()
        for guard, error in errors.items()
    ]
    default, without = EXPERIMENT.steps.summarise(records)
    assert (default["guard"], default["gain"], default["gain_se"]) == ("optimal stopping", 0, 0)
    assert without == {
        **PLACE,
        "guard": "no guard",
        "error": pytest.approx(0.28),
        "gain": pytest.approx(-0.03),
        "gain_se": pytest.approx(0.02),
        "overspent": 0.5,
        "runs": 2,
    }


def test_every_guard_is_drawn() -> None:
    records = [
        {**PLACE, "held out": held_out, "seed": 0, "guard": guard, "error": 0.1, "overspent": 0.0}
        for held_out in (250, 2000)
        for guard in stopping_guards.GUARDS
    ]
    left, right = EXPERIMENT.steps.draw(records, EXPERIMENT.steps.summarise(records)).axes
    assert [label.get_text() for label in left.get_yticklabels()] == list(stopping_guards.GUARDS)[1:]
    assert (left.get_title(), right.get_title()) == ("all held out", "250 held out")


def test_cells_are_of_every_set_and_kind_of_model() -> None:
    assert {(cell["data"], cell["input"]) for cell in EXPERIMENT.steps.cells(False, 0)} == {
        (data, kind) for data in stopping_guards.DATA for kind in stopping_guards.INPUTS
    }
