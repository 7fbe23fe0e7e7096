"""The page of reproduction: made of committed records alone, and what the repository holds."""

import json
from pathlib import Path

from ipforest.cli import main
from ipforest.experiments import catalogue
from ipforest.experiments.condensed import at_budgets, columns
from ipforest.experiments.page import make_page
from ipforest.experiments.papers import PAPERS

ROOT = Path(__file__).parents[3]
SECTION = "### budgetrf2015: Table 1"


def test_the_committed_page_is_what_the_command_makes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["reproduce", "--page", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text() == (ROOT / "docs" / "papers-tables.md").read_text()
    assert capsys.readouterr().out == f"Wrote {tmp_path / 'page.md'}.\n"


def test_each_experiment_of_the_papers_has_its_place_on_the_page():
    on_page = {paper.experiment(part).name for paper in PAPERS for part in paper.parts if paper.experiment(part)}
    rooms = [paper.room for paper in PAPERS if paper.room != "own"]
    assert on_page - {"own/sample"} == {name for name in catalogue.names() if name.split("/")[0] in rooms}


def test_records_of_two_settings_stand_one_below_the_other(tmp_path):
    experiment = catalogue.find("budgetrf2015/table1")
    heads = "data,method,trees,share,share_sd,error,error_sd,runs,paper_share,paper_error\n"
    for settings, share in (("ours", 60.12345), ("printed", 70.0)):
        (tmp_path / f"{experiment.stem_of(settings)}.csv").write_text(
            heads + f"miniboone,BudgetRF,1,{share},0.5,0.125,0.01,2,16.4,0.1241\n"
        )
    about = {
        "quick": True,
        "cells": {"data": ["miniboone"], "seed": [0, 1, 2], "examples": [None], "settings": ["printed"]},
        "versions": {"ipforest": "1", "numpy": "2.0"},
        "seconds": 90.0,
        "unfinished_cells": 4,
        "note": "One machine",
    }
    (tmp_path / "budgetrf2015-table1-printed.json").write_text(json.dumps(about))
    section = make_page(tmp_path).split(SECTION)[1].split("###")[0]
    assert "| ours | miniboone | BudgetRF | 1 | 60.12 | 16.4 | 0.125 | 0.1241 | 2 |" in section
    assert "| printed | miniboone | BudgetRF | 1 | 70 | 16.4 | 0.125 | 0.1241 | 2 |" in section
    assert "- Record under `ours`: made by an earlier version of the experiment" in section
    assert (
        "- Record under `printed`: a quick run; data miniboone; seed 0 to 2; examples all; 1.5 CPU minutes; 4 cells of "
        "it were not run (numpy 2.0). One machine." in section
    )
    assert "- Not in the records: forest; `ipforest data forest FILE` takes in covtype.data or" in section


def test_without_a_folder_of_records_the_command_says_what_it_expected(tmp_path, capsys):
    nowhere = str(tmp_path / "none")
    assert main(["reproduce", "--page", str(tmp_path / "page.md"), "--records", nowhere]) == 2
    assert capsys.readouterr().err == (
        f"ipforest: error: records: expected the folder of the committed records, got {nowhere!r}\n"
    )


def test_rows_of_budgets_become_columns():
    rows = [
        {"data": data, "method": "m", "budget": str(budget), "error": "0.2", "error_sd": "0.02", "runs": runs}
        for data, runs in (("a", "4"), ("b", "1"))
        for budget in range(1, 13)
    ]
    first, second = at_budgets("data", "method", most=3)(rows)
    assert first == {"data": "a", "method": "m", "runs": 4, **dict.fromkeys(_up_to(4, 8, 12), "20.0 ± 1.0")}
    assert second == {"data": "b", "method": "m", "runs": 1, **dict.fromkeys(_up_to(4, 8, 12), "20.0")}
    assert columns("data")(rows)[0] == {"data": "a"}


def test_a_curve_without_a_point_within_a_budget_has_an_empty_place():
    rows = [
        {"curve": curve, "budget": budget, "ndcg": 0.5, "ndcg_sd": 0.0, "runs": 2}
        for curve, budget in (("x", 1.0), ("x", 2.0), ("y", 2.0))
    ]
    _, second = at_budgets(None, "curve", value="ndcg", scale=1)(rows)
    assert second == {"curve": "y", "runs": 2, "cost <= 1": "", "cost <= 2": "0.500 ± 0.000"}


def _up_to(*budgets):
    return [f"cost <= {budget}" for budget in budgets]
