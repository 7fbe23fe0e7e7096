"""Reproductions: cells that are not run twice, files, matched errors, the user's own data."""

import csv
import importlib
import json
import subprocess
import sys
from dataclasses import replace
from time import sleep

import joblib
import numpy as np
import pytest
from matplotlib.figure import Figure

from ipforest import datasets
from ipforest._internal.claims import Claims
from ipforest.classifier_trees.ranking import average_precision_at
from ipforest.cli import main
from ipforest.experiments import catalogue, paper_data
from ipforest.experiments.budgetprune2016.figure5 import svm_prices
from ipforest.experiments.curves import best_within, within_budgets
from ipforest.experiments.experiment import Experiment, Steps, reproduce
from ipforest.experiments.metrics import error_of_scores
from ipforest.experiments.pruning2016 import table1
from ipforest.experiments.pruning2016.table1 import cost_at_error

needs_data = pytest.mark.skipif("miniboone_5k" not in datasets.names(), reason="no data folder")

SMOKE = ("budgetprune2016/table1", "budgetprune2016/figure5", "budgetprune2016/figure7")
"""The experiments whose quick runs CI makes: those of seconds."""


class Counter:
    """An experiment of four cells that fails at one of them as long as told to."""

    def __init__(self):
        self.runs, self.broken = [], True

    def run(self, cell):
        if cell["seed"] == 2 and self.broken:
            raise KeyboardInterrupt
        self.runs.append(cell["seed"])
        return [{"value": cell["seed"] * part} for part in (1, 2)]

    def experiment(self):
        return Experiment(
            name="counting",
            title="Counting",
            source="here",
            steps=Steps(
                cells=lambda quick, seed: [{"seed": seed + run} for run in range(2 if quick else 4)],
                run=self.run,
                summarise=lambda records: [{"sum": sum(record["value"] for record in records), "paper": 18}],
                draw=lambda records, rows: Figure(),
            ),
            differs=("none",),
        )


def test_finished_cells_are_not_run_again(tmp_path):
    counter = Counter()
    with pytest.raises(KeyboardInterrupt):
        reproduce(counter.experiment(), tmp_path)
    assert counter.runs == [0, 1]
    counter.broken = False
    shares = []
    result = reproduce(counter.experiment(), tmp_path, progress=lambda share, _: shares.append(share))
    assert counter.runs == [0, 1, 2, 3]
    assert shares == [0.75, 1.0]
    assert result.rows == [{"sum": 18, "paper": 18}]
    assert result.records[-1] == {"seed": 3, "value": 6}
    again = reproduce(counter.experiment(), tmp_path, quick=True)
    assert counter.runs == [0, 1, 2, 3]
    assert again.rows[0]["sum"] == 3


def test_a_damaged_cell_is_named(tmp_path):
    counter = Counter()
    counter.broken = False
    reproduce(counter.experiment(), tmp_path)
    cell = next((tmp_path / "cells").iterdir())
    cell.write_text(cell.read_text()[:-5])
    with pytest.raises(ValueError, match=f"{cell.name}: expected the results of a finished cell .* got: "):
        reproduce(counter.experiment(), tmp_path)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"seconds": None}, "finished cell .* got: None for seconds"),
        ({"records": {}}, "finished cell .* got: {} for records"),
        ({"records": [1]}, "finished cell .* got: records that are no objects"),
        ({"cell": {"seed": 7}}, r"results of {'seed': 0}, got those of {'seed': 7}; delete it"),
        ({"data": {"miniboone": "1"}}, "file miniboone.npz of the data folder as it is now, got those on another;"),
    ],
)
def test_what_is_no_result_of_the_cell_is_told_before_any_work(tmp_path, change, expected):
    counter = Counter()
    counter.broken = False
    experiment = counter.experiment()
    reproduce(experiment, tmp_path, quick=True)
    file = experiment.files(tmp_path, [{"seed": 0}])[0]
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(ValueError, match=f"{file.name}: expected .*{expected}"):
        reproduce(experiment, tmp_path)
    assert counter.runs == [0, 1]


