"""The page of a comparison, from its rows."""

from datetime import date
from pathlib import Path

import pytest

from ipforest.cli import main
from ipforest.experiments import frontier_summary
from ipforest.experiments.frontier_page import frontier_page
from tests.ipforest.experiments.test_frontier import record

DAY = date(2026, 11, 26)
ERRORS = {"CEGB lazy": (0.2, 0.3), "BudgetRF": (0.4, 0.4), "BudgetedClassifier": (0.1, 0.4)}
"""Test errors on two data sets; those of validation are the same."""


def rows(seeds: tuple[int, ...] = (0, 1)) -> list[frontier_summary.Record]:
    records = [
        {**record(method, seed, budget, error[place], error[place]), "data": f"set {place}"}
        for method, error in ERRORS.items()
        for place in (0, 1)
        for seed in seeds
        for budget in (1.0, 2.0)
    ]
    return frontier_summary.summarise(records)


def test_areas_losses_and_probabilities_are_told() -> None:
    page = frontier_page(rows(), "New sets", "ipforest frontier a b", DAY)
    assert page.startswith(
        "# New sets\n\nMade by this command, 2026-11-26; 2 seeds:\n\n```bash\nipforest frontier a b\n```\n"
    )
    headline = "| BudgetedClassifier | best of others | -8.3 ± 41.7 | 1 of 2 | 2 of 4 | 2 |"
    assert headline in page
    assert "| set 0 | 10.00 | 20.00 | -10.00 ± 0.00 |" in page
    assert "| 0.9000 / 0.8000 | 0.200 / 0.400 | 5.00 | 2 / 4 |" in page
    assert "| set 1 | 2 | best of others | +10.00 ± 0.00 |" in page
    assert "| BudgetRF | 40.00 | +66.7 ± 33.3 |" in page


def test_of_one_seed_no_loss_and_no_spread_is_told() -> None:
    page = frontier_page(rows((0,)), "One", "ipforest frontier a", DAY)
    assert "2026-11-26; 1 seed:" in page
    assert "| set 0 | 10.00 | 20.00 | -10.00 |" in page
    assert "## Budgets at which it is behind\n\nOne seed has no standard error, and cannot tell.\n" in page


def test_data_sets_that_are_not_in_the_means_are_named() -> None:
    every = rows()
    assert "Means are over" not in frontier_page(every, "All", "ipforest frontier a b", DAY)
    some = [row for row in every if (row["data"], row["method"]) not in {("set 1", "BudgetRF"), ("all", "BudgetRF")}]
    page = frontier_page(some, "Some", "ipforest frontier a b", DAY)
    assert (
        "Means are over 1 of 2 data sets, those that all methods finished. Left out, and what is missing there: "
        "set 1 (BudgetRF). Leave these methods out to average over all data sets.\n" in page
    )
    alone = frontier_page([row for row in some if row["data"] != "all"], "Some", "ipforest frontier a b", DAY)
    assert "There are no means, as all methods finished 1 of 2 data sets, and two are needed. Left out, and" in alone


def test_a_page_without_the_front_end_or_a_peer_is_refused() -> None:
    for method in ("BudgetedClassifier", "CEGB lazy"):
        alone = frontier_summary.summarise([record(method, 0, 1.0, 0.1, 0.1)])
        with pytest.raises(
            ValueError,
            match="methods: expected BudgetedClassifier or BudgetedRegressor and one that is not of this package",
        ):
            frontier_page(alone, "Alone", "ipforest frontier a", DAY)


@pytest.mark.slow
def test_the_command_compares_methods_by_their_names(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    methods = ["BudgetedClassifier", "cost-complexity"]
    arguments = ["frontier", "iris", "--methods", *methods, "--seeds", "1", "--trees", "4", "--out", str(tmp_path)]
    assert main([*arguments, "--page", str(page)]) == 0
    assert "Against the references" in page.read_text(encoding="utf-8")


def test_the_command_refuses_before_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["frontier", "iris", "--methods", "cost-complexity", "--seeds", "1", "--trees", "4"]
    page = tmp_path / "page.md"
    assert main([*arguments, "--out", str(tmp_path / "out"), "--page", str(page)]) == 2
    assert (
        "methods: expected BudgetedClassifier or BudgetedRegressor and one that is not of this package"
        in capsys.readouterr().err
    )
    assert not page.exists()
    assert not (tmp_path / "out").exists()  # nothing was run
