"""The table of searches within a budget."""

from fractions import Fraction

import numpy as np
import pytest

from ipforest import prune_path
from ipforest.experiments.own.budget_search import EXPERIMENT, BudgetRow, compare_searches
from ipforest.experiments.synthetic import synthetic_instance


def row(**changes) -> BudgetRow:
    fields = {
        "share": Fraction(1, 2),
        "budget": Fraction(10),
        "breakpoint": Fraction(5, 10),
        "greedy": Fraction(4, 10),
        "exact": Fraction(3, 10),
        "hull": Fraction(1, 10),
        "bound": Fraction(2, 10),
        "greedy_s": 0.1,
        "exact_s": 1.0,
    }
    return BudgetRow(**{**fields, **changes})


def test_the_gap_of_greed_closes_from_both_sides():
    assert row().closed == Fraction(2, 3)
    assert not row().is_optimal
    assert row(exact=Fraction(1, 5)).closed == 1
    assert row(exact=Fraction(1, 5)).is_optimal
    assert row(greedy=Fraction(1, 10), exact=Fraction(1, 10), bound=Fraction(1, 10)).closed == 1
    assert row().record()["closed"] == 0.6667


@pytest.fixture(scope="module")
def rows():
    path = prune_path(synthetic_instance(6, 200, 8, n_training=300, max_price=50, seed=3))
    return compare_searches(path, time_limit=None)


def test_no_search_is_worse_than_those_before(rows):
    assert len(rows) == 10
    for one in rows:
        assert one.hull <= one.bound == one.exact <= one.greedy <= one.breakpoint
        assert one.closed == 1


def test_a_panel_per_forest_shows_errors_of_one_kind(rows):
    records = [{"data": "wine", "trees": trees, **one.record()} for trees in (3, 40) for one in rows]
    panels = EXPERIMENT.steps.draw(records, EXPERIMENT.steps.summarise(records)).axes
    assert [axes.get_ylabel() for axes in panels] == ["in-bag error, %"] * 2
    assert all(len(axes.lines) == 5 for axes in panels)
    assert np.allclose(panels[0].lines[1].get_ydata(), [100 * float(one.greedy) for one in rows], atol=1e-4)