def test_results_on_a_file_of_the_data_folder_are_not_taken_for_those_on_another(tmp_path, monkeypatch):
    monkeypatch.setenv("IPFOREST_DATA", str(tmp_path))
    counter = Counter()
    counter.broken = False
    experiment = replace(counter.experiment(), data=("miniboone",))
    np.savez(tmp_path / "miniboone_5k.npz", X=[[1.0]])
    reproduce(experiment, tmp_path, quick=True)
    np.savez(tmp_path / "miniboone.npz", X=[[1.0]])
    with pytest.raises(ValueError, match=r"expected results on the file miniboone_5k\.npz .* got those on another"):
        reproduce(experiment, tmp_path, quick=True)
    (tmp_path / "miniboone.npz").unlink()
    np.savez(tmp_path / "miniboone_5k.npz", X=[[1.0]])
    reproduce(experiment, tmp_path, quick=True)
    assert counter.runs == [0, 1]


def test_a_cell_that_another_process_has_finished_meanwhile_is_not_run(tmp_path):
    counter = Counter()
    counter.broken = False
    experiment = counter.experiment()
    other = experiment.files(tmp_path, [{"seed": 3}])[0]

    def write_other(share, message):
        other.write_text(json.dumps({"cell": {"seed": 3}, "seconds": 1.0, "records": [{"value": 100}]}))

    result = reproduce(experiment, tmp_path, progress=write_other)
    assert counter.runs == [0, 1, 2]
    assert (result.unfinished, result.rows[0]["sum"]) == (0, 109)


def test_no_cell_is_begun_after_the_time_is_over(tmp_path, monkeypatch):
    counter = Counter()
    counter.broken = False
    clock = iter([0, 5, 10, 50])
    monkeypatch.setattr("ipforest.experiments.experiment.monotonic", lambda: next(clock, 61))
    result = reproduce(counter.experiment(), tmp_path, minutes=1)
    assert counter.runs == [0, 1]
    assert result.unfinished == 2
    assert result.rows[0]["sum"] == 3
    assert json.loads(result.to_json())["unfinished_cells"] == 2
    with pytest.raises(TimeoutError, match="minutes: expected enough for the first of 4 cells, got 0"):
        reproduce(counter.experiment(), tmp_path, seed=7, minutes=0)


def test_no_cell_waits_in_a_queue_until_the_time_is_over(tmp_path):
    begun = []

    def run(cell):
        begun.append(cell)
        sleep(0.4)
        return [{"value": 1}]

    counter = Counter()
    steps = counter.experiment().steps._replace(cells=lambda quick, seed: [{"seed": run} for run in range(9)], run=run)
    with joblib.parallel_config(backend="threading"):
        result = reproduce(replace(counter.experiment(), steps=steps), tmp_path, n_jobs=4, minutes=0.3 / 60)
    assert 1 <= len(begun) <= 4
    assert result.unfinished == 9 - len(begun)


def test_a_cell_that_another_process_runs_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr("ipforest.experiments.experiment.WAIT_S", 0.01)
    counter = Counter()
    counter.broken = False
    experiment = counter.experiment()
    files = experiment.files(tmp_path, [{"seed": seed} for seed in range(4)])
    files[0].parent.mkdir()
    messages = []
    with Claims() as others:
        assert others.take(files[1])
        assert others.take(files[2])

        def let_go(share, message):
            messages.append(message)
            if "waiting" in message and len(messages) == 3:
                files[1].write_text(json.dumps({"cell": {"seed": 1}, "seconds": 1.0, "records": [{"value": 100}]}))
                others.release(files[1])
                others.release(files[2])  # that process has ended without a result

        result = reproduce(experiment, tmp_path, progress=let_go)
    assert counter.runs == [0, 3, 2]
    assert messages == ["0", "3", "waiting for another process that works in the same folder", "2"]
    assert (result.unfinished, result.rows[0]["sum"]) == (0, 0 + 100 + 6 + 9)
    assert len([*files[0].parent.iterdir()]) == 4


def test_a_claim_ends_with_its_process(tmp_path):
    file = tmp_path / "cell.json"
    code = "import sys; from pathlib import Path; from ipforest._internal.claims import Claims; claims = Claims()"
    code += "; print(claims.take(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    with (
        Claims() as claims,
        subprocess.Popen(
            [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdout.readline() == "True\n"
        assert not claims.take(file)
        other.kill()
        other.wait()
        assert claims.take(file)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"value": None}, "TypeError"),
        ({"value": "1.5"}, "TypeError"),
        ({"valeu": 1}, "KeyError: 'value'"),
        ({}, "KeyError: 'value'"),
    ],
)
def test_a_cell_edited_by_hand_is_named(tmp_path, change, told):
    counter = Counter()
    counter.broken = False
    experiment = counter.experiment()
    reproduce(experiment, tmp_path)
    file = experiment.files(tmp_path, [{"seed": 2}])[0]
    cell = json.loads(file.read_text())
    cell["records"][1] = change
    file.write_text(json.dumps(cell))
    message = rf"{file.name}: expected the records of a finished cell \(delete it .*\), got some that .*: {told}"
    with pytest.raises(ValueError, match=message):
        reproduce(experiment, tmp_path)


