"""The table of searches within a budget."""

from fractions import Fraction

import pytest

from ipforest import prune_path
from ipforest.experiments import budget_search
from ipforest.experiments.budget_search import BudgetRow, compare_searches, main
from ipforest.experiments.synthetic import synthetic_instance


def row(**changes) -> BudgetRow:
    fields = {
        "dataset": "digits",
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
    assert row().record()["closed"] == "67%"


@pytest.fixture(scope="module")
def rows():
    path = prune_path(synthetic_instance(6, 200, 8, n_training=300, max_price=50, seed=3))
    return compare_searches("synthetic", path, time_limit=None)


def test_no_search_is_worse_than_those_before(rows):
    assert len(rows) == 10
    for one in rows:
        assert one.hull <= one.bound == one.exact <= one.greedy <= one.breakpoint
        assert one.closed == 1


def test_the_table_is_printed_and_written(tmp_path, monkeypatch, capsys, rows):
    monkeypatch.setattr(budget_search, "compare_searches", lambda name, path, *shares, time_limit: rows[:2])
    monkeypatch.setattr(budget_search, "forest_instance", lambda name, **options: rows and synthetic_instance(2, 20, 3))
    main(["wine", "--out", str(tmp_path / "table.csv"), "--time-limit", "1"])
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split()[:4] == ["dataset", "share", "budget", "breakpoint"]
    assert len(printed) == 3
    assert (tmp_path / "table.csv").read_text().startswith("dataset,share,budget,breakpoint,greedy,exact,bound,hull")
