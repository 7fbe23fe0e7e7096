"""What training takes is told as a share of what the grid takes that it is compared with."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ipforest.cli import main
from ipforest.experiments import training_benchmarks
from ipforest.experiments.synthetic import CLUSTERS
from ipforest.experiments.training_benchmarks import TrainingSet, bench_training


def test_ratios_are_to_the_grids_on_the_same_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    seconds = {"_fit_front_end": 3.0, "_fit_grid": 2.0, "_fit_grid_to_the_end": 12.0}

    def measured(measure: Any, fit: Any, size: TrainingSet, seed: int) -> dict[str, Any]:
        assert measure is training_benchmarks._measure_training
        return {"seconds": seconds[fit.__name__] * size.n_training, "peak_mib": 1.0, "wall": 0.0, "pickle_mb": 0.0}

    monkeypatch.setattr(training_benchmarks, "in_own_process", measured)
    file = tmp_path / "training.csv"
    rows = bench_training(file, [TrainingSet(CLUSTERS, 10), TrainingSet(CLUSTERS, 20)])
    ours, grid, to_the_end = rows[3:]
    assert [ours["examples"], ours["seconds"], ours["to_grid"], ours["to_all_rounds"]] == [20, 60.0, 1.5, 0.25]
    assert [grid["to_grid"], grid["to_all_rounds"]] == ["", 0.17]
    assert [to_the_end["to_grid"], to_the_end["to_all_rounds"]] == [6.0, ""]
    assert file.read_text().count("1.5,0.25") == 2


def test_the_table_fits_a_line_and_breaks_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(measure: Any, fit: Any, size: TrainingSet, seed: int) -> dict[str, Any]:
        return {"seconds": 123.456, "peak_mib": 1234.0, "wall": 7.891, "pickle_mb": 12.34}

    monkeypatch.setattr(training_benchmarks, "in_own_process", measured)
    monkeypatch.setattr(training_benchmarks, "TRAINING_SETS", [TrainingSet("covertype_93k", 200_000)])
    monkeypatch.setenv("COLUMNS", "80")
    main(["bench", "training", "--out", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if "BudgetedClassifier" in line]
    assert line.split()[1:] == ["covertype_93k", "200000", "123", "7.89", *ratios(), "1234", "12.3"]
    assert max(map(len, lines[:-1])) <= 80


def ratios() -> list[str]:
    """Ratios of equal times, where there is something to compare with."""
    return ["1", "1"] if find_spec("lightgbm") else []