def test_a_table_that_fails_on_records_of_its_own_run_is_a_fault_of_ours(tmp_path):
    counter = Counter()
    counter.broken = False
    steps = counter.experiment().steps._replace(summarise=lambda records: [records[0]["other"]])
    with pytest.raises(KeyError, match="other"):
        reproduce(replace(counter.experiment(), steps=steps), tmp_path)


def test_a_setting_is_run_apart_from_the_others(tmp_path):
    counter = Counter()
    counter.broken = False
    two = replace(counter.experiment(), settings={"ours": "as it is", "printed": "as the paper says"})
    ours, printed = (reproduce(two, tmp_path, settings=name) for name in ("ours", "printed"))
    assert counter.runs == [0, 1, 2, 3, 0, 1, 2, 3]
    assert [record["settings"] for record in printed.records] == ["printed"] * 8
    assert "settings" not in ours.records[0]
    names = [path.name for path in printed.write(tmp_path)]
    assert names[:3] == ["counting-printed.csv", "counting-printed-records.csv", "counting-printed.json"]
    stored = json.loads((tmp_path / names[2]).read_text())
    assert (stored["settings"], stored["cells"]) == ("printed", {"seed": [0, 1, 2, 3], "settings": ["printed"]})
    with pytest.raises(ValueError, match=r"^settings: expected one of ours, printed for counting, got 'authors'$"):
        reproduce(two, tmp_path, settings="authors")


def test_a_setting_that_an_experiment_lacks_is_refused(tmp_path, capsys):
    assert main(["reproduce", "cstc2014/figure5", "--settings", "theirs", "--out", str(tmp_path)]) == 2
    message = "ipforest: error: settings: expected one of ours for cstc2014/figure5, got 'theirs'"
    assert capsys.readouterr().err.splitlines()[-1] == message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", catalogue.names())
def test_each_experiment_says_what_it_needs(name, monkeypatch):
    experiment = catalogue.find(name)
    assert "ours" in experiment.settings
    assert set(experiment.settings) <= {"printed", "authors", "ours"}
    monkeypatch.setattr("ipforest.experiments.experiment.available", lambda data: False)
    assert bool(experiment.cells_of("ours")) == (not experiment.data)


def test_files_carry_seeds_versions_and_differences(tmp_path):
    counter = Counter()
    counter.broken = False
    result = reproduce(counter.experiment(), tmp_path, seed=5)
    paths = result.write(tmp_path)
    assert [path.name for path in paths] == ["counting.csv", "counting-records.csv", "counting.json", "counting.png"]
    stored = json.loads(paths[2].read_text())
    assert (stored["seed"], stored["differences"]) == (5, ["none"])
    assert {"python", "numpy", "scikit-learn", "ipforest"} <= set(stored["versions"])
    assert paths[1].read_text().splitlines()[:2] == ["seed,value", "5,5"]
    assert paths[3].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", catalogue.names())
def test_experiments_are_named_by_their_place(name):
    experiment = catalogue.find(name)
    assert experiment.name == name
    assert experiment.title
    assert experiment.differences(quick=True)[-1].startswith("quick: ")


def test_unknown_experiments_are_refused(capsys):
    with pytest.raises(ValueError, match=r"^name: expected one of budgetrf2015/table1, .* got 'figure2'$"):
        catalogue.find("figure2")
    assert main(["reproduce", "figure2"]) == 2
    assert "figure2" in capsys.readouterr().err


