"""The experiment on budgets that hold: percentiles of ratios, and what is said where nothing is sure."""

import pytest

from ipforest.experiments import catalogue
from ipforest.experiments.own import budgets_that_hold

EXPERIMENT = catalogue.find("own/budgets_that_hold")


def line(method: str, cost: float, budget: float, sure: bool = True) -> dict[str, object]:
    told = {"data": "d", "validation": 50, "seed": 0, "method": method, "budget": budget, "sure": sure}
    return {**told, "cost": cost, "spread": 0.1, "error": 0.5}


def test_ratios_are_summed_up_by_size_and_method() -> None:
    records = [line("validation", cost, 2.0) for cost in (1.0, 2.1, 3.0)]
    records += [line("betting", 1.0, 2.0), line("betting", 0.0, 2.0, sure=False)]
    betting, validation = EXPERIMENT.steps.summarise(records)
    assert (validation["at 50%"], validation["at 100%"]) == (1.05, 1.5)
    assert (validation["exceeded"], validation["clearly"]) == pytest.approx((2 / 3, 1 / 3))
    assert (betting["sure"], betting["exceeded"], betting["error"], betting["cases"]) == (0.5, 0, 50, 2)
    assert len(EXPERIMENT.steps.draw(records, [betting, validation]).axes) == 1


@pytest.mark.slow
def test_a_cell_measures_every_way_at_every_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("N_TREES", 3), ("N_TRAINING", 100), ("N_TEST", 300)):
        monkeypatch.setattr(budgets_that_hold, name, size)
    cell = next(cell for cell in EXPERIMENT.steps.cells(True, 0))
    records = EXPERIMENT.steps.run(cell)
    assert len(records) == 8 * 4
    assert all(record["cost"] <= 1.3 * record["budget"] for record in records if record["method"] == "betting")