def test_the_list_tells_what_is_done_and_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("IPFOREST_DATA", raising=False)
    assert main(["reproduce", "--list", "--quick", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "/" in line.split(maxsplit=1)[0]] == catalogue.names()
    assert next(line for line in lines if line.startswith("budgetrf2015/table1")).split()[1:3] == ["no", "data"]
    assert next(line for line in lines if line.startswith("adapt2017/figure3")).split()[1].startswith("0/")


def test_without_data_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.delenv("IPFOREST_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"^budgetrf2015/table1: expected one of its data sets .* IPFOREST"):
        reproduce(catalogue.find("budgetrf2015/table1"), tmp_path)


NEED_DATA = [
    name
    for name in catalogue.names()
    if (needed := set(catalogue.find(name).data)) and not needed & {*datasets.BUNDLED, *datasets.GENERATED}
]


@pytest.mark.parametrize("name", NEED_DATA)
def test_what_needs_data_says_so_in_one_line(name, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("IPFOREST_DATA", raising=False)
    assert main(["reproduce", name, "--out", str(tmp_path)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"ipforest: error: {name}: expected one of its data sets (")
    assert last.endswith(") in the folder that IPFOREST_DATA names, got none: see `ipforest data`")
    assert not list(tmp_path.iterdir())


def _where(cell):
    return [{"worker": importlib.import_module("distributed").get_worker().address, "value": 1}]


@pytest.mark.slow
def test_the_command_sends_cells_to_a_cluster(tmp_path, monkeypatch, capsys):
    distributed = pytest.importorskip("distributed", reason="needs the extra ipforest[dask]")
    experiment = Counter().experiment()
    experiment = replace(experiment, steps=experiment.steps._replace(run=_where))
    monkeypatch.setattr(catalogue, "find", lambda name: experiment)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        assert main(["reproduce", "x", "--dask", cluster.scheduler_address, "--out", str(tmp_path)]) == 0
        workers = {worker.address for worker in cluster.workers.values()}
    with (tmp_path / "counting-records.csv").open() as records:
        assert {record["worker"] for record in csv.DictReader(records)} <= workers
    assert "Counting" in capsys.readouterr().out


@pytest.mark.slow
def test_an_address_without_a_scheduler_is_refused(tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed", reason="needs the extra ipforest[dask]")
    monkeypatch.setattr("ipforest.cli.reproduce.CONNECTION_SECONDS", 0.05)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        assert main(["reproduce", "cstc2014/figure5", "--dask", address, "--out", str(tmp_path)]) == 2
        expected = f"ipforest: error: --dask: expected the address of a scheduler, host:port, got {address!r} ("
        assert capsys.readouterr().err.splitlines()[-1].startswith(expected)


def test_costs_are_matched_between_points():
    costs, errors = [10, 8, 4, 0], [0.1, 0.12, 0.2, 0.5]
    assert cost_at_error(costs, errors, 0.12) == pytest.approx(8)
    assert cost_at_error(costs, errors, 0.16) == pytest.approx(6)
    assert cost_at_error(costs, errors, 0.9) == 0
    assert cost_at_error(costs, errors, 0.05) == 10
    assert cost_at_error([5, 4, 3, 2], [0.2, 0.3, 0.1, 0.5], 0.2) == pytest.approx(2.75)


def test_standard_errors_of_matched_costs_are_those_of_leaving_out_a_run():
    def records(seed, shift):
        curves = {"unpruned": [(10, 0.1)], "joint": [(10, 0.1), (4, 0.2)], "individual": [(10, 0.1), (8, 0.2)]}
        return [
            {"data": "heart", "seed": seed, "method": method, "lam": lam, "cost": cost + shift, "error": error}
            for method, points in curves.items()
            for lam, (cost, error) in enumerate(points)
        ]

    one = table1.summarise(records(0, 0))
    assert (one[0]["joint_se"], one[0]["saved_se"], one[0]["runs"]) == (0, 0, 1)
    rows = table1.summarise([record for seed in range(4) for record in records(seed, seed)])
    assert rows[0]["error"] == pytest.approx(0.1)
    assert rows[0]["joint_cost"] == pytest.approx(11.5)
    high = rows[1]
    assert high["error"] == pytest.approx(0.1 + 0.1977 - 0.1721)
    assert high["saved"] == pytest.approx(4 * 0.256)
    assert high["joint_se"] == high["individual_se"] == pytest.approx(np.std(range(4), ddof=1) / 2, abs=1e-3)
    assert high["saved_se"] == 0


def test_points_are_chosen_on_validation_and_averaged_over_seeds():
    def point(seed, cost, validation_error, error):
        return {
            "method": "m",
            "seed": seed,
            "validation_cost": cost,
            "validation_error": validation_error,
            "cost": cost + 0.1,
            "error": error,
        }

    records = [point(0, 1, 0.3, 0.4), point(0, 4, 0.1, 0.2), point(1, 1, 0.3, 0.2), point(1, 4, 0.4, 0.0)]
    assert best_within(records[:2], 3)["error"] == 0.4
    assert best_within(records, 0.5) is None
    rows = within_budgets(records, ("method",), n_budgets=2)
    assert [(row["budget"], row["error"], row["cost"]) for row in rows] == [(2.0, 0.3, 1.1), (4.0, 0.2, 2.6)]
    assert rows[0]["error_sd"] == pytest.approx(np.std([0.4, 0.2], ddof=1), abs=1e-5)


def test_svm_prices_sum_to_the_number_of_features_and_follow_the_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    prices = svm_prices(X, (3 * X[:, 1] + X[:, 3] > 0).astype(int))
    assert prices.sum() == pytest.approx(5, abs=1e-4)
    assert np.argsort(prices)[-2:].tolist() == [3, 1]
    assert prices.max() / prices.min() == pytest.approx(40, rel=1e-3)


def test_documents_of_yahoo_are_relevant_or_not_and_drawn_by_query(tmp_path, monkeypatch):
    queries = np.repeat(np.arange(6), [4, 5, 3, 4, 5, 3])
    np.savez(
        tmp_path / "yahoo.npz",
        X=np.random.default_rng(0).random((24, 2)).astype(np.float32),
        y=np.arange(24) % 5,
        feature_names=np.array(["feature1", "feature3"]),
        class_names=np.array(list("01234")),
        split=np.repeat([0, 1, 2], 8),
        queries=queries,
        costs=np.array([5.0, 200.0]),
        costs_in_group=np.array([5.0, 200.0]),
        cost_group=np.array([-1, -1]),
        currency=np.array("price units"),
    )
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    whole = paper_data.load_parts("yahoo")
    assert whole.parts.y_train.tolist() == [0, 1, 1, 1, 1, 0, 1, 1]
    assert [float(price) for price in whole.costs.prices] == [5, 200]
    assert datasets.load("yahoo").currency == "price units"
    some = paper_data.load_parts("yahoo", 4)
    X_parts = (some.parts.X_train, some.parts.X_validation, some.parts.X_test)
    for drawn, every, X in zip(some.queries, whole.queries, X_parts, strict=True):
        assert 4 <= drawn.size == len(X) < 4 + 5
        assert drawn.size == np.isin(every, drawn).sum()


def yahoo_like(folder):
    """Write a small ``yahoo.npz``, in which the first feature tells relevance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(180, 5)).astype(np.float32)
    np.savez(
        folder / "yahoo.npz",
        X=X,
        y=np.digitize(X[:, 0] + 0.3 * rng.normal(size=180), [0.2, 0.8, 1.2, 2.0]),
        feature_names=np.array([f"feature{number}" for number in range(5)]),
        class_names=np.array(list("01234")),
        split=np.repeat([0, 1, 2], 60),
        queries=np.arange(180) // 6,
        costs=np.array([2.0, 1, 1, 5, 5]),
        costs_in_group=np.array([2.0, 1, 1, 5, 5]),
        cost_group=np.full(5, -1),
    )


@pytest.mark.slow
def test_rankings_are_measured_by_precision_at_the_top(tmp_path, monkeypatch):
    yahoo_like(tmp_path)
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    sizes = {"data": "yahoo", "seed": 0, "examples": None, "trees": 6, "tradeoffs": 2, "rounds": 8, "quick": True}
    best = {}
    for name, key, methods in (
        ("budgetrf2015/figure3", "method", ("BudgetRF", "ASTC", "GreedyMiser")),
        ("budgetprune2016/figure2", "family", ("pruned", "GreedyMiser")),
        ("adapt2017/figure4", "method", ("Adapt-Gbrt", "BudgetPrune", "GreedyMiser")),
    ):
        experiment = catalogue.find(name)
        assert {cell[key] for cell in experiment.cells_of("ours", quick=True)} >= set(methods)
        monkeypatch.setattr(f"ipforest.experiments.{name.replace('/', '.')}.load_parts", _load_with_few_features)
        every = []
        for method in methods:
            cell = {**sizes, key: method}
            records = [{**cell, "method": method, **record} for record in experiment.steps.run(cell)]
            assert all(0 <= record["cost"] <= 14 and 0 <= record["error"] <= 1 for record in records)
            best[name, method] = min(record["error"] for record in records)
            every += records
        assert {row["data"] for row in experiment.steps.summarise(every)} == {"yahoo"}
    parts = paper_data.load_parts("yahoo")
    at_random = 1 - average_precision_at(parts.parts.y_test, np.zeros(60), parts.queries[2])
    assert max(best.values()) < at_random


def _load_with_few_features(name, examples):
    return paper_data.load_parts(name, None)


def test_errors_of_documents_are_what_the_first_five_places_lack():
    y, queries = np.array([1, 1, 0, 0, 1, 0]), np.array([0, 0, 0, 1, 1, 1])
    scores = np.array([[0, 3.0], [0, 2.0], [0, 1.0], [0, 1.0], [0, 5.0], [0, 2.0]])
    assert error_of_scores(y, scores, [0, 1], queries) == pytest.approx(1 - (2 / 5 + 1 / 5) / 2)
    assert error_of_scores(y, scores, [0, 1]) == 0.5


def test_cifar10_as_distributed_has_two_classes_in_the_experiments(tmp_path, monkeypatch):
    np.savez(
        tmp_path / "cifar10.npz",
        X=np.zeros((30, 3), dtype=np.uint8),
        y=np.arange(30) % 10,
        feature_names=np.array(["a", "b", "c"]),
        class_names=np.array(list("0123456789")),
        split=np.repeat([0, 1, 2], 10),
    )
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    assert paper_data.load_parts("cifar10").parts.y_test.tolist() == [0] * 5 + [1] * 5


def test_the_users_own_file_is_preferred(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "cifar10.npz",
        X=rng.random((30, 3)).astype(np.float32),
        y=np.arange(30) % 2,
        feature_names=np.array(["a", "b", "c"]),
        class_names=np.array(["first", "rest"]),
        split=np.repeat([0, 1, 2], 10),
    )
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    assert paper_data.available("cifar10")
    data = paper_data.load_parts("cifar10", n_train=4)
    assert (data.name, data.parts.X_test.shape) == ("cifar10", (4, 3))
    assert not paper_data.available("miniboone")
    with pytest.raises(FileNotFoundError, match=r"miniboone: expected miniboone\.npz or miniboone_5k\.npz"):
        paper_data.load_parts("miniboone")


def test_descriptors_of_scene15_are_paid_once_for_all_their_margins(tmp_path, monkeypatch):
    np.savez(
        tmp_path / "scene15.npz",
        X=np.random.default_rng(0).random((30, 4)).astype(np.float32),
        y=np.arange(30) % 3,
        feature_names=np.array(["gist0", "gist1", "hog0", "hog1"]),
        class_names=np.array(["coast", "forest", "street"]),
        split=np.repeat([0, 1, 2], 10),
        costs=np.array([0.5, 0.5, 9.282, 9.282]),
        costs_in_group=np.zeros(4),
        cost_group=np.array([0, 0, 1, 1]),
    )
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    costs = paper_data.load_parts("scene15").costs
    paid = costs.cost_of(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]], dtype=bool))
    assert [float(cost) for cost in paid] == pytest.approx([0.5, 0.5, 9.782])


@needs_data
@pytest.mark.slow
def test_a_dask_cluster_spreads_the_cells(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra ipforest[dask]")
    folds = replace(
        table1.EXPERIMENT,
        steps=table1.EXPERIMENT.steps._replace(
            cells=lambda quick, seed: [
                {"data": "heart", "seed": seed + run, "trees": 3, "folds": 2, "examples": None} for run in range(4)
            ]
        ),
    )
    local = reproduce(folds, tmp_path / "local")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        distributed.get_task_stream(client) as stream,
        joblib.parallel_config(backend="dask"),
    ):
        spread = reproduce(folds, tmp_path / "spread", n_jobs=-1)
    assert len({task["worker"] for task in stream.data}) == 2
    assert spread.rows == local.rows
    assert spread.records == local.records


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in SMOKE else pytest.param(name, marks=pytest.mark.long) for name in catalogue.names()]
)
def test_quick_runs(name, tmp_path, capsys):
    needed = catalogue.find(name).data  # Spambase and all of MNIST are fetched by users, and are in no folder of CI
    if needed and not any(map(paper_data.available, needed)):
        pytest.skip(f"none of {', '.join(needed)} in the data folder")
    assert main(["reproduce", name, "--quick", "--out", str(tmp_path)]) == 0
    assert "paper" in capsys.readouterr().out
    assert (tmp_path / f"{name.replace('/', '-')}.png").stat().st_size > 10_000
